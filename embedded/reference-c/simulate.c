/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Two ends over a bad line, in virtual time: every run with the same arguments is the same.
 *
 *     simulate [BYTES] [BIT ERRORS PER MILLION] [BYTES LOST PER MILLION] [SEED] [BAUD]
 *
 * Each end sends BYTES and compares what it receives. With "-" for BYTES it is a hundred exchanges of 60 and 200 bytes.
 */
#include "byway_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 4096, LISTENER = 0, DIALER = 1 };

/* One end, and the line from it to the other. */
struct end {
  struct byway_line line;
  uint8_t queue[QUEUE];
  size_t queued;
  double credit; /* bytes that the line can carry by now */
  long sent, received;
  int failed;
};

static struct end ends[2];
static uint64_t state;
static uint32_t now;
static long errors, losses, baud = 115200;

static uint32_t any(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 16);
}

static int chance(long per_million) { return (long)(any() % 1000000) < per_million; }

static uint8_t stream_byte(int end, long at) { return (uint8_t)(((uint32_t)at * 2654435761u + (uint32_t)end * 97) >> 13); }

/* The owner of a session: sends and receives as much. */
static void own(int which, long out, long in) {
  struct end *e = &ends[which];
  uint8_t bytes[64];
  size_t count, i;
  while (e->sent < out) {
    for (count = 0; count < sizeof bytes && e->sent + (long)count < out; count++) bytes[count] = stream_byte(which, e->sent + (long)count);
    count = byway_line_write(&e->line, bytes, count);
    e->sent += (long)count;
    if (count == 0) break;
  }
  while ((count = byway_line_read(&e->line, bytes, sizeof bytes))) {
    for (i = 0; i < count; i++, e->received++) {
      if (e->received >= in || bytes[i] != stream_byte(!which, e->received)) e->failed = 1;
    }
  }
}

/* Hands frames to the line. */
static void hand_over(struct end *e) {
  const uint8_t *bytes;
  size_t count;
  while (e->queued + 512 < QUEUE && (count = byway_line_output(&e->line, now, &bytes))) {
    memcpy(e->queue + e->queued, bytes, count);
    e->queued += count;
  }
}

/* The line carries bytes for a millisecond. */
static void carry(struct end *from, struct end *to) {
  size_t i, count;
  from->credit += (double)baud / 10000;
  if (from->credit > (double)from->queued) from->credit = (double)from->queued;
  count = (size_t)from->credit;
  from->credit -= (double)count;
  for (i = 0; i < count; i++) {
    uint8_t byte = from->queue[i];
    int bit;
    for (bit = 0; bit < 8; bit++) byte ^= (uint8_t)(chance(errors) << bit);
    if (!chance(losses)) byway_line_receive(&to->line, &byte, 1, now);
  }
  memmove(from->queue, from->queue + count, from->queued - count);
  from->queued -= count;
}

static void millisecond(void) {
  hand_over(&ends[0]);
  hand_over(&ends[1]);
  carry(&ends[0], &ends[1]);
  carry(&ends[1], &ends[0]);
  now++;
}

static void start(void) {
  memset(ends, 0, sizeof ends);
  byway_line_start(&ends[LISTENER].line, BYWAY_LINE_LISTEN, any(), (uint32_t)baud, now);
  byway_line_start(&ends[DIALER].line, BYWAY_LINE_DIAL, 0, (uint32_t)baud, now);
}

static int over(void) {
  return byway_line_state(&ends[0].line) == BYWAY_LINE_NONE && byway_line_state(&ends[1].line) == BYWAY_LINE_NONE;
}

static int transfer(long total) {
  uint32_t limit, began = now, last = 0;
  int i, begun = 0;
  start();
  byway_line_open(&ends[DIALER].line, any(), now);
  limit = now + 60000 + (uint32_t)(total * 10 / (baud / 1000)) * 40;
  while (now < limit && !(begun && over())) {
    millisecond();
    for (i = 0; i < 2; i++) {
      own(i, total, total);
      if (ends[i].sent == total) byway_line_finish(&ends[i].line);
    }
    begun |= byway_line_sessions(&ends[LISTENER].line);
    if (!last && ends[0].received == total && ends[1].received == total) last = now;
    if (begun && byway_line_state(&ends[DIALER].line) == BYWAY_LINE_NONE && byway_line_reason(&ends[DIALER].line)) break;
  }
  if (!last || ends[0].failed || ends[1].failed || byway_line_reason(&ends[0].line) || byway_line_reason(&ends[1].line) || !over()) {
    printf("failed at %lu ms: received %ld and %ld of %ld, wrong %d %d, reasons %d %d, states %d %d\n", (unsigned long)now, ends[0].received,
           ends[1].received, total, ends[0].failed, ends[1].failed, byway_line_reason(&ends[0].line), byway_line_reason(&ends[1].line),
           byway_line_state(&ends[0].line), byway_line_state(&ends[1].line));
    return 1;
  }
  printf("%ld bytes each way in %.1f s: %.3f of the line\n", total, (last - began) / 1000.0,
         (double)total * 10 * 1000 / (double)(last - began) / (double)baud);
  return 0;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* First exchanges of sessions: the time from open to the last byte of the answer. */
static int exchanges(void) {
  enum { COUNT = 200 };
  int times[COUNT], i;
  for (i = 0; i < COUNT; i++) {
    uint32_t began, limit;
    start();
    for (limit = now + 20; now < limit;) millisecond();
    began = now;
    byway_line_open(&ends[DIALER].line, any(), now);
    while (ends[DIALER].received < 200 && now - began < 20000) {
      millisecond();
      own(DIALER, 60, 200);
      own(LISTENER, ends[LISTENER].received == 60 ? 200 : 0, 60);
    }
    times[i] = (int)(now - began);
  }
  qsort(times, COUNT, sizeof times[0], compare);
  printf("first exchange of 60 and 200 bytes: median %d ms, 90 %% within %d ms, 99 %% within %d ms\n", times[COUNT / 2], times[COUNT * 9 / 10],
         times[COUNT * 99 / 100]);
  return times[COUNT - 1] >= 20000;
}

int main(int argc, char **argv) {
  errors = argc > 2 ? atol(argv[2]) : 0;
  losses = argc > 3 ? atol(argv[3]) : 0;
  state = 88172645463325252u + (uint64_t)(argc > 4 ? atol(argv[4]) : 1) * 7919;
  if (argc > 5) baud = atol(argv[5]);
  if (argc > 1 && !strcmp(argv[1], "-")) return exchanges();
  return transfer(argc > 1 ? atol(argv[1]) : 100000);
}
