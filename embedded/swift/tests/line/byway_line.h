/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The interface of embedded/c/byway_line.h for an end in Swift, whose state is opaque: for the programs of reference-c. */
#ifndef BYWAY_LINE_H
#define BYWAY_LINE_H

#include "swift_line.h"

#include <stdlib.h>

#define BYWAY_LINE_NEVER 0xFFFFFFFFu

enum byway_line_role { BYWAY_LINE_LISTEN, BYWAY_LINE_DIAL };
enum byway_line_state { BYWAY_LINE_NONE, BYWAY_LINE_ASKING, BYWAY_LINE_OPENING, BYWAY_LINE_OPEN };

struct byway_line {
  uint64_t memory[1024];
};

static inline void byway_line_start(struct byway_line *l, enum byway_line_role role, uint32_t random, uint32_t baud, uint32_t now) {
  if (swift_line_size() > sizeof l->memory) abort();
  swift_line_start(l->memory, (int)role, random, baud, now);
}

static inline enum byway_line_state byway_line_state(struct byway_line *l) { return (enum byway_line_state)swift_line_state(l->memory); }

#define byway_line_open(line, random, now) swift_line_open((line)->memory, random, now)
#define byway_line_receive(line, bytes, count, now) swift_line_receive((line)->memory, bytes, count, now)
#define byway_line_output(line, now, bytes) swift_line_output((line)->memory, now, bytes)
#define byway_line_run(line, now) swift_line_run((line)->memory, now)
#define byway_line_deadline(line, now) swift_line_deadline((line)->memory, now)
#define byway_line_write(line, bytes, count) swift_line_write((line)->memory, bytes, count)
#define byway_line_read(line, bytes, room) swift_line_read((line)->memory, bytes, room)
#define byway_line_ended(line) swift_line_ended((line)->memory)
#define byway_line_finish(line) swift_line_finish((line)->memory)
#define byway_line_lost(line, now) swift_line_lost((line)->memory, now)
#define byway_line_back(line, now) swift_line_back((line)->memory, now)
#define byway_line_reason(line) swift_line_reason((line)->memory)
#define byway_line_sessions(line) swift_line_sessions((line)->memory)

#endif
