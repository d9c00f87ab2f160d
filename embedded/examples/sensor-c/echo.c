/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* Returns what it receives, for `byway line --conform listen`: the line without a server. */
#include "board.h"
#include "byway_line.h"

#include <string.h>

static struct byway_line line;
static uint8_t pending[64];
static size_t pending_count;

static void echo(uint32_t now) {
  static uint8_t session;
  static uint32_t ended_at;
  if (session != byway_line_sessions(&line)) {
    session = byway_line_sessions(&line);
    pending_count = 0;
  }
  if (!pending_count) pending_count = byway_line_read(&line, pending, sizeof pending);
  if (pending_count) {
    size_t count = byway_line_write(&line, pending, pending_count);
    memmove(pending, pending + count, pending_count - count);
    pending_count -= count;
  }
  /* Not at once: the tester also sends frames behind its last one, and expects the session to be there. */
  if (pending_count || !byway_line_ended(&line)) ended_at = now;
  else if (now - ended_at >= 40) byway_line_finish(&line);
}

int main(void) {
  board_start(BAUD);
  byway_line_start(&line, BYWAY_LINE_LISTEN, board_seed(), BAUD, board_milliseconds());
  for (;;) {
    uint8_t bytes[32];
    const uint8_t *frame;
    uint32_t now = board_milliseconds();
    size_t count;
    while ((count = board_receive(bytes, sizeof bytes))) {
      byway_line_receive(&line, bytes, count, now);
      echo(now);
    }
    byway_line_run(&line, now);
    echo(now);
    if (board_idle() && (count = byway_line_output(&line, now, &frame))) {
      board_send(frame, count);
      continue;
    }
    board_sleep();
  }
}
