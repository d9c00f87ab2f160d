/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The server of byway.h: HTTP/1.1 (RFC 9110, RFC 9112) on a session of the line, one request at a time. */
#include "byway.h"

#include <string.h>

/* What is expected next of the request. */
enum { START_LINE, FIELDS, HEAD_DONE, BODY, CHUNK_SIZE, CHUNK_EXTENSION, CHUNK, CHUNK_END, TRAILERS, BODY_DONE, COMPLETE, REFUSED, OVER };

/* The answer. From CONTENT on it has begun: the kit sends bytes, or the service a known length, chunks, or until the end. */
enum { NO_REQUEST, UNANSWERED, CONTENT, KNOWN, CHUNKED, UNTIL_END, ANSWERED };

enum { HAS_LENGTH = 1, HAS_CHUNKS = 2, HAS_HOST = 4, CONTINUE = 8, CLOSE = 16, OLD = 32, NO_BODY = 64, TOO_LONG = 128, HALF = 256 };

enum {
  FIELD_ROOM = 48,  /* free bytes of head that the names and values of HTTP's own fields need */
  MOST_HEAD = 8192, /* bytes of a head, dropped ones included */
  FIXED = 80,       /* the largest head of an answer without the service's type and fields */
  INTERIM = 32      /* "100 Continue" in units */
};

static void write_text(struct byway *b, const char *text) { byway_line_write(&b->line, text, strlen(text)); }

static void write_number(struct byway *b, uint32_t number, unsigned base) {
  char digits[10];
  unsigned at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number);
  byway_line_write(&b->line, digits + at, sizeof digits - at);
}

/* ---- Answers ---- */

int byway_answering(const struct byway *b) { return b->answer >= CONTENT && b->answer < ANSWERED; }

int byway_answer(struct byway *b, unsigned status, const char *type, uint32_t length, const char *fields) {
  size_t own = (type ? strlen(type) : 0) + (fields ? strlen(fields) : 0);
  int bodiless = status == 204 || status == 304;
  if (b->answer != UNANSWERED || own > BYWAY_ANSWER_FIELDS || byway_line_room(&b->line) < FIXED + own) return 0;
  b->answer = length != BYWAY_UNKNOWN_LENGTH ? KNOWN : b->flags & OLD ? UNTIL_END : CHUNKED;
  if (b->answer == UNTIL_END) b->flags |= CLOSE;
  write_text(b, "HTTP/1.1 ");
  write_number(b, status, 10);
  write_text(b, " \r\n");
  if (type) {
    write_text(b, "Content-Type: ");
    write_text(b, type);
    write_text(b, "\r\n");
  }
  if (b->answer == KNOWN && !bodiless) {
    write_text(b, "Content-Length: ");
    write_number(b, length, 10);
    write_text(b, "\r\n");
  }
  if (b->answer == CHUNKED && !bodiless) write_text(b, "Transfer-Encoding: chunked\r\n");
  if (b->flags & CLOSE) write_text(b, "Connection: close\r\n");
  if (fields) write_text(b, fields);
  write_text(b, "\r\n");
  if (bodiless || b->method == BYWAY_HEAD_ONLY) b->flags |= NO_BODY;
  b->content_left = length;
  if (b->answer == KNOWN && (length == 0 || b->flags & NO_BODY)) b->answer = ANSWERED;
  return 1;
}

int byway_answer_with(struct byway *b, unsigned status, const char *type, const void *bytes, uint32_t count, const char *fields) {
  if (!byway_answer(b, status, type, count, fields)) return 0;
  b->content = bytes;
  if (b->answer == KNOWN) b->answer = CONTENT;
  return 1;
}

/* What a chunk has around its bytes. */
enum { CHUNK_LINES = 8, MOST_CHUNK = 0xFFF, LAST_CHUNK = 5 };

size_t byway_room(const struct byway *b) {
  size_t room = byway_line_room(&b->line);
  if (b->answer == KNOWN) return room < b->content_left ? room : b->content_left;
  if (b->answer == UNTIL_END) return room;
  if (b->answer != CHUNKED || room < CHUNK_LINES) return 0;
  return room - CHUNK_LINES < MOST_CHUNK ? room - CHUNK_LINES : MOST_CHUNK;
}

