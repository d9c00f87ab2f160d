/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* A sensor whose page comes over its serial line: README.md. */
#include "board.h"
#include "byway.h"
#include "byway_line_inner.h" /* CRC-32C */

#include <string.h>

#ifndef VERSION
#define VERSION 1
#endif
#ifndef BAUD
#define BAUD 115200
#endif

enum { SAMPLE_EVERY = 100, EVENTS_FOR = 3000, SLOW_AFTER = 1500, FILE_SIZE = 200 * 1024 };
enum { REQUESTS = BYWAY_LINE_STREAMS ? BYWAY_LINE_STREAMS : 1 };

static struct byway byway;
static const char *const wanted[] = {"x-crc32c", NULL};

/* The page, and a file that only the first slot's image brings. */
__asm(".section .rodata.page\n.balign 4\npage_start: .incbin \"page.html\"\npage_end: .byte 0\n.previous");
extern const uint8_t page_start[], page_end[];
extern const uint8_t file_start[];

/* The requests under way. */
enum work { NOTHING, EVENTS, SLOW, REFUSED, UPLOAD, FIRMWARE };
static struct request {
  uint8_t work;
  uint32_t since, told, count, check, expected;
} requests[REQUESTS];

static uint32_t reset_at, samples, sampled;
static int32_t temperature = 2150; /* hundredths of a degree */

/* ---- Text ---- */

static char *put_text(char *to, const char *text) {
  while (*text) *to++ = *text++;
  return to;
}

static char *put_number(char *to, uint32_t number) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  while (count) *to++ = digits[--count];
  return to;
}

static char *put_pair(char *to, const char *name, uint32_t number) {
  to = put_text(to, name);
  return put_number(to, number);
}

