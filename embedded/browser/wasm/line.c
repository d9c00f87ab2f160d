/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * The end of the line for a browser, as WebAssembly: one line in memory of fixed size. All bytes go through one buffer, so JavaScript
 * reads no address that depends on what arrived.
 */
#include "../../c/byway_line.c"

#define EXPORT(name) __attribute__((export_name(#name)))

static struct byway_line line;
static uint8_t buffer[4096];

static size_t limit(size_t count) { return count < sizeof buffer ? count : sizeof buffer; }

EXPORT(buffer) uint8_t *line_buffer(void) { return buffer; }

EXPORT(start) void line_start(int listens, uint32_t random, uint32_t baud, uint32_t now) {
  byway_line_start(&line, listens ? BYWAY_LINE_LISTEN : BYWAY_LINE_DIAL, random, baud, now);
}

EXPORT(open) int line_open(uint32_t random, uint32_t now) { return byway_line_open(&line, random, now); }

EXPORT(receive) void line_receive(size_t count, uint32_t now) { byway_line_receive(&line, buffer, limit(count), now); }

/* The frame to send is copied to the buffer. */
EXPORT(output) size_t line_output(uint32_t now) {
  const uint8_t *bytes;
  size_t count = limit(byway_line_output(&line, now, &bytes));
  if (count) memcpy(buffer, bytes, count);
  return count;
}

EXPORT(run) void line_run(uint32_t now) { byway_line_run(&line, now); }

EXPORT(deadline) uint32_t line_deadline(uint32_t now) { return byway_line_deadline(&line, now); }

EXPORT(write) size_t line_write(size_t count) { return byway_line_write(&line, buffer, limit(count)); }

EXPORT(read) size_t line_read(size_t room) { return byway_line_read(&line, buffer, limit(room)); }

EXPORT(room) size_t line_room(void) { return byway_line_room(&line); }

EXPORT(ended) int line_ended(void) { return byway_line_ended(&line); }

EXPORT(finish) void line_finish(void) { byway_line_finish(&line); }

/* Ends the session at once, and tells the peer. */
EXPORT(abort) void line_abort(void) {
  if (line.state == BYWAY_LINE_NONE) return;
  end_with_reset(&line, BYWAY_LINE_ABORTED);
  line.take_read = line.take_next;
}

EXPORT(lost) void line_lost(uint32_t now) { byway_line_lost(&line, now); }

EXPORT(back) void line_back(uint32_t now) { byway_line_back(&line, now); }

EXPORT(state) uint32_t line_state(void) { return byway_line_state(&line); }

EXPORT(reason) uint32_t line_reason(void) { return byway_line_reason(&line); }

EXPORT(streams) uint32_t line_streams(void) { return byway_line_streams(&line); }

EXPORT(peer_credit) uint32_t line_peer_credit(void) { return byway_line_peer_credit(&line); }

EXPORT(unsent) size_t line_unsent(void) { return byway_line_unsent(&line); }

EXPORT(sessions) uint32_t line_sessions(void) { return byway_line_sessions(&line); }
