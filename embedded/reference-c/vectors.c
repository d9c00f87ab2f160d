/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* Compares this end with the vectors of Tests/LineLayerTests/Vectors: vectors FOLDER. It calls inner functions. */
#include "byway_line.c"

#include <stdio.h>
#include <stdlib.h>

enum { FIELDS = 12, LONGEST = 8192 };

/* One vector: lines of a name and a value. */
static char names[FIELDS][32], values[FIELDS][LONGEST];
static int field_count;
static const char *file_name;
static int passed, failed, skipped;

static struct byway_line line;

static const char *field(const char *name) {
  int i;
  for (i = 0; i < field_count; i++) {
    if (!strcmp(names[i], name)) return values[i];
  }
  return NULL;
}

static void expect(int holds, const char *what) {
  if (holds) {
    passed++;
  } else {
    failed++;
    printf("%s: %s: %s\n", file_name, field("name"), what);
  }
}

static unsigned from_hex(const char *text, uint8_t *bytes) {
  unsigned count = 0, value;
  while (text && sscanf(text, "%2x", &value) == 1 && text[0] != ' ' && text[0] != ';') {
    bytes[count++] = (uint8_t)value;
    text += 2;
  }
  return count;
}

/* The number of a field of a frame, as "version=1"; other if it is not there. */
static long number_of(const char *frame, const char *name, int base, long other) {
  const char *at = strstr(frame, name);
  return at ? (long)strtoul(at + strlen(name), NULL, base) : other;
}

static uint8_t *body_runs(uint8_t *b, const char *frame) {
  const char *at = strstr(frame, "runs=");
  for (at = at ? at + 5 : ""; *at >= '0' && *at <= '9'; at += *at == ',') b = put_run(b, (unsigned)strtoul(at, (char **)&at, 10));
  return b;
}

/* The body of a frame that a vector describes. Returns its length. */
static unsigned body_of(const char *frame, uint8_t *body) {
  static const char *reasons[] = {"finished", "unknown", "aborted", "silence", "version", "both-dial"};
  uint8_t *b = body + 1;
  long next = number_of(frame, "next=", 10, -1), correction = number_of(frame, "correction=", 10, -1);
  if (!strncmp(frame, "hello", 5) || !strncmp(frame, "open", 4)) {
    int hello = frame[0] == 'h';
    body[0] = hello ? HELLO : OPEN;
    *b++ = (uint8_t)number_of(frame, "version=", 10, 0);
    if (!hello) b = put32(b, (uint32_t)number_of(frame, "session=", 16, 0));
    b = put32(b, (uint32_t)number_of(frame, "incarnation=", 16, 0));
    b = put16(b, (unsigned)number_of(frame, "largest=", 10, 0));
    if (!hello) b = put16(b, (unsigned)number_of(frame, "window=", 10, 0));
    if (correction >= 0) *b++ = (uint8_t)correction;
    if (strstr(frame, "streams=")) {
      *b++ = (uint8_t)number_of(frame, "streams=", 10, 0);
      *b++ = (uint8_t)number_of(frame, "credit=", 10, 0);
    }
  } else if (!strncmp(frame, "reset", 5)) {
    unsigned i = 0;
    body[0] = RESET;
    b = put32(b, (uint32_t)number_of(frame, "session=", 16, 0));
    while (strcmp(strstr(frame, "reason=") + 7, reasons[i])) i++;
    *b++ = (uint8_t)i;
  } else if (!strncmp(frame, "poll", 4)) {
    body[0] = POLL;
    b = put32(b, (uint32_t)number_of(frame, "session=", 16, 0));
    *b++ = (uint8_t)number_of(frame, "token=", 10, 0);
  } else if (!strncmp(frame, "noise", 5)) {
    body[0] = NOISE;
    *b++ = (uint8_t)number_of(frame, "level=", 10, 0);
  } else if (!strncmp(frame, "data", 4)) {
    const char *payload = strstr(frame, "payload=");
    body[0] = (uint8_t)(DATA | (next >= 0) | (strstr(frame, "last=yes") ? LAST : 0));
    b = put16(b, (unsigned)number_of(frame, "number=", 10, 0));
    if (next >= 0) b = put16(b, (unsigned)next);
    if (payload) b += from_hex(payload + 8, b);
  } else {
    body[0] = frame[1] == 'c' ? ACK : ANSWER;
    if (body[0] == ANSWER) {
      *b++ = (uint8_t)number_of(frame, "token=", 10, 0);
      *b++ = (uint8_t)number_of(frame, "delay=", 10, 0);
    }
    b = put16(put16(b, (unsigned)next), (unsigned)number_of(frame, "window=", 10, 0));
    b = body_runs(b, frame);
  }
  return (unsigned)(b - body);
}

