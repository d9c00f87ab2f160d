// The parts of Linux for emulating a serial line that Swift's Glibc module lacks.
#ifndef BYWAY_CPSEUDOTERMINAL_SHIM_H
#define BYWAY_CPSEUDOTERMINAL_SHIM_H

#include <asm/ioctl.h>
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

// The kernel's struct termios2, which has any rate as a number. It is declared here because <asm/termbits.h> and the C library's
// <termios.h> exclude each other. The layout is that of asm-generic, which x86, ARM and RISC-V use.
struct terminal_settings {
  unsigned int input, output, control, local;
  unsigned char discipline;
  unsigned char characters[19];
  unsigned int input_rate, output_rate;
};

// Reads the rates of a terminal in bits per second. Returns -1 on failure.
static inline int terminal_rates(int terminal, unsigned int *input, unsigned int *output) {
  struct terminal_settings settings;
  if (ioctl(terminal, _IOR('T', 0x2A, struct terminal_settings), &settings) != 0) return -1;
  *input = settings.input_rate;
  *output = settings.output_rate;
  return 0;
}

// Sets both rates of a terminal, in bits per second. Returns -1 on failure.
static inline int terminal_set_rates(int terminal, unsigned int rate) {
  const unsigned int mask = 0x100F, as_number = 0x1000, input_shift = 16;
  struct terminal_settings settings;
  if (ioctl(terminal, _IOR('T', 0x2A, struct terminal_settings), &settings) != 0) return -1;
  // Without bits for the input, its rate is that of the output, also after a program has changed only those of the output.
  settings.control = (settings.control & ~(mask | mask << input_shift)) | as_number;
  settings.input_rate = settings.output_rate = rate;
  return ioctl(terminal, _IOW('T', 0x2B, struct terminal_settings), &settings);
}

// Polls with a timeout finer than the milliseconds of poll(2). A timeout of NULL means no limit.
static inline long poll_precisely(struct pollfd *descriptors, unsigned int count, struct timespec *timeout) {
  return syscall(SYS_ppoll, descriptors, count, timeout, 0L, 0L);
}

#endif
