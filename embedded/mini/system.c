/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* System calls of Linux without a C library: system.h. Structures and numbers are those of the kernel's headers. */
#include "system.h"

#include "include/string.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/stat.h>

/* ---- Calls ---- */

/* A call with its number and arguments in these registers, the result in the first of the arguments'. */
#define CALL(instruction, n, r0, r1, r2, r3, r4, r5) \
  register long in_n __asm__(#n) = number, in_0 __asm__(#r0) = a, in_1 __asm__(#r1) = b, in_2 __asm__(#r2) = c; \
  register long in_3 __asm__(#r3) = d, in_4 __asm__(#r4) = e, in_5 __asm__(#r5) = f; \
  __asm__ volatile(instruction : "+r"(in_0) : "r"(in_n), "r"(in_1), "r"(in_2), "r"(in_3), "r"(in_4), "r"(in_5) : "memory"); \
  return in_0

static long call6(long number, long a, long b, long c, long d, long e, long f) {
#if defined __x86_64__
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined __aarch64__
  CALL("svc #0", x8, x0, x1, x2, x3, x4, x5);
#elif defined __arm__
  /* r7 may be the frame pointer, so the compiler must not choose registers: this file is compiled with -fomit-frame-pointer. */
  CALL("svc #0", r7, r0, r1, r2, r3, r4, r5);
#else
  CALL("ecall", a7, a0, a1, a2, a3, a4, a5);
#endif
}

static long call(long number, long a, long b, long c) { return call6(number, a, b, c, 0, 0, 0); }

#define P(pointer) ((long)(intptr_t)(pointer))

/* ---- Types and constants that are not in the kernel's headers for programs ---- */

struct address_unix {
  uint16_t family;
  char path[108];
};

struct address_four {
  uint16_t family;
  uint8_t port[2], address[4], zero[8];
};

struct address_six {
  uint16_t family;
  uint8_t port[2], flow[4], address[16], scope[4];
};

union address {
  uint16_t family;
  struct address_unix local;
  struct address_four four;
  struct address_six six;
};

struct time {
  long seconds, nanoseconds;
};

struct linger {
  int on, seconds;
};

enum { AF_LOCAL = 1, AF_FOUR = 2, AF_SIX = 10, STREAM = 1, CLOSE_ON_EXEC = 02000000, DO_NOT_WAIT = 04000 };
enum { SOL = 1, REUSE = 2, ERROR = 4, KEEP_ALIVE = 9, LINGER = 13, TCP = 6, NO_DELAY = 1, V6 = 41, V6_ONLY = 26 };
enum { KEEP_IDLE = 4, KEEP_INTERVAL = 5, KEEP_COUNT = 6, USER_TIMEOUT = 18 };
enum { MESSAGE_DO_NOT_WAIT = 0x40, MESSAGE_NO_SIGNAL = 0x4000, ENOTSOCK = 88, BACKLOG = 64 };
enum { LOCK_EXCLUSIVE = 2, LOCK_DO_NOT_WAIT = 4, LOCK_NONE = 8 };
enum { SIGNAL_INT = 2, SIGNAL_PIPE = 13, SIGNAL_TERM = 15, STANDARD_ERROR = 2 };

/* ---- Static memory ---- */

static struct mini_poll polls[MINI_POLLS];
static uint8_t buffers[MINI_CONNECTIONS][2][MINI_BUFFER];
static struct byway_line line;
static struct mini_stream streams[MINI_CONNECTIONS];
static uint8_t text[MINI_TEXT];

struct mini_poll *mini_polls(void) { return polls; }
uint8_t *mini_buffer(unsigned connection, unsigned direction) { return buffers[connection % MINI_CONNECTIONS][direction & 1]; }
struct byway_line *mini_line(void) { return &line; }
struct mini_stream *mini_stream_of(unsigned connection) { return &streams[connection % MINI_CONNECTIONS]; }
uint8_t *mini_text(void) { return text; }
const char *mini_release(void) { return BYWAY_RELEASE; }

/* ---- Time, waiting, and the end ---- */

static long wait_for(struct mini_poll *wanted, unsigned count, int32_t milliseconds) {
  struct time limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  return call6(__NR_ppoll, P(wanted), count, P(milliseconds < 0 ? NULL : &limit), 0, 0, 0);
}

long mini_wait(unsigned count, int32_t milliseconds) { return wait_for(polls, count, milliseconds); }

uint32_t mini_milliseconds(void) {
  struct time now = {0, 0};
  call(__NR_clock_gettime, 1, P(&now), 0);
  return (uint32_t)now.seconds * 1000u + (uint32_t)(now.nanoseconds / 1000000);
}

uint32_t mini_random(void) {
  uint32_t number = 0;
  if (call(__NR_getrandom, P(&number), sizeof number, 0) != sizeof number || number == 0) number = mini_milliseconds() | 1;
  return number;
}

void mini_exit(int status) {
  for (;;) call(__NR_exit_group, status, 0, 0);
}

static uint64_t bit_of(int signal) { return 1ull << (signal - 1); }

long mini_stop_signals(void) {
  uint64_t stops = bit_of(SIGNAL_INT) | bit_of(SIGNAL_TERM), blocked = stops | bit_of(SIGNAL_PIPE);
  call6(__NR_rt_sigprocmask, 0, P(&blocked), 0, sizeof blocked, 0, 0);
  return call6(__NR_signalfd4, -1, P(&stops), sizeof stops, CLOSE_ON_EXEC | DO_NOT_WAIT, 0, 0);
}

/* ---- Bytes ---- */

long mini_get(int descriptor, uint8_t *bytes, size_t room) { return call(__NR_read, descriptor, P(bytes), (long)room); }

long mini_write(int descriptor, const uint8_t *bytes, size_t count) { return call(__NR_write, descriptor, P(bytes), (long)count); }

long mini_put(int descriptor, const uint8_t *bytes, size_t count) {
  struct mini_poll wanted = {descriptor, MINI_WRITE, 0};
  long sent = call6(__NR_sendto, descriptor, P(bytes), (long)count, MESSAGE_DO_NOT_WAIT | MESSAGE_NO_SIGNAL, 0, 0);
  if (sent != -ENOTSOCK) return sent;
  /* A pipe that is ready takes 4,096 bytes at once, so its mode, which other programs may share, stays as it is. */
  if (wait_for(&wanted, 1, 0) != 1) return -MINI_EAGAIN;
  return mini_write(descriptor, bytes, count < 4096 ? count : 4096);
}

void mini_close(int descriptor) { call(__NR_close, descriptor, 0, 0); }

void mini_finish(int descriptor) { call(__NR_shutdown, descriptor, 1, 0); }

static void set(int descriptor, int level, int option, const void *value, long size) {
  call6(__NR_setsockopt, descriptor, level, option, P(value), size, 0);
}

void mini_reset(int descriptor) {
  struct linger now = {1, 0};
  set(descriptor, SOL, LINGER, &now, sizeof now);
  mini_close(descriptor);
}

/* ---- Sockets ---- */

static long size_of(const struct mini_address *a, union address *to) {
  memset(to, 0, sizeof *to);
  if (a->is_unix) {
    to->family = AF_LOCAL;
    memcpy(to->local.path, a->path, a->path_length);
    return 2 + a->path_length + 1;
  }
  to->four.port[0] = (uint8_t)(a->port >> 8);
  to->four.port[1] = (uint8_t)a->port;
  if (a->is_six) {
    to->family = AF_SIX;
    to->six.address[15] = 1;
    return sizeof to->six;
  }
  to->family = AF_FOUR;
  memcpy(to->four.address, a->four, 4);
  return sizeof to->four;
}

static long new_socket(const struct mini_address *a) {
  return call(__NR_socket, a->is_unix ? AF_LOCAL : a->is_six ? AF_SIX : AF_FOUR, STREAM | CLOSE_ON_EXEC | DO_NOT_WAIT, 0);
}

/* Sends small pieces at once. It has no effect on Unix sockets. */
static void do_not_delay(int descriptor) {
  int on = 1;
  set(descriptor, TCP, NO_DELAY, &on, sizeof on);
}

long mini_connect(const struct mini_address *address) {
  union address to;
  long size = size_of(address, &to), descriptor = new_socket(address), result;
  if (descriptor < 0) return descriptor;
  do_not_delay((int)descriptor);
  result = call(__NR_connect, descriptor, P(&to), size);
  if (result < 0 && result != -MINI_EINPROGRESS) {
    mini_close((int)descriptor);
    return result;
  }
  return descriptor;
}

static void set_number(int descriptor, int level, int option, int value) { set(descriptor, level, option, &value, sizeof value); }

void mini_keep_alive(int descriptor) {
  set_number(descriptor, SOL, KEEP_ALIVE, 1);
  set_number(descriptor, TCP, KEEP_IDLE, 60);
  set_number(descriptor, TCP, KEEP_INTERVAL, 10);
  set_number(descriptor, TCP, KEEP_COUNT, 3);
  set_number(descriptor, TCP, USER_TIMEOUT, 30000);
}

long mini_connected(int descriptor) {
  int error = 0, size = sizeof error;
  long result = call6(__NR_getsockopt, descriptor, SOL, ERROR, P(&error), P(&size), 0);
  return result < 0 ? result : -error;
}

/* The file's type, and its identity if that is wanted. */
static enum mini_type type_of(int folder, const char *path, int flags, struct mini_file *file) {
  struct statx found;
  memset(&found, 0, sizeof found);
  if (call6(__NR_statx, folder, P(path), flags, STATX_TYPE | STATX_INO, P(&found), 0) < 0) return MINI_MISSING;
  if (file) {
    file->device = (uint64_t)found.stx_dev_major << 32 | found.stx_dev_minor;
    file->inode = found.stx_ino;
  }
  switch (found.stx_mode & S_IFMT) {
  case S_IFSOCK:
    return MINI_SOCKET;
  case S_IFIFO:
    return MINI_PIPE;
  case S_IFDIR:
    return MINI_DIRECTORY;
  case S_IFCHR:
    return MINI_DEVICE;
  default:
    return MINI_OTHER;
  }
}

/* A path with its zero. */
struct path {
  char text[108];
};

static struct path path_of(const char *text, size_t length) {
  struct path path;
  memset(&path, 0, sizeof path);
  memcpy(path.text, text, length < sizeof path.text ? length : sizeof path.text - 1);
  return path;
}

enum mini_type mini_type_of(const char *text, size_t length) {
  struct path path = path_of(text, length);
  return type_of(AT_FDCWD, path.text, 0, NULL);
}

enum mini_type mini_type_of_descriptor(int descriptor) { return type_of(descriptor, "", AT_EMPTY_PATH, NULL); }

void mini_remove(const struct mini_address *address, const struct mini_file *file) {
  struct mini_file now;
  if (type_of(AT_FDCWD, address->path, AT_SYMLINK_NOFOLLOW, &now) != MINI_SOCKET) return;
  if (now.device == file->device && now.inode == file->inode) call(__NR_unlinkat, AT_FDCWD, P(address->path), 0);
}

/* Removes a socket's file that nothing listens on. */
static int remove_stale(const struct mini_address *address) {
  long other = mini_connect(address);
  if (other >= 0) mini_close((int)other);
  if (other != -MINI_ECONNREFUSED || type_of(AT_FDCWD, address->path, AT_SYMLINK_NOFOLLOW, NULL) != MINI_SOCKET) return 0;
  return call(__NR_unlinkat, AT_FDCWD, P(address->path), 0) == 0;
}

/* The port that the kernel has chosen. */
static uint16_t port_of(int descriptor) {
  union address own;
  int size = sizeof own;
  if (call(__NR_getsockname, descriptor, P(&own), P(&size)) < 0) return 0;
  return (uint16_t)(own.four.port[0] << 8 | own.four.port[1]);
}

long mini_listen(const struct mini_address *address, uint32_t mode, uint16_t *port, struct mini_file *file) {
  union address own;
  int on = 1;
  long size = size_of(address, &own), descriptor = new_socket(address), result;
  if (descriptor < 0) return descriptor;
  if (!address->is_unix) set((int)descriptor, SOL, REUSE, &on, sizeof on);
  if (address->is_six) set((int)descriptor, V6, V6_ONLY, &on, sizeof on);
  result = call(__NR_bind, descriptor, P(&own), size);
  if (result == -MINI_EADDRINUSE && address->is_unix && remove_stale(address)) result = call(__NR_bind, descriptor, P(&own), size);
  /* The file's mode is set before a peer can connect. */
  if (result == 0 && address->is_unix && mode) result = call(__NR_fchmodat, AT_FDCWD, P(address->path), mode);
  if (result == 0) result = call(__NR_listen, descriptor, BACKLOG, 0);
  if (result < 0) {
    mini_close((int)descriptor);
    return result;
  }
  if (address->is_unix) {
    type_of(AT_FDCWD, address->path, AT_SYMLINK_NOFOLLOW, file);
  } else {
    *port = port_of((int)descriptor);
  }
  return descriptor;
}

long mini_accept(int listener) {
  long descriptor = call6(__NR_accept4, listener, 0, 0, CLOSE_ON_EXEC | DO_NOT_WAIT, 0, 0);
  if (descriptor >= 0) do_not_delay((int)descriptor);
  return descriptor;
}

/* ---- Serial devices ---- */

static const struct {
  uint32_t baud;
  uint16_t constant;
} rates[] = {{50, B50},           {75, B75},           {110, B110},         {134, B134},         {150, B150},         {200, B200},
             {300, B300},         {600, B600},         {1200, B1200},       {1800, B1800},       {2400, B2400},       {4800, B4800},
             {9600, B9600},       {19200, B19200},     {38400, B38400},     {57600, B57600},     {115200, B115200},   {230400, B230400},
             {460800, B460800},   {500000, B500000},   {576000, B576000},   {921600, B921600},   {1000000, B1000000}, {1152000, B1152000},
             {1500000, B1500000}, {2000000, B2000000}, {2500000, B2500000}, {3000000, B3000000}, {3500000, B3500000}, {4000000, B4000000}};

/* The settings of the device before this program changed them. */
static struct termios before;
static int has_before;

static unsigned constant_of(uint32_t baud) {
  unsigned i;
  for (i = 0; i < sizeof rates / sizeof *rates; i++) {
    if (rates[i].baud == baud) return rates[i].constant;
  }
  return 0;
}

int mini_knows_rate(uint32_t baud) { return constant_of(baud) != 0; }

/* Sets the device, and compares what the driver has made of it. */
static long set_up(int descriptor, const struct mini_serial *serial) {
  struct termios wanted, set;
  unsigned parity = serial->parity == 1 ? PARENB : serial->parity == 2 ? PARENB | PARODD : 0, flags;
  if (call(__NR_ioctl, descriptor, TCGETS, P(&wanted)) < 0) return -MINI_ENOTTY;
  if (!has_before) before = wanted;
  has_before = 1;
  flags = constant_of(serial->baud) | CS8 | parity | (serial->two_stop_bits ? CSTOPB : 0) | (serial->rtscts ? CRTSCTS : 0);
  wanted.c_iflag = wanted.c_oflag = wanted.c_lflag = 0;
  /* Without HUPCL, DTR does not drop when the device is closed: some boards reset then. */
  wanted.c_cflag = flags | CREAD | CLOCAL;
  wanted.c_cc[VMIN] = 1;
  wanted.c_cc[VTIME] = 0;
  if (call(__NR_ioctl, descriptor, TCSETS, P(&wanted)) < 0 || call(__NR_ioctl, descriptor, TCGETS, P(&set)) < 0) return -MINI_ENOTTY;
  return ((set.c_cflag ^ flags) & (CBAUD | CSIZE | PARENB | PARODD | CSTOPB | CRTSCTS)) == 0 ? 0 : -MINI_EADDRNOTAVAIL;
}

long mini_open_serial(const char *text, size_t length, const struct mini_serial *serial) {
  struct path path = path_of(text, length);
  long descriptor = call6(__NR_openat, AT_FDCWD, P(path.text), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0, 0, 0), result;
  if (descriptor < 0) return descriptor;
  result = call(__NR_flock, descriptor, LOCK_EXCLUSIVE | LOCK_DO_NOT_WAIT, 0);
  if (result == -MINI_EAGAIN) result = -MINI_EBUSY;
  if (result == 0) result = set_up((int)descriptor, serial);
  if (result < 0) {
    mini_close((int)descriptor);
    return result;
  }
  call(__NR_ioctl, descriptor, TCFLSH, 0);
  return descriptor;
}

void mini_close_serial(int descriptor) {
  int left = 0, turns = 100;
  /* The last frame has a second to be sent. A call that waits for it might wait for ever. */
  while (turns-- && call(__NR_ioctl, descriptor, TIOCOUTQ, P(&left)) == 0 && left > 0) wait_for(NULL, 0, 10);
  if (has_before) {
    before.c_cflag &= ~(unsigned)HUPCL;
    call(__NR_ioctl, descriptor, TCSETS, P(&before));
  }
  mini_close(descriptor);
}
