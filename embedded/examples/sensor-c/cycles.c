/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* Counts instructions of the kit for each byte: embedded/cycles. QEMU's -icount makes one instruction take a nanosecond. */
#define HEARD 64
#include "../../c/tests/pair.h"
#include "board.h"

enum { TICK = 40, TICKS = 25000, AMOUNT = 20000 }; /* instructions in a tick of the clock, and ticks in a millisecond */

static uint64_t spent;
static uint32_t bytes_in, bytes_out, flipped;
static uint32_t noise = 1;

static uint64_t ticks(void) {
  uint32_t before, value;
  do {
    before = board_milliseconds();
    value = *(volatile uint32_t *)0xE000E018;
  } while (before != board_milliseconds());
  return (uint64_t)before * TICKS + TICKS - 1 - value;
}

static void meet(int receiving, int sending) {
  const uint8_t *frame;
  uint8_t bytes[256];
  size_t count, i;
  uint64_t began;
  now++;
  while ((count = byway_line_output(&peer, now, &frame))) {
    memcpy(bytes, frame, count);
    for (i = 0; flipped && i < count; i++) {
      noise = noise * 1664525 + 1013904223;
      if (noise >> 8 < flipped) bytes[i] ^= 1;
    }
    began = ticks();
    byway_receive(&server, bytes, count, now);
    if (receiving) spent += ticks() - began;
    bytes_in += (uint32_t)count;
  }
  for (;;) {
    began = ticks();
    count = byway_output(&server, now, &frame);
    if (sending) spent += ticks() - began;
    if (!count) break;
    bytes_out += (uint32_t)count;
    byway_line_receive(&peer, frame, count, now);
    while (byway_line_read(&peer, bytes, sizeof bytes)) {
    }
  }
}

static uint32_t body_left;

static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  (void)bytes;
  if (event == BYWAY_BODY) body_left -= (uint32_t)count;
  if (event == BYWAY_END) byway_answer_with(b, 200, NULL, (const void *)0, byway_method(b) == BYWAY_GET ? AMOUNT : 0, NULL);
  return count;
}

static void print(const char *name, uint32_t number) {
  char text[80];
  size_t at = strlen(name), digits = 1;
  uint32_t rest;
  memcpy(text, name, at);
  for (rest = number; rest >= 10; rest /= 10) digits++;
  for (rest = digits; rest; rest--, number /= 10) text[at + rest - 1] = (char)('0' + number % 10);
  text[at + digits] = '\n';
  board_send((const uint8_t *)text, at + digits + 1);
  while (!board_idle()) {
  }
}

static void start(void) {
  start_pair(service, NULL);
  byway_line_open(&peer, ++noise, now);
  for (body_left = 0; body_left < 100; body_left++) meet(0, 0);
  spent = bytes_in = bytes_out = 0;
}

/* An upload: what receiving takes. */
static void upload(const char *name) {
  static const char head[] = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n";
  size_t left = AMOUNT;
  start();
  body_left = AMOUNT;
  byway_line_write(&peer, head, sizeof head - 1);
  while (body_left) {
    left -= byway_line_write(&peer, (const void *)0, left < 400 ? left : 400);
    meet(1, 0);
  }
  print(name, (uint32_t)(spent * TICK / bytes_in));
}

int main(void) {
  static const char ask[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  board_start(115200);
  upload("instructions to receive a byte: ");
  start();
  byway_line_write(&peer, ask, sizeof ask - 1);
  while (bytes_out < AMOUNT) meet(0, 1);
  print("instructions to send a byte: ", (uint32_t)(spent * TICK / bytes_out));
#if BYWAY_LINE_CORRECTION
  flipped = 1 << 17; /* of 2^24: a byte in 128, about a bit in 1,000 */
  upload("instructions to receive a byte, with one wrong in 128: ");
#endif
  print("most stack: ", board_stack());
  for (;;) board_sleep();
}