size_t byway_send(struct byway *b, const void *bytes, size_t count) {
  size_t room = byway_room(b);
  if (count > room) count = room;
  if (count == 0) return 0;
  if (!(b->flags & NO_BODY)) {
    if (b->answer == CHUNKED) {
      write_number(b, (uint32_t)count, 16);
      write_text(b, "\r\n");
    }
    byway_line_write(&b->line, bytes, count);
    if (b->answer == CHUNKED) write_text(b, "\r\n");
  }
  if (b->answer == KNOWN && (b->content_left -= (uint32_t)count) == 0) b->answer = ANSWERED;
  return count;
}

int byway_end(struct byway *b) {
  if (b->answer == CHUNKED && !(b->flags & NO_BODY)) {
    if (byway_line_room(&b->line) < LAST_CHUNK) return 0;
    write_text(b, "0\r\n\r\n");
  }
  if (b->answer == CHUNKED || b->answer == UNTIL_END) b->answer = ANSWERED;
  return b->answer == ANSWERED;
}

/* Sends what byway_answer_with was given. */
static void send_content(struct byway *b) {
  size_t count = byway_line_write(&b->line, b->content, b->content_left);
  b->content += count;
  b->content_left -= (uint32_t)count;
  if (b->content_left == 0) b->answer = ANSWERED;
}

/* ---- The head of a request ---- */

