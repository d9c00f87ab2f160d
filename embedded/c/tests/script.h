/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Scripts for one end of the line, in virtual time. A script has steps with a semicolon between them:
 *
 *     OPEN 1 5 77 64 256   this frame arrives; its fields are numbers, those of section 2 of docs/wire-protocol.md in their order
 *     DATA 0 hello         the payload is text, or a count of bytes in brackets: (64). LAST has the flag; DATA+ and LAST+ acknowledge
 *     ~POLL 5 1            it arrives with a wrong bit
 *     DATA^2:3 0 hello     it arrives with correction of strength 2, and three wrong bytes. ^2:3:1 has another in the header, and
 *                          in ^2:3:1:20 the three are from byte 20 of the frame on
 *     bytes 00 FF          these bytes arrive
 *     seal 5 77            what arrives from here on is of this session and incarnation. An OPEN without correction sets them too
 *     part 8               the next frame arrives without its last 8 bytes
 *     rest 3               the next 3 of them arrive
 *     wait 30, skip 30     30 ms pass. With skip the trace has the number of frames only
 *     start 77, open 5, write TEXT, read 100, finish, leave, abort, lost, back: calls of the owner
 *     state, ended, room, unsent, deadline, sessions: print what the end says
 *
 * The frames of the end are written into a trace, with the milliseconds since the beginning, and 0 in front of a frame that a zero precedes. The
 * frames are made and read by this file alone. Each script runs twice: once the end is called each millisecond, and once only when its
 * deadline has come, with a clock that wraps. Both traces must be the same.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "byway_line.h"
#include "expect.h"

#include <stdlib.h>

struct script {
  const char *title;
  enum byway_line_role role;
  uint32_t baud;
  const char *steps, *trace;
};

static struct byway_line line;
static uint32_t began, now;
static int sleeps; /* the end is called at its deadlines only */
static char trace[1 << 14];
static size_t trace_length;
static uint8_t seal[8];
static unsigned part, skipped;
static uint8_t held[800]; /* of a frame that arrived in part */
static size_t held_count;

#define TRACE(...) (trace_length += (size_t)snprintf(trace + trace_length, sizeof trace - trace_length, __VA_ARGS__))
/* Begins the next entry of the trace. */
#define NOTE(...) (trace_length ? TRACE("; ") : 0, TRACE(__VA_ARGS__))

/* ---- Frames ---- */

static const struct kind {
  const char *name;
  uint8_t kind;
  uint8_t sizes[8]; /* of its fields; further ones have one byte */
} kinds[] = {
  {"HELLO", 1, {1, 4, 2}}, {"OPEN", 2, {1, 4, 4, 2, 2}}, {"RESET", 3, {4, 1}}, {"POLL", 4, {4, 1}}, {"ACK", 0x40, {2, 2}},
  {"ANSWER", 0x41, {1, 1, 2, 2}}, {"NOISE", 0x42, {1}}, {"DATA", 0x80, {2}}, {"DATA+", 0x81, {2, 2}}, {"LAST", 0x82, {2}},
  {"LAST+", 0x83, {2, 2}}, {"KIND5", 5, {1}}, {"KIND67", 0x43, {1}}, {"KIND132", 0x84, {2}},
};

static uint32_t crc(uint32_t value, const uint8_t *bytes, size_t count) {
  int bit;
  for (; count; count--) {
    value ^= *bytes++;
    for (bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0x82F63B78 : 0);
  }
  return value;
}

static uint32_t check_of_body(const uint8_t *body, size_t count) {
  return ~crc(body[0] < 0x40 ? 0xFFFFFFFF : crc(0xFFFFFFFF, seal, 8), body, count);
}

static uint8_t *put(uint8_t *to, uint32_t value, unsigned size) {
  unsigned i;
  for (i = 0; i < size; i++) to[i] = (uint8_t)(value >> 8 * (size - 1 - i));
  return to + size;
}

static uint32_t get(const uint8_t *from, unsigned size) {
  uint32_t value = 0;
  while (size--) value = value << 8 | *from++;
  return value;
}

static void set_seal(uint32_t session, uint32_t incarnation) { put(put(seal, session, 4), incarnation, 4); }

/* Returns the length. */
static size_t encode_cobs(uint8_t *to, const uint8_t *from, size_t count) {
  size_t code = 0, at = 1;
  for (; count; count--, from++) {
    if (at - code == 255) to[code] = 255, code = at++;
    if (*from) {
      to[at++] = *from;
    } else {
      to[code] = (uint8_t)(at - code);
      code = at++;
    }
  }
  to[code] = (uint8_t)(at - code);
  return at;
}

