/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * A test program for Linux: serves one end of a line on a serial device or pseudo-terminal.
 *
 *     line-end [-b BAUD] [-n BYTES] [-s] listen|dial PATH [echo|exchange|transfer|http]
 *
 * echo returns what it receives. exchange dials, sends 60 bytes, waits for 200, and prints the time. transfer sends and receives BYTES at
 * the same time, compares them, and prints the speed. http is a service of HTTP/1.1: GET /N has N bytes as answer, and the answer to POST is
 * the number of bytes that it brought. With -s the device is set to BAUD; a frame is paced by it in any case.
 */
#define _DEFAULT_SOURCE
#include "byway_line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST = 60, RESPONSE = 200, PAUSE = 150 };

static struct byway_line line;
static const char *path;
static const char *mode = "echo";
static int device = -1, dials, set_rate;
static long baud, total = 1000000;

/* The bytes that are being written to the device. */
static uint8_t writing[8192];
static size_t write_from, write_to;

/* The owner of the session: bytes to write, and how far a transfer is. */
static uint8_t pending[1024];
static size_t pending_count;
static char head[2048];
static size_t head_count;
static long body_to_send, body_to_take;
static uint8_t session_seen;
static long sent, received;
static uint32_t began, over_since, ended_at;
static int failed, done;

