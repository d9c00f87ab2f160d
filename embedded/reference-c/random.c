/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Random input: random [SECONDS] [SEED]. It feeds noise, frames with right checks and random fields, and damaged ones, lets the time
 * pass, cuts the line, and calls each function of the owner. Build it with sanitizers. It calls inner functions, to make frames.
 */
#include "byway_line.c"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct byway_line line, maker;
static uint32_t now;
static uint64_t state;

static uint32_t any(uint32_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 20) % limit;
}

/* For another end that gets the same input: embedded/swift/tests/twins.c. */
#ifndef ALSO_RECEIVE
#define ALSO_RECEIVE(bytes, count) ((void)0)
#endif

static void feed(const uint8_t *bytes, size_t count) {
  size_t part;
  for (; count; bytes += part, count -= part) {
    part = 1 + any(20);
    if (part > count) part = count;
    byway_line_receive(&line, bytes, part, now);
    ALSO_RECEIVE(bytes, part);
  }
}

/* A frame whose check is right and whose fields are often near what makes sense. */
static void feed_frame(void) {
  static const uint8_t kinds[] = {HELLO, OPEN, RESET, POLL, ACK, ANSWER, NOISE, DATA, DATA_ACK, DATA | LAST, DATA_ACK | LAST, 0x55};
  uint8_t *b = maker.out + BYWAY_LINE_LEAD, kind = kinds[any(sizeof kinds)];
  const uint8_t *start;
  unsigned length = 1 + any(any(4) ? 40 : BYWAY_LINE_BODY - 4), i;
  for (i = 0; i < length; i++) b[i] = (uint8_t)any(any(2) ? 256 : 4);
  b[0] = kind;
  if (kind == HELLO || kind == OPEN) b[1] = (uint8_t)(any(8) != 0);
  if (kind == OPEN && any(4)) put32(b + 6, line.incarnation);
  if (kind == HELLO && any(2)) put32(b + 2, line.incarnation);
  if (kind == OPEN && any(4) == 0) put32(b + 2, line.over[any(16)]);
  if ((kind == POLL || kind == RESET) && any(4)) put32(b + 1, any(3) ? line.session : line.over[any(16)]);
  if (kind >= DATA && any(8)) put16(b + 1, line.take_next + any(40) - 8);
  if (kind >= DATA && any(8)) put16(b + 3, line.send_first + any(4));
  if (kind == ACK && any(8)) put16(b + 1, line.send_first + any(4));
  if (kind == ANSWER && any(8)) put16(put16(b + 1, line.token << 8) + 0, line.send_first);
  if (length < 20 && any(2)) length = least_length(kind) > 0 ? least_length(kind) : length;
  maker.seal = line.seal;
#if BYWAY_LINE_CORRECTION
  if (any(3) == 0) {
    unsigned strength = any(BYWAY_LINE_CORRECTION), copy = (kind == HELLO || kind == OPEN) && BYWAY_LINE_CORRECTION > 3;
    length = wrap_corrected(&maker, length, copy ? 3 : strength, (int)copy, &start);
  } else
#endif
    length = wrap(&maker, length, &start, now);
  if (any(4) == 0) maker.out[any(sizeof maker.out)] ^= (uint8_t)(1u << any(8));
  /* Up to three bits of a sync word, of which two may be wrong. */
  for (i = any(8) ? 0 : 1 + any(3); i; i--) maker.out[start - maker.out + any(3)] ^= (uint8_t)(1u << any(8));
  feed(start, length);
}

static void feed_noise(void) {
  uint8_t bytes[300];
  unsigned count = any(sizeof bytes), i;
  for (i = 0; i < count; i++) bytes[i] = (uint8_t)any(256);
  feed(bytes, count);
}

static void own(void) {
  uint8_t bytes[100];
  memset(bytes, (int)any(256), sizeof bytes);
  switch (any(12)) {
  case 0: byway_line_finish(&line); break;
  case 1: if (any(20) == 0) byway_line_leave(&line, now); break;
  case 2: if (any(20) == 0) byway_line_lost(&line, now); break;
  case 3: byway_line_back(&line, now); break;
  case 4: byway_line_open(&line, any(1000), now); break;
  case 5: case 6: case 7: byway_line_write(&line, bytes, any(sizeof bytes)); break;
  default: byway_line_read(&line, bytes, any(sizeof bytes));
  }
}

/* Output, and what must hold at any time. */
static void check(void) {
  const uint8_t *bytes;
  size_t count;
  int frames = 0;
  while ((count = byway_line_output(&line, now, &bytes))) {
    if (count > sizeof line.out || bytes < line.out || bytes + count > line.out + sizeof line.out) abort();
    if (++frames > 1000) abort();
    if (any(3) == 0) break;
  }
  if (line.run_length > BYWAY_LINE_RUN + 1) abort();
  if ((uint16_t)(line.send_end - line.send_first) > BYWAY_LINE_SEND_UNITS) abort();
  if ((uint16_t)(line.take_high - line.take_read) > BYWAY_LINE_RECEIVE_UNITS) abort();
  byway_line_deadline(&line, now);
}

int main(int argc, char **argv) {
  time_t stop = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
  unsigned long rounds = 0, sessions = 0;
  state = argc > 2 ? (uint64_t)atol(argv[2]) : (uint64_t)time(NULL);
  printf("random: seed %lu, ", (unsigned long)state);
  fflush(stdout);
  state = state * 2654435761u + 88172645463325252u;
  while (time(NULL) < stop) {
    int i;
    now = any(2) ? any(0xFFFFFFFFu) : 0xFFFFF000u;
    byway_line_start(&line, any(2) ? BYWAY_LINE_DIAL : BYWAY_LINE_LISTEN, any(1000), any(2) ? 115200 : 0, now);
    for (i = 0; i < 2000; i++, rounds++) {
      now += any(4) ? any(3) : any(any(50) ? 300 : 6000);
      if (any(8) == 0) feed_noise();
      if (any(2)) feed_frame();
      own();
      check();
    }
    sessions += byway_line_sessions(&line);
  }
  printf("%lu rounds, more than %lu sessions\n", rounds, sessions);
  return 0;
}