static size_t decode_cobs(uint8_t *to, const uint8_t *from, size_t count) {
  size_t length = 0, at = 0;
  while (at < count) {
    size_t run = from[at++], i;
    for (i = 1; i < run && at < count; i++) to[length++] = from[at++];
    if (run < 255 && at < count) to[length++] = 0;
  }
  return length;
}

static void write_payload(const uint8_t *bytes, size_t count) {
  if (count > 20) TRACE(" (%u)", (unsigned)count);
  else if (count) TRACE(" %.*s", (int)count, (const char *)bytes);
}

/* Writes a frame into the trace: its kind, its fields, and how it was sent. */
static void write_frame(const uint8_t *body, size_t count, const char *how) {
  const struct kind *k = kinds;
  size_t at = 1, field;
  uint32_t value = 0, before = 0;
  while (k < kinds + sizeof kinds / sizeof kinds[0] && k->kind != body[0]) k++;
  if (k == kinds + sizeof kinds / sizeof kinds[0]) {
    TRACE("unknown");
    return;
  }
  TRACE("%s%s", k->name, how);
  for (field = 0; at < count; field++) {
    unsigned size = field < 8 && k->sizes[field] ? k->sizes[field] : 1;
    if (body[0] >= 0x80 && !k->sizes[field]) {
      write_payload(body + at, count - at);
      break;
    }
    before = value;
    value = get(body + at, size);
    TRACE(" %u", value);
    if (body[0] == 2 && field == 2) set_seal(before, value);
    at += size;
  }
}

/* ---- Correction ---- */

static const uint8_t most_wrong[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};

static uint8_t times(uint8_t a, uint8_t b) {
  unsigned product = 0, i;
  for (i = 0; i < 8; i++) product ^= b >> i & 1 ? (unsigned)a << i : 0;
  for (i = 15; i >= 8; i--) product ^= product >> i & 1 ? 0x11Du << (i - 8) : 0;
  return (uint8_t)product;
}

/* The parity of one word: every step-th of count bytes. It is the remainder of a division by the generator. */
static void add_parity(const uint8_t *from, size_t count, size_t step, uint8_t *to, unsigned size) {
  uint8_t generator[33] = {1}, rest[33] = {0}, root = 1;
  unsigned i, j;
  for (i = 0; i < size; i++, root = times(root, 2)) {
    for (j = i + 1; j; j--) generator[j] ^= times(generator[j - 1], root);
  }
  for (; count; count = count > step ? count - step : 0, from += step) {
    uint8_t factor = *from ^ rest[0];
    for (i = 0; i < size; i++) rest[i] = (uint8_t)((i + 1 < size ? rest[i + 1] : 0) ^ times(factor, generator[i + 1]));
  }
  for (i = 0; i < size; i++) to[i * step] = rest[i];
}

static size_t words_of(size_t count, unsigned wrong) { return (count + 254 - 2 * wrong) / (255 - 2 * wrong); }

/* A frame with correction. Returns the length. */
static size_t encode_corrected(uint8_t *to, const uint8_t *body, size_t count, unsigned strength, int copy) {
  unsigned wrong = most_wrong[strength];
  size_t words = words_of(count, wrong), i;
  put(to, copy ? 0x8C28B2 : ~crc(0xFFFFFFFF, seal, 8) >> 8, 3);
  put(to + 3, (uint32_t)(strength << 12 | count), 2);
  add_parity(to + 3, 2, 1, to + 5, 4);
  memcpy(to + 9, body, count);
  for (i = 0; i < words; i++) add_parity(to + 9 + i, count - i, words, to + 9 + count + i, 2 * wrong);
  return 9 + count + 2 * wrong * words;
}

/* ---- The end ---- */

/* Writes what the end has sent into the trace. */
static void read_frame(const uint8_t *bytes, size_t count) {
  uint8_t body[600], whole[700];
  char how[8] = "";
  size_t length;
  NOTE("@%u ", now - began);
  if (bytes[0] == 0) {
    TRACE("0 ");
    bytes++;
    count--;
  }
  length = count > 9 ? get(bytes + 3, 2) & 0xFFF : 0;
  if (count > 9 && length >= 5 && length <= count - 9) {
    unsigned strength = bytes[3] >> 4;
    int copy = get(bytes, 3) == 0x8C28B2;
    memcpy(body, bytes + 9, length);
    if (strength < 12 && encode_corrected(whole, body, length, strength, copy) == count && !memcmp(whole, bytes, count)) {
      snprintf(how, sizeof how, copy ? "^copy" : "^%u", strength);
    }
  }
  if (!how[0]) {
    length = decode_cobs(body, bytes, count - 1);
    if (bytes[count - 1]) TRACE("without a zero: ");
  }
  if (length < 5) TRACE("no frame");
  else if (check_of_body(body, length - 4) != get(body + length - 4, 4)) TRACE("with a wrong check: ");
  if (length >= 5) write_frame(body, length - 4, how);
}

