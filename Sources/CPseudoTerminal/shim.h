// What playing a serial line takes of Linux and Swift's Glibc module lacks.
#ifndef BYWAY_CPSEUDOTERMINAL_SHIM_H
#define BYWAY_CPSEUDOTERMINAL_SHIM_H

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Lets the other side of a pseudo-terminal be opened, and gives the number in its name: -1 on failure.
static inline int pseudo_terminal_unlock(int master) {
  int locked = 0, number = -1;
  if (ioctl(master, TIOCSPTLCK, &locked) != 0 || ioctl(master, TIOCGPTN, &number) != 0) return -1;
  return number;
}

// poll(2) knows no time between one millisecond and the next. A timeout of NULL waits for as long as it takes.
static inline long poll_precisely(struct pollfd *descriptors, unsigned int count, struct timespec *timeout) {
  return syscall(SYS_ppoll, descriptors, count, timeout, 0L, 0L);
}

#endif
