// Makes system calls fail at random in the ways that their manual pages document. For LD_PRELOAD.
//
//     gcc -shared -fPIC -O2 -o faults.so faults.c -ldl
//     FAULTS=counts FAULTS_SEED=1 LD_PRELOAD=./faults.so COMMAND
//
// FAULTS names a file that this library maps: its header is the rate in faults per million calls, which another process may change
// while the command runs and which begins as FAULTS_RATE or 0, and each record after that is the name and the count of one fault.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FAULTS(X) \
  X(read_eintr) X(read_short) X(read_econnreset) X(write_eintr) X(write_eagain) X(write_short) \
  X(write_enobufs) X(write_econnreset) X(write_enospc) X(open_emfile) X(open_eintr) X(socket_emfile) X(accept_emfile) \
  X(accept_eintr) X(accept_econnaborted) X(connect_refused) X(connect_eagain) X(epoll_eintr) X(delay)

enum {
#define X(name) name,
  FAULTS(X)
#undef X
  faultCount
};

struct shared {
  _Atomic uint64_t rate;
  struct {
    char name[24];
    _Atomic uint64_t count;
  } faults[faultCount];
};

static struct shared *shared;
static uint64_t seed;
static _Atomic uint64_t threads;
static __thread uint64_t state;

__attribute__((constructor)) static void begin(void) {
  static const char *names[] = {
#define X(name) #name,
      FAULTS(X)
#undef X
  };
  const char *path = getenv("FAULTS"), *text = getenv("FAULTS_SEED"), *rate = getenv("FAULTS_RATE");
  if (!path) return;
  seed = text ? strtoull(text, NULL, 10) : 1;
  int (*open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof *shared) != 0) abort();
  void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) abort();
  struct shared *mapped = map;
  for (int i = 0; i < faultCount; i++) strncpy(mapped->faults[i].name, names[i], sizeof mapped->faults[i].name - 1);
  if (rate) mapped->rate = strtoull(rate, NULL, 10);
  shared = mapped;
}

static uint64_t dice(void) {
  if (!state) state = (seed + ++threads) * 0x9E3779B97F4A7C15u | 1;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state >> 16;
}

static void count(int fault) { shared->faults[fault].count++; }

// Whether this call must fail. Some calls are only delayed.
static int strikes(void) {
  uint64_t rate = shared ? shared->rate : 0;
  if (!rate || dice() % 1000000 >= rate) return 0;
  if (dice() % 8) return 1;
  struct timespec time = {0, (long)(dice() % 3000000)};
  int before = errno;
  nanosleep(&time, NULL);
  errno = before;
  count(delay);
  return 0;
}

static long failed(int fault, int error) {
  count(fault);
  errno = error;
  return -1;
}

enum kind { other, stream, datagram, terminal, file };

static enum kind kindOf(int descriptor) {
  struct stat status;
  int type;
  socklen_t length = sizeof type;
  if (descriptor <= 2 || fstat(descriptor, &status) != 0) return other;
  // libdispatch reads the state of its threads in /proc, and aborts the process if it cannot.
  struct statfs system;
  if (S_ISREG(status.st_mode)) return fstatfs(descriptor, &system) == 0 && system.f_type != 0x9fa0 ? file : other;
  if (S_ISFIFO(status.st_mode)) return terminal;
  if (S_ISCHR(status.st_mode)) return isatty(descriptor) ? terminal : other;
  if (!S_ISSOCK(status.st_mode) || getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return other;
  return type == SOCK_STREAM ? stream : datagram;
}

static int isNonBlocking(int descriptor) { return fcntl(descriptor, F_GETFL) & O_NONBLOCK; }

// Decides whether a call that transfers bytes fails (-1), or transfers at most `limit` of them (0).
static long carry(int descriptor, int reads, size_t *limit) {
  int before = errno;
  enum kind kind = kindOf(descriptor);
  errno = before;
  if (kind == other) return 0;
  switch (dice() % (kind == file ? 3 : 8)) {
    case 0:
      if (kind == file && !reads) return failed(write_enospc, ENOSPC);
      return failed(reads ? read_eintr : write_eintr, EINTR);
    case 1:
      // Reads never get EAGAIN: after epoll has reported the end, SwiftNIO relies on a read to return it, and this library does not
      // know what epoll has reported.
      if (kind == file || reads || !isNonBlocking(descriptor)) break;
      return failed(write_eagain, EAGAIN);
    case 2:
      if (kind != stream) break;
      // The connection ends at both sides.
      if (dice() % 4) break;
      shutdown(descriptor, SHUT_RDWR);
      return failed(reads ? read_econnreset : write_econnreset, reads ? ECONNRESET : EPIPE);
    case 3:
      if (reads || (kind != stream && kind != datagram) || dice() % 4) break;
      return failed(write_enobufs, ENOBUFS);
  }
  if (kind == datagram || *limit < 2) return 0;
  *limit = 1 + dice() % (*limit - 1);
  count(reads ? read_short : write_short);
  return 0;
}

#define NEXT(name) \
  static __typeof__(name) *next; \
  if (!next) next = dlsym(RTLD_NEXT, #name)

ssize_t read(int descriptor, void *bytes, size_t size) {
  NEXT(read);
  if (strikes() && carry(descriptor, 1, &size)) return -1;
  return next(descriptor, bytes, size);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
  NEXT(write);
  if (strikes() && carry(descriptor, 0, &size)) return -1;
  return next(descriptor, bytes, size);
}

ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
  NEXT(recv);
  if (strikes() && carry(descriptor, 1, &size)) return -1;
  return next(descriptor, bytes, size, flags);
}

ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
  NEXT(send);
  if (strikes() && carry(descriptor, 0, &size)) return -1;
  return next(descriptor, bytes, size, flags);
}