static void refuse(struct byway *b, unsigned status) {
  b->state = REFUSED;
  b->status = (uint16_t)status;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Whether a value is the word, in any case. */
static int is_word(const char *value, const char *word) {
  while (*word && lower(*value) == *word) value++, word++;
  return !*word && !*value;
}

/* Reads a number that takes the whole text. Returns 0 if it is none, or too large. */
static int read_number(const char *text, uint32_t *number) {
  uint32_t value = 0;
  if (!*text) return 0;
  for (; *text; text++) {
    unsigned digit = (unsigned)(*text - '0');
    if (digit > 9 || value > (BYWAY_UNKNOWN_LENGTH - 1 - digit) / 10) return 0;
    value = value * 10 + digit;
  }
  *number = value;
  return 1;
}

static const char methods[][8] = {"GET", "HEAD", "PUT", "POST", "DELETE"};

/* "GET /path HTTP/1.1": keeps the target at the beginning of head. */
static void take_start_line(struct byway *b, size_t length) {
  char *target = memchr(b->head, ' ', length), *version;
  if (!target || length < 9) return refuse(b, 400);
  version = b->head + length - 9;
  *target++ = 0;
  if (memcmp(version, " HTTP/1.", 8)) return refuse(b, memcmp(version, " HTTP/", 6) ? 400 : 505);
  if (version <= target || version[8] < '0' || version[8] > '9') return refuse(b, 400);
  if (version[8] == '0') b->flags |= OLD | CLOSE;
  *version = 0;
  for (b->method = 0; b->method < BYWAY_OTHER; b->method++) {
    if (!strcmp(b->head, methods[b->method])) break;
  }
  /* A client that takes this for a proxy sends the whole address. */
  if (!strncmp(target, "http://", 7)) target += strcspn(target + 7, "/?") + 7;
  if ((*target != '/' && *target != '*') || target[strcspn(target, " \t")]) return refuse(b, 400);
  b->head_count = (uint16_t)(version + 1 - target);
  memmove(b->head, target, b->head_count);
  b->state = FIELDS;
}

/* A field of HTTP's own. Returns a status if it cannot be accepted. */
static unsigned take_own_field(struct byway *b, const char *name, const char *value) {
  uint32_t length;
  if (!strcmp(name, "content-length")) {
    if (!read_number(value, &length) || (b->flags & HAS_LENGTH && length != b->body_left)) return 400;
    b->body_left = length;
    b->flags |= HAS_LENGTH;
  } else if (!strcmp(name, "transfer-encoding")) {
    if (b->flags & HAS_CHUNKS) return 400;
    if (!is_word(value, "chunked")) return 501;
    b->flags |= HAS_CHUNKS;
  } else if (!strcmp(name, "host")) {
    if (b->flags & HAS_HOST) return 400;
    b->flags |= HAS_HOST;
  } else if (!strcmp(name, "expect")) {
    if (!is_word(value, "100-continue")) return 417;
    b->flags |= CONTINUE;
  } else if (!strcmp(name, "connection")) {
    if (is_word(value, "close")) b->flags |= CLOSE;
  }
  return 0;
}

static int is_wanted(const struct byway *b, const char *name) {
  const char *const *wanted = b->wanted;
  while (wanted && *wanted && strcmp(*wanted, name)) wanted++;
  return wanted && *wanted;
}

/* Whether HTTP or the service needs the field, so that it must not be dropped. */
static int is_needed(const struct byway *b, const char *name) {
  return !strcmp(name, "content-length") || !strcmp(name, "transfer-encoding") || !strcmp(name, "expect") || is_wanted(b, name);
}

/* "Name: value": keeps both if the service wants the field. */
static void take_field(struct byway *b, size_t length) {
  char *name = b->head + b->line_start, *colon = memchr(name, ':', length), *value, *stop = name + length, *c;
  unsigned status;
  if (!colon) {
    /* A name as long as this is none of HTTP's own. */
    if (b->flags & TOO_LONG) b->head_count = b->line_start;
    else refuse(b, 400);
    return;
  }
  for (c = name; c < colon; c++) {
    if (*c == ' ' || *c == '\t') return refuse(b, 400);
    *c = lower(*c);
  }
  if (colon == name) return refuse(b, 400);
  *colon = 0;
  b->head_count = b->line_start;
  if (b->flags & TOO_LONG) {
    if (is_needed(b, name)) return refuse(b, 431);
    if (!strcmp(name, "host")) b->flags |= HAS_HOST;
    return;
  }
  value = colon + 1;
  while (value < stop && (*value == ' ' || *value == '\t')) value++;
  while (value < stop && (stop[-1] == ' ' || stop[-1] == '\t')) stop--;
  *stop = 0;
  status = take_own_field(b, name, value);
  if (status) return refuse(b, status);
  if (!is_wanted(b, name)) return;
  memmove(colon + 1, value, (size_t)(stop - value) + 1);
  b->head_count = (uint16_t)(b->line_start + (colon - name) + 1 + (stop - value) + 1);
}

/* The blank line behind the fields. */
static void end_head(struct byway *b) {
  if ((b->flags & HAS_CHUNKS && b->flags & (HAS_LENGTH | OLD)) || !(b->flags & (HAS_HOST | OLD))) return refuse(b, 400);
  b->state = HEAD_DONE;
}

/* A line of the head is complete, from line_start to head_count. */
static void take_line(struct byway *b) {
  size_t length = (size_t)(b->head_count - b->line_start);
  if (length && b->head[b->head_count - 1] == '\r') length--;
  if (memchr(b->head + b->line_start, '\r', length)) return refuse(b, 400);
  if (b->state == START_LINE) {
    if (length == 0 && !(b->flags & TOO_LONG)) b->head_count = 0; /* RFC 9112, section 2.2 */
    else if (b->flags & TOO_LONG) refuse(b, 414);
    else take_start_line(b, length);
  } else if (length == 0 && !(b->flags & TOO_LONG)) {
    b->head_count = b->line_start;
    end_head(b);
  } else {
    take_field(b, length);
  }
  b->line_start = b->head_count;
  b->flags &= (uint16_t)~TOO_LONG;
  if (b->state == FIELDS && b->head_count + FIELD_ROOM > BYWAY_HEAD) refuse(b, 431);
}

static void take_head_byte(struct byway *b, uint8_t byte) {
  if (++b->head_size > MOST_HEAD) return refuse(b, 431);
  if (byte == '\n') return take_line(b);
  if ((byte < ' ' && byte != '\t' && byte != '\r') || byte == 0x7F) return refuse(b, 400);
  if (b->head_count + 1 < BYWAY_HEAD) b->head[b->head_count++] = (char)byte;
  else b->flags |= TOO_LONG;
}

const char *byway_field(const struct byway *b, const char *name) {
  const char *at = b->head, *stop = b->head + b->head_count;
  if (b->answer == NO_REQUEST) return NULL;
  at += strlen(at) + 1;
  while (at < stop) {
    const char *value = at + strlen(at) + 1;
    if (!strcmp(at, name)) return value;
    at = value + strlen(value) + 1;
  }
  return NULL;
}

/* ---- The body of a request ---- */

static int hex(uint8_t byte) {
  char c = lower((char)byte);
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A byte of the lines around chunks (RFC 9112, section 7.1). */
static void take_chunk_byte(struct byway *b, uint8_t byte) {
  if (++b->head_size > MOST_HEAD) return refuse(b, 400);
  if (b->state == CHUNK_SIZE && hex(byte) >= 0) {
    if (++b->digits > 7) return refuse(b, 413);
    b->body_left = b->body_left << 4 | (uint32_t)hex(byte);
  } else if (b->state == CHUNK_SIZE || b->state == CHUNK_EXTENSION) {
    if (b->digits == 0 || (b->state == CHUNK_SIZE && !strchr("\r\n; \t", byte)) || byte == 0) return refuse(b, 400);
    b->state = byte != '\n' ? CHUNK_EXTENSION : b->body_left ? CHUNK : TRAILERS;
    b->digits = b->state == CHUNK_EXTENSION;
  } else if (b->state == CHUNK_END) {
    if (byte == '\r' && !b->digits) {
      b->digits = 1;
    } else if (byte == '\n') {
      b->state = CHUNK_SIZE;
      b->digits = 0;
      b->head_size = 0;
    } else {
      refuse(b, 400);
    }
  } else if (byte == '\n') { /* TRAILERS, which are dropped */
    if (!b->digits) b->state = BODY_DONE;
    b->digits = 0;
  } else if (byte != '\r') {
    b->digits = 1;
  }
}

/* Bytes of the body. Returns how many were taken. */
static size_t take_body(struct byway *b, const uint8_t *bytes, size_t count) {
  if (count > b->body_left) count = b->body_left;
  if (b->answer < ANSWERED) {
    size_t taken = b->service(b, BYWAY_BODY, bytes, count);
    if (taken < count) count = taken;
  }
  b->body_left -= (uint32_t)count;
  if (b->body_left == 0) {
    b->state = b->state == BODY ? BODY_DONE : CHUNK_END;
    b->digits = 0;
  }
  return count;
}

/* ---- Requests and sessions ---- */

/* The next request begins. */
static void reset(struct byway *b) {
  b->state = START_LINE;
  b->answer = NO_REQUEST;
  b->flags = 0;
  b->digits = 0;
  b->status = b->head_count = b->line_start = b->head_size = 0;
  b->body_left = 0;
}

/* The request is over, and will not be answered. */
static void abandon(struct byway *b) {
  int told = b->answer != NO_REQUEST && b->answer != ANSWERED;
  b->state = OVER;
  b->answer = b->answer == NO_REQUEST ? NO_REQUEST : ANSWERED;
  if (told && !b->status) b->service(b, BYWAY_GONE, NULL, 0);
}

/* Whether the peer sends nothing more, and all is used. */
static int peer_ended(struct byway *b) {
  byway_line_read(&b->line, NULL, 0); /* takes an empty last unit */
  return b->staged_from == b->staged_to && byway_line_ended(&b->line);
}

/* The service learns of the request once its answer has room. */
static void begin_request(struct byway *b) {
  b->answer = UNANSWERED;
  b->state = b->flags & HAS_CHUNKS ? CHUNK_SIZE : b->body_left ? BODY : BODY_DONE;
  b->head_size = 0;
  if (peer_ended(b)) b->flags |= HALF;
  b->service(b, BYWAY_REQUEST, NULL, 0);
  if (b->flags & CONTINUE && b->answer == UNANSWERED && b->state != BODY_DONE) write_text(b, "HTTP/1.1 100 \r\n\r\n");
}

/* The kit's own answer to what it does not accept. It is the last of the session. */
static void answer_refused(struct byway *b) {
  if (b->answer > UNANSWERED) { /* too late for another */
    if (b->answer != ANSWERED) b->service(b, BYWAY_GONE, NULL, 0);
  } else {
    if (b->answer == UNANSWERED) b->service(b, BYWAY_GONE, NULL, 0);
    b->answer = UNANSWERED;
    b->flags |= CLOSE;
    byway_answer(b, b->status, NULL, 0, NULL);
  }
  b->answer = ANSWERED;
}

/* The request is complete and answered. */
static void end_request(struct byway *b, uint32_t now) {
  if (b->flags & CLOSE) {
    b->state = OVER;
    byway_line_leave(&b->line, now);
  } else {
    reset(b);
  }
}

/* Does one thing. Returns 0 if nothing can be done now. */
static int step(struct byway *b, uint32_t now) {
  int roomy = byway_line_room(&b->line) >= FIXED + BYWAY_ANSWER_FIELDS + INTERIM;
  uint8_t byte;
  if (b->answer == CONTENT) send_content(b);
  switch (b->state) {
  case OVER:
    return 0;
  case REFUSED:
    if (!roomy && b->answer <= UNANSWERED) return 0;
    answer_refused(b);
    b->flags |= CLOSE;
    end_request(b, now);
    return 1;
  case HEAD_DONE:
    if (!roomy) return 0;
    begin_request(b);
    return 1;
  case BODY_DONE:
    b->state = COMPLETE;
    if (b->answer != ANSWERED) b->service(b, BYWAY_END, NULL, 0);
    return 1;
  case COMPLETE:
    if (b->answer != ANSWERED) return 0;
    end_request(b, now);
    return 1;
  default:
    break;
  }
  if (b->staged_from == b->staged_to) {
    b->staged_from = 0;
    b->staged_to = (uint8_t)byway_line_read(&b->line, b->staged, sizeof b->staged);
    if (b->staged_to == 0) return 0;
  }
  if (b->state == BODY || b->state == CHUNK) {
    size_t count = take_body(b, b->staged + b->staged_from, (size_t)(b->staged_to - b->staged_from));
    b->staged_from = (uint8_t)(b->staged_from + count);
    return count > 0;
  }
  byte = b->staged[b->staged_from++];
  if (b->state < HEAD_DONE) take_head_byte(b, byte);
  else take_chunk_byte(b, byte);
  return 1;
}

/*
 * The peer's stream has ended. What it sent before is answered. If the end comes in the middle of an answer, nobody wants the rest: the
 * last frame stands for the end of the connection.
 */
static void end_session(struct byway *b, uint32_t now) {
  if (b->state == HEAD_DONE || b->state == REFUSED || (b->flags & HALF && b->state == COMPLETE)) return;
  abandon(b);
  byway_line_leave(&b->line, now);
}

static void serve(struct byway *b, uint32_t now) {
  if (byway_line_sessions(&b->line) != b->session) {
    abandon(b);
    reset(b);
    b->staged_from = b->staged_to = 0;
    b->session = byway_line_sessions(&b->line);
  }
  if (b->state == OVER) return;
  if (byway_line_state(&b->line) == BYWAY_LINE_NONE) return abandon(b);
  while (step(b, now)) {
  }
  if (b->answer > CONTENT && b->answer < ANSWERED && byway_room(b)) {
    b->service(b, BYWAY_ROOM, NULL, 0);
    while (step(b, now)) {
    }
  }
  if (b->state != OVER && peer_ended(b)) end_session(b, now);
}

/* ---- The end ---- */

void byway_start(struct byway *b, byway_service *service, const char *const *wanted, uint32_t random, uint32_t baud, uint32_t now) {
  reset(b);
  b->service = service;
  b->wanted = wanted;
  b->staged_from = b->staged_to = 0;
  b->session = 0;
  b->state = OVER;
  byway_line_start(&b->line, BYWAY_LINE_LISTEN, random, baud, now);
}

void byway_receive(struct byway *b, const uint8_t *bytes, size_t count, uint32_t now) {
  while (count) {
    size_t part = count < sizeof b->staged ? count : sizeof b->staged;
    byway_line_receive(&b->line, bytes, part, now);
    serve(b, now);
    bytes += part;
    count -= part;
  }
}

void byway_run(struct byway *b, uint32_t now) {
  byway_line_run(&b->line, now);
  serve(b, now);
}

size_t byway_output(struct byway *b, uint32_t now, const uint8_t **bytes) {
  byway_run(b, now);
  return byway_line_output(&b->line, now, bytes);
}

uint32_t byway_deadline(const struct byway *b, uint32_t now) { return byway_line_deadline(&b->line, now); }