static char *put_hex(char *to, uint32_t number) {
  int shift;
  for (shift = 28; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[number >> shift & 15];
  return to;
}

static int read_hex(const char *text, uint32_t *number) {
  int i;
  *number = 0;
  for (i = 0; i < 8; i++) {
    const char *digit = text[i] ? strchr("0123456789abcdef", text[i]) : NULL;
    if (!digit) return 0;
    *number = *number << 4 | (uint32_t)(digit - "0123456789abcdef");
  }
  return !text[8];
}

/* ---- Answers ---- */

static void answer_text(unsigned status, const char *type, const char *text, size_t count) {
  if (byway_answer(&byway, status, type, (uint32_t)count, "Cache-Control: no-store\r\n")) byway_send(&byway, text, count);
}

static void refuse(unsigned status) { byway_answer(&byway, status, NULL, 0, NULL); }

/* The file, or with "?bytes=N" as much of it. */
static void answer_file(const char *query) {
  uint32_t count = 0;
  if (!strncmp(query, "?bytes=", 7)) {
    for (query += 7; *query >= '0' && *query <= '9' && count <= FILE_SIZE; query++) count = count * 10 + (uint32_t)(*query - '0');
  } else {
    count = FILE_SIZE;
  }
  if (*query || count > FILE_SIZE) return refuse(404);
  byway_answer_with(&byway, 200, "application/octet-stream", file_start, count, NULL);
}

/* The request that the call is about. */
static struct request *current(void) { return &requests[byway_current(&byway)]; }

static char *put_reading(char *to) {
  to = put_pair(to, "{\"sample\":", samples);
  to = put_pair(to, ",\"temperature\":", (uint32_t)temperature / 100);
  *to++ = '.';
  *to++ = (char)('0' + temperature / 10 % 10);
  *to++ = (char)('0' + temperature % 10);
  return put_text(to, "}");
}

static void answer_state(void) {
  char text[128], *to = put_pair(text, "{\"version\":", VERSION);
  to = put_text(to, slot_running() ? ",\"slot\":\"B\"" : ",\"slot\":\"A\"");
  to = put_pair(to, ",\"starts\":", board_starts());
  to = put_pair(to, ",\"stack\":", board_stack());
  to = put_pair(to, ",\"overruns\":", board_overruns());
  to = put_text(to, "}\n");
  answer_text(200, "application/json", text, (size_t)(to - text));
}

static void answer_upload(unsigned status) {
  char text[64], *to = put_pair(text, "{\"bytes\":", current()->count);
  to = put_text(to, ",\"crc32c\":\"");
  to = put_text(put_hex(to, ~current()->check), "\"}\n");
  answer_text(status, "application/json", text, (size_t)(to - text));
}

/* ---- Requests ---- */

/*
 * An event for each sample. If the session serves one request at a time the stream ends after a while, because no other has its turn
 * before. The page asks again.
 */
static void send_events(void) {
  struct request *r = current();
  char text[64], *to;
  if (byway_at_once(&byway) == 1 && board_milliseconds() - r->since >= EVENTS_FOR) {
    byway_end(&byway);
    return;
  }
  if (r->told == samples || byway_room(&byway) < sizeof text) return;
  r->told = samples;
  to = put_text(put_reading(put_text(text, "data: ")), "\n\n");
  byway_send(&byway, text, (size_t)(to - text));
}

/* Answers slowly, in place of a measurement that takes its time. Without room now there is another call. */
static void answer_slowly(void) {
  if (board_milliseconds() - current()->since < SLOW_AFTER) return;
  if (byway_answer(&byway, 200, "text/plain", 5, NULL)) {
    byway_send(&byway, "slow\n", 5);
    current()->work = NOTHING;
  }
}

/* Whether another request writes the slot. */
static int slot_is_taken(void) {
  int i, taken = 0;
  for (i = 0; i < REQUESTS; i++) taken |= requests[i].work == FIRMWARE;
  return taken;
}

static void begin_upload(enum work work) {
  struct request *r = current();
  const char *check = byway_field(&byway, "x-crc32c");
  if (byway_method(&byway) != BYWAY_PUT) return refuse(405);
  if (!check || !read_hex(check, &r->expected)) return refuse(400);
  if (work == FIRMWARE && (slot_running() || slot_is_taken())) return refuse(409);
  r->work = (uint8_t)work;
  r->count = 0;
  r->check = 0xFFFFFFFF;
  if (work == FIRMWARE) slot_erase();
}

static void take_upload(const uint8_t *bytes, size_t count) {
  struct request *r = current();
  if (r->work == FIRMWARE && !slot_write(r->count, bytes, count)) {
    r->work = REFUSED;
    refuse(413); /* again at BYWAY_ROOM if there is no room */
    return;
  }
  r->check = byway_crc(r->check, bytes, count);
  r->count += (uint32_t)count;
}

static void end_upload(void) {
  struct request *r = current();
  int right = ~r->check == r->expected;
  if (r->work == FIRMWARE) right = right && slot_commit(r->count, r->expected);
  r->work = NOTHING;
  answer_upload(right ? 200 : 422);
}

static void begin(void) {
  const char *target = byway_target(&byway);
  int reads = byway_method(&byway) <= BYWAY_HEAD_ONLY;
  struct request *r = current();
  char text[64];
  r->work = NOTHING;
  r->since = board_milliseconds();
  if (!strcmp(target, "/upload")) return begin_upload(UPLOAD);
  if (!strcmp(target, "/firmware")) return begin_upload(FIRMWARE);
  if (!strcmp(target, "/reset") && byway_method(&byway) == BYWAY_POST) {
    reset_at = board_milliseconds() + 200;
    return refuse(202);
  }
  if (!reads) return refuse(405);
  if (!strcmp(target, "/")) {
    byway_answer_with(&byway, 200, "text/html", page_start, (uint32_t)(page_end - page_start), NULL);
  } else if (!strcmp(target, "/reading")) {
    answer_text(200, "application/json", text, (size_t)(put_text(put_reading(text), "\n") - text));
  } else if (!strcmp(target, "/state")) {
    answer_state();
  } else if (!strncmp(target, "/file", 5)) {
    answer_file(target + 5);
  } else if (!strcmp(target, "/events")) {
    r->work = EVENTS;
    r->told = samples;
    byway_answer(&byway, 200, "text/event-stream", BYWAY_UNKNOWN_LENGTH, "Cache-Control: no-store\r\n");
    byway_send(&byway, "retry: 300\n\n", 12);
  } else if (!strcmp(target, "/slow")) {
    r->work = SLOW;
  } else {
    refuse(404);
  }
}

static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  (void)b;
  if (event == BYWAY_REQUEST) begin();
  if (event == BYWAY_BODY && current()->work >= UPLOAD) take_upload(bytes, count);
  if (event == BYWAY_END && current()->work >= UPLOAD) end_upload();
  if (event == BYWAY_ROOM && current()->work == EVENTS) send_events();
  if (event == BYWAY_ROOM && current()->work == SLOW) answer_slowly();
  if ((event == BYWAY_ROOM || event == BYWAY_END) && current()->work == REFUSED) refuse(413);
  if (event == BYWAY_GONE) current()->work = NOTHING;
  return count;
}

/* ---- The sensor ---- */

/* In place of an ADC: a temperature that swings, and some noise. */
static void sample(uint32_t now) {
  static uint32_t noise = 1;
  if (now - sampled < SAMPLE_EVERY) return;
  sampled = now;
  samples++;
  noise = noise * 1664525 + 1013904223;
  temperature += (int32_t)(noise >> 24) / 16 - 8 + (samples / 40 % 2 ? 4 : -4) + (2150 - temperature) / 50;
}

/* Answers that the service did not give at once. */
static void answer_later(void) {
  unsigned i;
  for (i = 0; i < REQUESTS; i++) {
    if (requests[i].work != SLOW) continue;
    byway_select(&byway, i);
    answer_slowly();
  }
}

int main(void) {
  board_start(BAUD);
  byway_start(&byway, service, wanted, board_seed(), BAUD, board_milliseconds());
  for (;;) {
    uint8_t bytes[32];
    const uint8_t *frame;
    uint32_t now = board_milliseconds();
    size_t count;
    sample(now);
    answer_later();
    while ((count = board_receive(bytes, sizeof bytes))) byway_receive(&byway, bytes, count, now);
    if (!board_idle()) {
      byway_run(&byway, now);
    } else if ((count = byway_output(&byway, now, &frame))) {
      board_send(frame, count);
      continue;
    }
    if (reset_at && (int32_t)(now - reset_at) >= 0) board_reset();
    board_sleep(); /* the tick of a millisecond ends it, so no deadline is needed */
  }
}
