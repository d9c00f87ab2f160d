/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * System calls of Linux for the Swift part, and its static memory. A function that returns long returns the result, or a negative error
 * number as the kernel does. No call waits, except mini_wait. Paths have at most 107 bytes, and need no zero at
 * their end.
 */
#ifndef BYWAY_MINI_SYSTEM_H
#define BYWAY_MINI_SYSTEM_H

#include "byway_line.h"

/* Connections at a time, and bytes that wait in each direction of one. */
enum { MINI_CONNECTIONS = 16, MINI_BUFFER = 8192 };

/* Milliseconds until a connection is closed that need not stay open. The check builds a program with fewer. */
#ifndef BYWAY_MINI_SHORT_IDLE
#define BYWAY_MINI_SHORT_IDLE 30000
#endif
enum { MINI_SHORT_IDLE = BYWAY_MINI_SHORT_IDLE };

/* Error numbers that decide something. They are the same on all four architectures. */
enum {
  MINI_ENOENT = 2,
  MINI_EINTR = 4,
  MINI_EAGAIN = 11,
  MINI_EACCES = 13,
  MINI_EBUSY = 16,
  MINI_ENOTDIR = 20,
  MINI_ENFILE = 23,
  MINI_EMFILE = 24,
  MINI_ENOTTY = 25,
  MINI_EADDRINUSE = 98,
  MINI_EADDRNOTAVAIL = 99,
  MINI_ENETUNREACH = 101,
  MINI_ETIMEDOUT = 110,
  MINI_ECONNREFUSED = 111,
  MINI_EHOSTUNREACH = 113,
  MINI_EINPROGRESS = 115
};

/* Types of files. */
enum mini_type { MINI_MISSING, MINI_SOCKET, MINI_PIPE, MINI_DIRECTORY, MINI_DEVICE, MINI_OTHER };

/* An address of a TCP or Unix socket. */
struct mini_address {
  uint8_t is_unix;      /* then path counts */
  uint8_t is_six;       /* [::1]; otherwise four counts */
  uint16_t port;
  uint8_t four[4];
  uint8_t path_length;  /* at most 107 */
  char path[108];
};

/* Settings of a serial device. */
struct mini_serial {
  uint32_t baud;
  uint8_t parity;  /* 0 none, 1 even, 2 odd */
  uint8_t two_stop_bits;
  uint8_t rtscts;
};

/* The identity of a socket's file. */
struct mini_file {
  uint64_t device, inode;
};

/* Descriptors to wait for. */
enum { MINI_POLLS = 3 + 3 * MINI_CONNECTIONS, MINI_READ = 1, MINI_WRITE = 4 };
struct mini_poll {
  int32_t descriptor;
  int16_t wanted, ready;
};

/* The direction of a stream to the client: its end or abort is to be sent, or was. */
enum mini_output { MINI_OPEN, MINI_ENDING, MINI_ENDED, MINI_ABORTING, MINI_ABORTED };

/* A stream of a session (section 13 of docs/wire-protocol.md). */
struct mini_stream {
  uint8_t in_use;
  uint8_t has_ended; /* the client's direction */
  uint8_t has_sent;  /* a piece in this pass */
  uint8_t output;    /* enum mini_output */
  uint32_t credit;   /* bytes that the client takes */
  uint32_t granted;  /* bytes that it may send */
  uint32_t owed;     /* bytes that are to be granted again */
};

/* Bytes of text that a hub may send before its line. */
enum { MINI_TEXT = 255 };

/* Static memory. */
struct mini_poll *mini_polls(void);
uint8_t *mini_buffer(unsigned connection, unsigned direction);
struct byway_line *mini_line(void);
struct mini_stream *mini_stream_of(unsigned connection);
uint8_t *mini_text(void);

long mini_wait(unsigned count, int32_t milliseconds);
uint32_t mini_milliseconds(void);
uint32_t mini_random(void);
_Noreturn void mini_exit(int status);

/* A descriptor that becomes readable at SIGTERM and SIGINT. SIGPIPE is blocked. */
long mini_stop_signals(void);

/* Reading and writing. Nothing waits if the descriptor was ready. */
long mini_get(int descriptor, uint8_t *bytes, size_t room);
long mini_put(int descriptor, const uint8_t *bytes, size_t count);
/* For a descriptor that does not wait by itself. */
long mini_write(int descriptor, const uint8_t *bytes, size_t count);
void mini_close(int descriptor);
/* Ends the direction to the peer of a socket. */
void mini_finish(int descriptor);
/* Closes a socket, and resets a TCP connection. */
void mini_reset(int descriptor);

/* Sockets that do not wait. */
long mini_listen(const struct mini_address *address, uint32_t mode, uint16_t *port, struct mini_file *file);
long mini_accept(int listener);
long mini_connect(const struct mini_address *address);
/* Lets the system find out whether the peer of a TCP socket is gone, and keeps a router from forgetting a silent connection: after a
   minute of silence it probes each 10 s. A peer that acknowledges nothing for 30 s is gone. No effect on Unix sockets. */
void mini_keep_alive(int descriptor);
/* The result of a connection attempt: 0 or a negative error number. */
long mini_connected(int descriptor);
/* Removes the socket's file if it is still the same. */
void mini_remove(const struct mini_address *address, const struct mini_file *file);

/* The type of a file, or of what a descriptor refers to. */
enum mini_type mini_type_of(const char *path, size_t length);
enum mini_type mini_type_of_descriptor(int descriptor);

/* Whether the kernel has a constant for this rate. */
int mini_knows_rate(uint32_t baud);
/* Opens the device for this process only, raw, without earlier input. MINI_EBUSY: another process has it; MINI_ENOTTY: not a terminal;
   MINI_EADDRNOTAVAIL: the driver does not take the settings. mini_close_serial restores the settings of before the first opening. */
long mini_open_serial(const char *path, size_t length, const struct mini_serial *serial);
void mini_close_serial(int descriptor);

/* The release of Byway. */
const char *mini_release(void);

#endif