/* A line with an open session, or one without if the seal is "-". */
static void set_session(const char *seal) {
  uint8_t name[8];
  byway_line_start(&line, BYWAY_LINE_LISTEN, 1, 0, 0);
  line.fresh = 0;
  if (from_hex(seal, name) != 8) return;
  begin(&line, get32(name), 0);
  line.incarnation = get32(name + 4);
  set_seal(&line);
  line.state = BYWAY_LINE_OPEN;
}

static void check_cobs(void) {
  static uint8_t plain[LONGEST], wire[LONGEST], room[LONGEST];
  unsigned length = from_hex(field("plain"), plain), expected = from_hex(field("wire"), wire), encoded;
  uint8_t *from = room + 1 + length / 254;
  memcpy(from, plain, length);
  encoded = byway_cobs_encode(room, from, length);
  expect(encoded + 1 == expected && !memcmp(room, wire, encoded), "encoding");
  expect(byway_cobs_decode(wire, expected - 1) == (int)length && !memcmp(wire, plain, length), "decoding");
}

static void check_frame(void) {
  static uint8_t wire[LONGEST], body[LONGEST];
  const uint8_t *start;
  unsigned expected = from_hex(field("wire"), wire), length;
  int decoded;
  if (field("needs") && atol(field("needs")) > BYWAY_LINE_PAYLOAD) {
    skipped++;
    return;
  }
  set_session(field("seal"));
  length = body_of(field("frame"), body);
  memcpy(line.out + BYWAY_LINE_LEAD, body, length);
  expect(wrap(&line, length, &start, 0) == expected && !memcmp(start, wire, expected), "encoding");
  decoded = byway_cobs_decode(wire, expected - 1);
  expect(decoded == (int)length + 4 && !memcmp(wire, body, length), "decoding");
  expect(check_of(&line, wire, length) == get32(wire + length), "check");
  expect(least_length(body[0]) && least_length(body[0]) <= length, "fields");
}

static void check_damaged(void) {
  uint8_t wire[LONGEST];
  unsigned count = from_hex(field("wire"), wire), i, start;
  int taken = 0;
  set_session(field("seal"));
  for (i = start = 0; i < count; i++) {
    int length;
    if (wire[i]) continue;
    length = byway_cobs_decode(wire + start, i - start);
    if (length >= 0) taken |= take_frame(&line, wire + start, (size_t)length, PLAIN, 0, 0);
    start = i + 1;
  }
  expect(!taken, "dropped");
}

static void check_stream(void) {
  static uint8_t body[LONGEST], expected[LONGEST], stream[LONGEST];
  unsigned length, count = from_hex(field("stream"), expected), got = 0;
  const char *at = field("frames");
  struct byway_line copy;
  uint8_t ack[64], state[64], *stop;
  set_session("1122334455667788");
  if (atoi(field("window")) < BYWAY_LINE_RECEIVE_UNITS) line.take_edge = (uint16_t)atoi(field("window"));
  while (at) {
    char one[LONGEST];
    const char *next = strchr(at, ';');
    snprintf(one, sizeof one, "%.*s", next ? (int)(next - at) : (int)strlen(at), at);
    length = body_of(one, body);
    take_data(&line, get16(body + 1), body + 3, length - 3, body[0] & LAST, 0);
    got += (unsigned)byway_line_read(&line, stream + got, sizeof stream - got);
    at = next ? next + 2 : NULL;
  }
  copy = line;
  stop = put_acknowledgement(&copy, ack);
  length = (unsigned)(body_runs(state, field("state")) - state);
  expect(get16(ack) == number_of(field("state"), "next=", 10, -1), "next");
  expect(stop - ack - 4 == (long)length && !memcmp(ack + 4, state, length), "runs");
  expect(take_done(&line) == (strstr(field("state"), "finished=yes") != NULL), "finished");
  expect(got == count && !memcmp(stream, expected, count), "stream");
}