static uint64_t micros(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint32_t millis(void) { return (uint32_t)(micros() / 1000); }

static uint32_t random_number(void) {
  uint32_t number = 0;
  FILE *file = fopen("/dev/urandom", "r");
  if (!file || fread(&number, sizeof number, 1, file) != 1) exit(2);
  fclose(file);
  return number;
}

static void set_up(void) {
  struct termios t;
  if (tcgetattr(device, &t) != 0) return;
  cfmakeraw(&t);
  t.c_cflag |= CLOCAL | CREAD;
  if (set_rate) cfsetspeed(&t, baud == 921600 ? B921600 : baud == 230400 ? B230400 : baud == 9600 ? B9600 : B115200);
  tcsetattr(device, TCSANOW, &t);
}

static void open_device(void) {
  device = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (device >= 0) set_up();
}

static void close_device(uint32_t now) {
  close(device);
  device = -1;
  write_from = write_to = 0;
  byway_line_lost(&line, now);
}

/* The byte at a place of the stream that an end sends in a transfer. */
static uint8_t stream_byte(int end, long at) {
  uint32_t x = (uint32_t)at * 2654435761u + (uint32_t)end * 97;
  return (uint8_t)(x >> 13 ^ x >> 24);
}

static void echo(uint32_t now) {
  if (pending_count == 0) pending_count = byway_line_read(&line, pending, sizeof pending);
  if (pending_count) {
    size_t count = byway_line_write(&line, pending, pending_count);
    memmove(pending, pending + count, pending_count - count);
    pending_count -= count;
  }
  /* Not at once: the tester also sends frames behind its last one, and expects the session to be there. */
  if (pending_count || !byway_line_ended(&line)) {
    ended_at = now;
  } else if (now - ended_at >= 40) {
    byway_line_finish(&line);
  }
}

/* Sends so many bytes in all, and checks what comes. */
static void move(long out, long in) {
  uint8_t bytes[256];
  size_t count, i;
  while (sent < out) {
    for (count = 0; count < sizeof bytes && sent + (long)count < out; count++) bytes[count] = stream_byte(dials, sent + (long)count);
    count = byway_line_write(&line, bytes, count);
    sent += (long)count;
    if (count == 0) break;
  }
  while ((count = byway_line_read(&line, bytes, sizeof bytes))) {
    for (i = 0; i < count; i++, received++) {
      if (received >= in || bytes[i] != stream_byte(!dials, received)) failed = 1;
    }
  }
}

static void exchange(void) {
  move(dials ? REQUEST : received >= REQUEST ? RESPONSE : 0, dials ? RESPONSE : REQUEST);
  if (dials && received == RESPONSE && !done) {
    printf("%.1f ms\n", (double)(millis() - began));
    done = 1;
  }
  if (dials ? done : received == REQUEST && sent == RESPONSE) byway_line_finish(&line);
}

static void transfer(uint32_t now) {
  move(total, total);
  if (sent == total) byway_line_finish(&line);
  if (received == total && !done) {
    double seconds = (now - began) / 1000.0;
    printf("%ld bytes received in %.1f s: %.0f bytes a second", total, seconds, (double)total / seconds);
    if (baud) printf(", %.3f of the line", (double)total / seconds * 10 / (double)baud);
    printf("\n");
    fflush(stdout);
    done = 1;
  }
}

/* The head of a request is complete: answers it, or begins to take its body. */
static void answer(void) {
  const char *length = strstr(head, "Content-Length: ");
  if (!length) length = strstr(head, "content-length: ");
  body_to_take = length ? atol(length + 16) : 0;
  body_to_send = strncmp(head, "GET /", 5) ? 0 : atol(head + 5);
  if (!strncmp(head, "POST ", 5)) {
    pending_count = (size_t)snprintf((char *)pending, sizeof pending, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%ld\n",
                                     snprintf(NULL, 0, "%ld\n", body_to_take), body_to_take);
  } else {
    pending_count = (size_t)snprintf((char *)pending, sizeof pending, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", body_to_send);
  }
  head_count = 0;
}

/* Takes bytes of requests until one is complete. */
static void take_request(void) {
  uint8_t bytes[256];
  while (body_to_take) {
    size_t count = byway_line_read(&line, bytes, body_to_take < (long)sizeof bytes ? (size_t)body_to_take : sizeof bytes);
    if (count == 0) return;
    body_to_take -= (long)count;
  }
  while (!pending_count && !body_to_send && byway_line_read(&line, bytes, 1)) {
    head[head_count] = (char)bytes[0];
    if (head_count + 2 < sizeof head) head_count++;
    head[head_count] = 0;
    if (head_count >= 4 && !strcmp(head + head_count - 4, "\r\n\r\n")) answer();
    if (body_to_take) return;
  }
}

static void http(void) {
  static uint8_t body[256];
  size_t count;
  take_request();
  if (body_to_take == 0 && pending_count) {
    count = byway_line_write(&line, pending, pending_count);
    memmove(pending, pending + count, pending_count - count);
    pending_count -= count;
  }
  while (pending_count == 0 && body_to_send) {
    count = byway_line_write(&line, body, body_to_send < (long)sizeof body ? (size_t)body_to_send : sizeof body);
    if (count == 0) break;
    body_to_send -= (long)count;
  }
  if (byway_line_ended(&line) && !pending_count && !body_to_send) byway_line_finish(&line);
}

/* The session's owner. */
static void serve(uint32_t now) {
  if (byway_line_sessions(&line) != session_seen) {
    session_seen = byway_line_sessions(&line);
    pending_count = head_count = 0;
    sent = received = body_to_send = body_to_take = 0;
    began = now;
  }
  if (!strcmp(mode, "exchange")) {
    exchange();
  } else if (!strcmp(mode, "transfer")) {
    transfer(now);
  } else if (!strcmp(mode, "http")) {
    http();
  } else {
    echo(now);
  }
}

/* A dialer opens a session some time after the last one. */
static void dial(uint32_t now) {
  if (byway_line_state(&line) != BYWAY_LINE_NONE) {
    over_since = now;
  } else if (dials && device >= 0 && now - over_since >= PAUSE && !done) {
    byway_line_open(&line, random_number(), now);
  }
}

static void send_frames(uint32_t now) {
  const uint8_t *bytes;
  while (device >= 0) {
    ssize_t count;
    if (write_from == write_to) {
      write_from = 0;
      write_to = byway_line_output(&line, now, &bytes);
      if (write_to == 0) return;
      memcpy(writing, bytes, write_to);
    }
    count = write(device, writing + write_from, write_to - write_from);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) {
      close_device(now);
      return;
    }
    write_from += (size_t)count;
  }
}

static void receive_bytes(uint32_t now) {
  uint8_t bytes[256];
  ssize_t count = read(device, bytes, sizeof bytes);
  if (count > 0) {
    ssize_t i;
    /* The owner reads in between, as firmware would. */
    for (i = 0; i < count; i += 32) {
      byway_line_receive(&line, bytes + i, (size_t)(count - i < 32 ? count - i : 32), now);
      serve(now);
    }
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    close_device(now);
  }
}

static void turn(void) {
  uint32_t now = millis(), wait;
  struct pollfd wanted;
  if (device < 0) {
    open_device();
    if (device >= 0) byway_line_back(&line, now);
  }
  dial(now);
  byway_line_run(&line, now);
  serve(now);
  send_frames(now);
  wait = byway_line_deadline(&line, now);
  if (wait > 50 && (device < 0 || byway_line_state(&line) == BYWAY_LINE_NONE)) wait = 50;
  if (wait > 20) wait = 20;
  if (write_from != write_to) wait = 5;
  wanted.fd = device;
  wanted.events = (short)(POLLIN | (write_from != write_to ? POLLOUT : 0));
  wanted.revents = 0;
  if (poll(&wanted, 1, (int)wait) > 0) receive_bytes(millis());
}

int main(int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "b:n:s")) != -1) {
    if (option == 'b') baud = atol(optarg);
    if (option == 'n') total = atol(optarg);
    if (option == 's') set_rate = 1;
    if (option == '?') return 2;
  }
  if (argc - optind < 2) {
    fprintf(stderr, "usage: %s [-b BAUD] [-n BYTES] [-s] listen|dial PATH [echo|exchange|transfer|http]\n", argv[0]);
    return 2;
  }
  dials = !strcmp(argv[optind], "dial");
  path = argv[optind + 1];
  if (argc - optind > 2) mode = argv[optind + 2];
  over_since = millis();
  byway_line_start(&line, dials ? BYWAY_LINE_DIAL : BYWAY_LINE_LISTEN, random_number(), (uint32_t)baud, millis());
  byway_line_lost(&line, millis());
  while (!(done && byway_line_state(&line) == BYWAY_LINE_NONE)) turn();
  return failed;
}
