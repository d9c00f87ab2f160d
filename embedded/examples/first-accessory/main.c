#include "board.h"
#include "byway.h"

#include <string.h>

enum { BAUD = 115200 };

static struct byway byway;
static const char page[] = "<title>My board</title><h1>Hello from the board</h1>\n";

/* Answers a request. */
static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  (void)bytes;
  if (event == BYWAY_REQUEST && byway_method(b) <= BYWAY_HEAD_ONLY && !strcmp(byway_target(b), "/"))
    byway_answer_with(b, 200, "text/html", page, sizeof page - 1, NULL);
  else if (event == BYWAY_REQUEST)
    byway_answer_with(b, 404, "text/plain", "No such page.\n", 14, NULL);
  return count;
}

int main(void) {
  board_start(BAUD);
  byway_start(&byway, service, NULL, board_seed(), BAUD, board_milliseconds());
  for (;;) {
    uint8_t bytes[32];
    const uint8_t *frame;
    size_t count;
    while ((count = board_receive(bytes, sizeof bytes))) byway_receive(&byway, bytes, count, board_milliseconds());
    if (!board_idle()) byway_run(&byway, board_milliseconds());
    else if ((count = byway_output(&byway, board_milliseconds(), &frame))) board_send(frame, count);
    board_sleep();
  }
}
