// The parts of Linux for emulating a serial line that Swift's Glibc module lacks.
#ifndef BYWAY_CPSEUDOTERMINAL_SHIM_H
#define BYWAY_CPSEUDOTERMINAL_SHIM_H

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Unlocks the other side of a pseudo-terminal, so that it can be opened. Returns the number in its name, or -1 on failure.
static inline int pseudo_terminal_unlock(int master) {
  int locked = 0, number = -1;
  if (ioctl(master, TIOCSPTLCK, &locked) != 0 || ioctl(master, TIOCGPTN, &number) != 0) return -1;
  return number;
}

// Polls with a timeout finer than the milliseconds of poll(2). A timeout of NULL means no limit.
static inline long poll_precisely(struct pollfd *descriptors, unsigned int count, struct timespec *timeout) {
  return syscall(SYS_ppoll, descriptors, count, timeout, 0L, 0L);
}

#endif