// Takes at most `limit` bytes of the first piece.
static int shortened(struct iovec *piece, const struct iovec *pieces, int number, size_t limit) {
  if (number < 1) return 0;
  *piece = pieces[0];
  if (piece->iov_len > limit) piece->iov_len = limit;
  return piece->iov_len > 0;
}

static size_t total(const struct iovec *pieces, int number) {
  size_t sum = 0;
  for (int i = 0; i < number; i++) sum += pieces[i].iov_len;
  return sum;
}

ssize_t readv(int descriptor, const struct iovec *pieces, int number) {
  NEXT(readv);
  size_t size = total(pieces, number), limit = size;
  struct iovec piece;
  if (strikes()) {
    if (carry(descriptor, 1, &limit)) return -1;
    if (limit < size && shortened(&piece, pieces, number, limit)) return next(descriptor, &piece, 1);
  }
  return next(descriptor, pieces, number);
}

ssize_t writev(int descriptor, const struct iovec *pieces, int number) {
  NEXT(writev);
  size_t size = total(pieces, number), limit = size;
  struct iovec piece;
  if (strikes()) {
    if (carry(descriptor, 0, &limit)) return -1;
    if (limit < size && shortened(&piece, pieces, number, limit)) return next(descriptor, &piece, 1);
  }
  return next(descriptor, pieces, number);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
  NEXT(recvmsg);
  size_t limit = 0;
  if (strikes() && carry(descriptor, 1, &limit)) return -1;
  return next(descriptor, message, flags);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
  NEXT(sendmsg);
  size_t limit = 0;
  if (strikes() && carry(descriptor, 0, &limit)) return -1;
  return next(descriptor, message, flags);
}

int socket(int domain, int type, int protocol) {
  NEXT(socket);
  if (strikes()) return (int)failed(socket_emfile, EMFILE);
  return next(domain, type, protocol);
}

static int refusesAccept(void) {
  switch (dice() % 3) {
    case 0: return (int)failed(accept_emfile, EMFILE);
    case 1: return (int)failed(accept_eintr, EINTR);
    default: return (int)failed(accept_econnaborted, ECONNABORTED);
  }
}

int accept(int descriptor, struct sockaddr *address, socklen_t *length) {
  NEXT(accept);
  if (strikes() && refusesAccept()) return -1;
  return next(descriptor, address, length);
}

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags) {
  NEXT(accept4);
  if (strikes() && refusesAccept()) return -1;
  return next(descriptor, address, length, flags);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
  NEXT(connect);
  if (strikes()) {
    if (address->sa_family == AF_UNIX && isNonBlocking(descriptor) && dice() % 2) {
      return (int)failed(connect_eagain, EAGAIN);
    }
    return (int)failed(connect_refused, ECONNREFUSED);
  }
  return next(descriptor, address, length);
}

static int refusesOpen(const char *path) {
  if (strncmp(path, "/proc/", 6) == 0) return 0;
  return strikes() ? (int)(dice() % 2 ? failed(open_emfile, EMFILE) : failed(open_eintr, EINTR)) : 0;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    NEXT(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return refusesOpen(path) ? -1 : next(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    NEXT(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return refusesOpen(path) ? -1 : next(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

int epoll_wait(int descriptor, struct epoll_event *events, int most, int timeout) {
  NEXT(epoll_wait);
  if (strikes()) return (int)failed(epoll_eintr, EINTR);
  return next(descriptor, events, most, timeout);
}