static void drain(void) {
  const uint8_t *frame;
  size_t count;
  int frames = 0;
  while (trace_length < sizeof trace / 2 && (count = byway_line_output(&line, now, &frame))) {
    if (++frames > 50) {
      NOTE("it does not stop sending");
      return;
    }
    if (skipped) skipped++;
    else read_frame(frame, count);
  }
  if (byway_line_deadline(&line, now) == 0) NOTE("it does not wait");
}

static void pass(uint32_t milliseconds) {
  uint32_t stop = now + milliseconds;
  while (now != stop) {
    uint32_t wait = sleeps ? byway_line_deadline(&line, now) : 1;
    if (wait > stop - now) wait = stop - now;
    if (wait == 0) return;
    now += wait;
    if (!sleeps || byway_line_deadline(&line, now) == 0) drain();
  }
  drain();
}

/* ---- Steps ---- */

static void arrive(uint8_t *bytes, size_t count) {
  if (part) {
    held_count = part < count ? part : count;
    count -= held_count;
    memcpy(held, bytes + count, held_count);
    part = 0;
  }
  byway_line_receive(&line, bytes, count, now);
}

/* "DATA^2:3 0 hello": makes the frame, and lets it arrive. */
static void receive_frame(const char *step) {
  uint8_t body[600], wire[800], *to = body + 1;
  char name[16] = "";
  int damaged = *step == '~', used = 0, field;
  unsigned strength = 99, wrong = 0, wrong_head = 0, from = 0, i;
  uint32_t number;
  char *behind;
  size_t count;
  const struct kind *k = kinds;
  step += damaged;
  sscanf(step, "%15[A-Z0-9+]%n", name, &used);
  step += used;
  while (k < kinds + sizeof kinds / sizeof kinds[0] && strcmp(k->name, name)) k++;
  if (k == kinds + sizeof kinds / sizeof kinds[0]) {
    NOTE("no step: %s%s", name, step);
    return;
  }
  if (*step == '^') sscanf(step, "^%u:%u:%u:%u", &strength, &wrong, &wrong_head, &from);
  step += strcspn(step, " ");
  body[0] = k->kind;
  for (field = 0; *step == ' '; field++) {
    if (k->kind >= 0x80 && !k->sizes[field]) {
      if (step[1] == '(') {
        count = strtoul(step + 2, NULL, 10);
        memset(to, 'x', count);
      } else {
        count = strlen(step + 1);
        memcpy(to, step + 1, count);
      }
      to += count;
      break;
    }
    number = (uint32_t)strtoul(step, &behind, 10);
    if (behind == step) break;
    step = behind;
    to = put(to, number, field < 8 && k->sizes[field] ? k->sizes[field] : 1);
    if (k->kind == 2 && field == 2 && strength > 11) memcpy(seal, to - 8, 8);
  }
  count = (size_t)(to - body);
  put(to, check_of_body(body, count), 4);
  count += 4;
  body[count / 2] ^= (uint8_t)damaged;
  if (strength < 12) {
    count = encode_corrected(wire, body, count, strength, k->kind < 3);
    for (i = 0; i < wrong; i++) wire[9 + from + i] ^= (uint8_t)(0x55 + from);
    for (i = 0; i < wrong_head; i++) wire[3 + i] ^= 0x55;
  } else {
    count = encode_cobs(wire, body, count);
    wire[count++] = 0;
  }
  arrive(wire, count);
}

static void receive_rest(size_t count) {
  if (count > held_count) count = held_count;
  byway_line_receive(&line, held, count, now);
  held_count -= count;
  memmove(held, held + count, held_count);
}

static void receive_bytes(const char *text) {
  uint8_t bytes[200];
  char *stop;
  size_t count = 0;
  while (count < sizeof bytes && (bytes[count] = (uint8_t)strtoul(text, &stop, 16), stop != text)) count++, text = stop;
  arrive(bytes, count);
}

