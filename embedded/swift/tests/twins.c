/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Two ends with the same input in lockstep, one in C and one in Swift: twins [SECONDS] [SEED]. The input is that of reference-c/random.c:
 * noise, frames with right checks and chosen fields, damaged ones, jumps of the clock, cuts, and calls of the owner. After each step both
 * must have sent the same bytes, and have the same state and deadline.
 */
#include "swift_line.h"

static uint64_t twin[8192];

#define ALSO_RECEIVE(bytes, count) swift_line_receive(twin, bytes, count, now)
#define main random_main
#include "random.c"
#undef main

static uint8_t other[BYWAY_LINE_RECEIVE_UNITS * 16];

#define MUST(condition) do { if (!(condition)) fail(#condition, __LINE__); } while (0)

static unsigned long seed, frames;

static void fail(const char *what, int at) {
  printf("\ntwins.c:%d: this does not hold: %s. Repeat it with the seed %lu\n", at, what, seed);
  exit(1);
}

static void own_both(void) {
  uint8_t bytes[100];
  size_t count = any(sizeof bytes), taken;
  memset(bytes, (int)any(256), sizeof bytes);
  switch (any(14)) {
  case 0: byway_line_finish(&line), swift_line_finish(twin); break;
  case 1: if (any(20) == 0) byway_line_leave(&line, now), swift_line_leave(twin, now); break;
  case 2: if (any(20) == 0) byway_line_lost(&line, now), swift_line_lost(twin, now); break;
  case 3: byway_line_back(&line, now), swift_line_back(twin, now); break;
  case 4: {
    uint32_t session = any(1000);
    MUST(byway_line_open(&line, session, now) == swift_line_open(twin, session, now));
    break;
  }
  case 5: case 6: case 7: MUST(byway_line_write(&line, bytes, count) == swift_line_write(twin, bytes, count)); break;
  case 8: if (any(60) == 0) byway_line_abort(&line), swift_line_abort(twin); break;
  default:
    taken = byway_line_read(&line, bytes, count);
    MUST(swift_line_read(twin, other, count) == taken);
    MUST(!memcmp(bytes, other, taken));
  }
}

static void compare(void) {
  const uint8_t *bytes, *twins;
  size_t count;
  /* Before the timers run, so that some are overdue. */
  MUST(byway_line_deadline(&line, now) == swift_line_deadline(twin, now));
  do {
    if (any(4) == 0) byway_line_run(&line, now), swift_line_run(twin, now);
    count = byway_line_output(&line, now, &bytes);
    MUST(swift_line_output(twin, now, &twins) == count);
    MUST(!count || !memcmp(bytes, twins, count));
    frames += count > 0;
  } while (count && any(3));
  MUST(byway_line_deadline(&line, now) == swift_line_deadline(twin, now));
  MUST((int)byway_line_state(&line) == swift_line_state(twin));
  MUST((int)byway_line_reason(&line) == swift_line_reason(twin));
  MUST(byway_line_sessions(&line) == swift_line_sessions(twin));
  MUST(byway_line_room(&line) == swift_line_room(twin));
  MUST(byway_line_unsent(&line) == swift_line_unsent(twin));
  MUST(byway_line_ended(&line) == swift_line_ended(twin));
#if BYWAY_LINE_STREAMS
  MUST(byway_line_streams(&line) == swift_line_streams(twin));
  MUST(byway_line_peer_credit(&line) == swift_line_peer_credit(twin));
#endif
}

/* Gives both a frame with a right check and the body that the maker has. */
static void feed_body(unsigned length) {
  const uint8_t *start;
  maker.seal = line.seal;
  length = wrap(&maker, length, &start, now);
  feed(start, length);
}

/* Loses every other unit of a window. A list of their runs is longer than an acknowledgement may have if the window is large. */
static void lose_every_other(void) {
  uint8_t *b = maker.out + BYWAY_LINE_LEAD;
  uint16_t number;
  int i;
  now = state = 1;
  byway_line_start(&line, BYWAY_LINE_LISTEN, 1, 0, now);
  swift_line_start(twin, BYWAY_LINE_LISTEN, 1, 0, now);
  b[0] = OPEN;
  b[1] = PROTOCOL;
  put16(put16(put32(put32(b + 2, 1), 1), 64), 64);
  feed_body(14);
  for (number = 1; number < BYWAY_LINE_RECEIVE_UNITS; number += 2) {
    memset(b, 0, 19);
    b[0] = DATA;
    put16(b + 1, number);
    feed_body(19);
  }
  MUST(line.take_high == BYWAY_LINE_RECEIVE_UNITS);
  for (i = 0; i < 20; i++) compare();
  MUST(frames > 1 && !(line.owed & OWE_ACK));
}

int main(int argc, char **argv) {
  time_t stop = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
  unsigned long rounds = 0, begun = 0;
  seed = argc > 2 ? (unsigned long)atol(argv[2]) : (unsigned long)time(NULL);
  MUST(swift_line_size() <= sizeof twin);
  lose_every_other();
  for (; time(NULL) < stop; seed++) {
    uint32_t role, random, baud;
    int i;
    state = seed * 2654435761u + 88172645463325252u;
    for (i = 0; i < 8; i++) any(2);
    now = any(2) ? any(0xFFFFFFFFu) : 0xFFFFF000u;
    role = any(2), random = any(1000), baud = any(3) ? any(2) ? 115200 : 921600 : 0;
    byway_line_start(&line, role ? BYWAY_LINE_DIAL : BYWAY_LINE_LISTEN, random, baud, now);
    swift_line_start(twin, (int)role, random, baud, now);
    for (i = 0; i < 2000; i++, rounds++) {
      now += any(4) ? any(3) : any(any(50) ? 300 : 6000);
      if (any(8) == 0) feed_noise();
      if (any(2)) feed_frame();
      own_both();
      compare();
    }
    begun += byway_line_sessions(&line);
  }
  printf("%lu steps, %lu frames and more than %lu sessions are the same in C and in Swift\n", rounds, frames, begun);
  return frames < 1000;
}