#if BYWAY_LINE_CORRECTION
/* Corrects what was heard, and returns how many bytes, or -1. */
static int corrections(const uint8_t *heard, unsigned count, const uint8_t *body, unsigned length) {
  struct change changes[BYWAY_LINE_MOST_WRONG * BYWAY_LINE_WORDS];
  unsigned i;
  int fixed;
  for (i = 0; i < count && !line.frame_need; i++) {
    take_frame_byte(&line, heard[i], 0);
    find_frame(&line, 0);
  }
  if (!line.frame_need || line.frame_need > count - i) return -1;
  memcpy(line.frame, heard + i, line.frame_need);
  fixed = correct_frame(&line, changes);
  if (fixed < 0 || line.frame_body != length + 4 || memcmp(line.frame, body, length)) return -1;
  if (check_of(&line, body, length) != get32(line.frame + length)) return -1;
  return fixed + (int)line.noise_wrong;
}

static void check_corrected(void) {
  static uint8_t wire[LONGEST], heard[LONGEST], body[LONGEST];
  const uint8_t *start;
  unsigned strength = (unsigned)atoi(field("strength")), expected = from_hex(field("wire"), wire), length;
  const char *frame = field("frame");
  int copy = frame[0] == 'h' || frame[0] == 'o', corrected = strcmp(field("corrected"), "no") ? atoi(field("corrected")) : -1;
  length = body_of(frame, body);
  if (strength >= BYWAY_LINE_CORRECTION || length + 4 > BYWAY_LINE_BODY) {
    skipped++;
    return;
  }
  set_session(copy ? "-" : field("seal"));
  memcpy(line.out + BYWAY_LINE_LEAD, body, length);
  length = wrap_corrected(&line, length, strength, copy, &start);
  expect(length <= expected && !memcmp(start, wire, length), "encoding");
  length = body_of(frame, body);
  expect(corrections(heard, from_hex(field("heard"), heard), body, length) == corrected, "correction");
}
#else
static void check_corrected(void) { skipped++; }
#endif

static void check_file(const char *folder, const char *name, void (*check)(void)) {
  static char text[LONGEST + 64];
  FILE *file;
  int more = 1;
  snprintf(text, sizeof text, "%s/%s", folder, name);
  file_name = name;
  file = fopen(text, "r");
  if (!file) {
    perror(text);
    exit(2);
  }
  while (more) {
    char *colon;
    more = fgets(text, sizeof text, file) != NULL;
    if (more) text[strcspn(text, "\n")] = 0;
    if (!more || !text[0]) {
      if (field("name")) check();
      field_count = 0;
    } else if (text[0] != '#' && (colon = strchr(text, ':')) && field_count < FIELDS) {
      snprintf(names[field_count], sizeof names[0], "%.*s", (int)(colon - text), text);
      snprintf(values[field_count++], sizeof values[0], "%s", colon[1] ? colon + 2 : "");
    }
  }
  fclose(file);
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : "../../Tests/LineLayerTests/Vectors";
  check_file(folder, "cobs.txt", check_cobs);
  check_file(folder, "frames.txt", check_frame);
  check_file(folder, "damaged.txt", check_damaged);
  check_file(folder, "streams.txt", check_stream);
  check_file(folder, "corrected.txt", check_corrected);
  printf("vectors: %d comparisons hold, %d fail, %d vectors are for larger ends\n", passed, failed, skipped);
  return failed != 0 || passed < 150;
}