static void write_text(const char *text) {
  char bytes[2000];
  size_t count = *text == '(' ? strtoul(text + 1, NULL, 10) : strlen(text), written;
  memset(bytes, 'y', sizeof bytes);
  if (*text != '(') memcpy(bytes, text, count);
  written = byway_line_write(&line, bytes, count);
  if (written != count) NOTE("wrote %u", (unsigned)written);
}

static void read_text(size_t room) {
  char bytes[2000];
  size_t count = byway_line_read(&line, bytes, room);
  NOTE("read");
  write_payload((const uint8_t *)bytes, count);
}

static void write_state(void) {
  static const char *const states[] = {"none", "asking", "opening", "open"};
  static const char *const reasons[] = {"finished", "unknown", "aborted", "silence", "version", "both dial", "restarted", "replaced", "gone"};
  enum byway_line_state state = byway_line_state(&line);
  NOTE("%s", state == BYWAY_LINE_NONE && byway_line_sessions(&line) ? reasons[byway_line_reason(&line)] : states[state]);
}

static void step(const struct script *script, const char *text) {
  char word[16] = "";
  const char *value = text + strcspn(text, " ");
  unsigned long number, second = 0;
  char *behind;
  if (*text == '~' || (*text >= 'A' && *text <= 'Z')) {
    receive_frame(text);
    drain();
    return;
  }
  snprintf(word, sizeof word, "%.*s", (int)(value - text), text);
  if (*value) value++;
  number = strtoul(value, &behind, 10);
  if (*behind) second = strtoul(behind, NULL, 10);
  if (!strcmp(word, "wait")) return pass((uint32_t)number);
  if (!strcmp(word, "skip")) {
    skipped = 1;
    pass((uint32_t)number);
    NOTE("%u frames", skipped - 1);
    skipped = 0;
    return;
  }
  if (!strcmp(word, "seal")) return set_seal((uint32_t)number, (uint32_t)second);
  if (!strcmp(word, "part")) part = (unsigned)number;
  else if (!strcmp(word, "rest")) receive_rest(number);
  else if (!strcmp(word, "bytes")) receive_bytes(value);
  else if (!strcmp(word, "start")) byway_line_start(&line, script->role, (uint32_t)number, script->baud, now);
  else if (!strcmp(word, "open")) { if (!byway_line_open(&line, (uint32_t)number, now)) NOTE("not opened"); }
  else if (!strcmp(word, "write")) write_text(value);
  else if (!strcmp(word, "read")) read_text(number);
  else if (!strcmp(word, "finish")) byway_line_finish(&line);
  else if (!strcmp(word, "leave")) byway_line_leave(&line, now);
  else if (!strcmp(word, "abort")) byway_line_abort(&line);
  else if (!strcmp(word, "lost")) byway_line_lost(&line, now);
  else if (!strcmp(word, "back")) byway_line_back(&line, now);
  else if (!strcmp(word, "state")) write_state();
  else if (!strcmp(word, "ended")) NOTE("%s", byway_line_ended(&line) ? "ended" : "goes on");
  else if (!strcmp(word, "room")) NOTE("room %u", (unsigned)byway_line_room(&line));
  else if (!strcmp(word, "unsent")) NOTE("unsent %u", (unsigned)byway_line_unsent(&line));
  else if (!strcmp(word, "deadline")) NOTE("deadline %d", (int)byway_line_deadline(&line, now));
  else if (!strcmp(word, "sessions")) NOTE("sessions %u", byway_line_sessions(&line));
  else NOTE("no step: %s", text);
  if (part == 0) drain();
}

static void run(const struct script *script, int at_deadlines) {
  const char *at = script->steps;
  sleeps = at_deadlines;
  began = now = at_deadlines ? 0xFFFFFFF9u : 1000;
  trace_length = part = 0;
  trace[0] = 0;
  set_seal(0, 0);
  byway_line_start(&line, script->role, 77, script->baud, now);
  drain();
  trace_length = 0; /* without the first HELLO */
  while (*at) {
    char text[300];
    size_t length = strcspn(at, ";");
    snprintf(text, sizeof text, "%.*s", (int)length, at);
    step(script, text);
    at += length;
    at += strspn(at, "; ");
  }
}

static void play(const struct script *script) {
  static char first[sizeof trace];
  char title[200];
  run(script, 0);
  memcpy(first, trace, sizeof trace);
  expect_text(script->title, trace, script->trace);
  run(script, 1);
  snprintf(title, sizeof title, "%s, called at its deadlines", script->title);
  expect_text(title, trace, first);
}

#endif
