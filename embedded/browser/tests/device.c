/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * A device for the tests: the listening end of a line on a terminal, which connects each session to a port of this machine.
 *
 *     device TERMINAL BAUD PORT
 */
#define _DEFAULT_SOURCE
#include "byway_line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct byway_line line;
static int terminal = -1, origin = -1, origin_ended, was_finished;
static uint8_t session;

static uint32_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint32_t)((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}

static void open_terminal(const char *path) {
  struct termios t;
  terminal = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0) return;
  if (tcgetattr(terminal, &t) == 0) {
    cfmakeraw(&t);
    tcsetattr(terminal, TCSANOW, &t);
  }
  byway_line_back(&line, now());
}

static void close_terminal(void) {
  close(terminal);
  terminal = -1;
  byway_line_lost(&line, now());
}

static void close_origin(void) {
  if (origin >= 0) close(origin);
  origin = -1;
}

static void connect_origin(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  close_origin();
  origin_ended = was_finished = 0;
  origin = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(origin, (struct sockaddr *)&address, sizeof address) != 0) close_origin();
}

/* Moves bytes between the session and the origin. */
static void serve(int port) {
  uint8_t bytes[2048];
  size_t count;
  if (byway_line_sessions(&line) != session) {
    session = byway_line_sessions(&line);
    connect_origin(port);
  }
  while ((count = byway_line_read(&line, bytes, sizeof bytes))) {
    if (origin >= 0 && send(origin, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) close_origin();
  }
  if (byway_line_state(&line) == BYWAY_LINE_NONE) {
    close_origin();
  } else if (origin < 0 || origin_ended) {
    byway_line_finish(&line);
  }
  if (origin >= 0 && byway_line_ended(&line) && !was_finished) {
    was_finished = 1;
    shutdown(origin, SHUT_WR);
  }
  while (origin >= 0 && !origin_ended && (count = byway_line_room(&line)) > 0) {
    ssize_t got = recv(origin, bytes, count < sizeof bytes ? count : sizeof bytes, MSG_DONTWAIT);
    if (got > 0) byway_line_write(&line, bytes, (size_t)got);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) origin_ended = 1;
  }
}

static void turn(int port) {
  static uint8_t frame[8192];
  static size_t from, to;
  uint8_t bytes[256];
  const uint8_t *next;
  ssize_t count;
  struct pollfd wanted[2];
  byway_line_run(&line, now());
  serve(port);
  while (terminal >= 0) {
    if (from == to) {
      from = 0;
      to = byway_line_output(&line, now(), &next);
      if (to == 0) break;
      memcpy(frame, next, to);
    }
    count = write(terminal, frame + from, to - from);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (count < 0) {
      from = to = 0;
      close_terminal();
      break;
    }
    from += (size_t)count;
  }
  wanted[0].fd = terminal;
  wanted[0].events = (short)(POLLIN | (from != to ? POLLOUT : 0));
  wanted[1].fd = origin_ended || byway_line_room(&line) == 0 ? -1 : origin;
  wanted[1].events = POLLIN;
  wanted[0].revents = wanted[1].revents = 0;
  count = (ssize_t)byway_line_deadline(&line, now());
  poll(wanted, 2, from != to ? 10 : count > 20 ? 20 : (int)count);
  if (wanted[0].revents) {
    count = read(terminal, bytes, sizeof bytes);
    if (count > 0) {
      byway_line_receive(&line, bytes, (size_t)count, now());
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      from = to = 0;
      close_terminal();
    }
  }
}

int main(int argc, char **argv) {
  uint32_t number = 0;
  FILE *file = fopen("/dev/urandom", "r");
  if (argc != 4 || !file || fread(&number, sizeof number, 1, file) != 1) {
    fprintf(stderr, "usage: %s TERMINAL BAUD PORT\n", argv[0]);
    return 2;
  }
  fclose(file);
  signal(SIGPIPE, SIG_IGN);
  byway_line_start(&line, BYWAY_LINE_LISTEN, number, (uint32_t)atol(argv[2]), now());
  byway_line_lost(&line, now());
  for (;;) {
    if (terminal < 0) open_terminal(argv[1]);
    turn(atoi(argv[3]));
  }
}
