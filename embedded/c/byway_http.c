/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * The server of byway.h: HTTP/1.1 (RFC 9110, RFC 9112) on a session of the line. Without BYWAY_LINE_STREAMS it serves one request at a
 * time, and with it one in each stream of the session: section 13 of docs/wire-protocol.md.
 */
#include "byway.h"

#include <string.h>

/* The part of the request that is expected next. */
enum { START_LINE, FIELDS, HEAD_DONE, BODY, CHUNK_SIZE, CHUNK_EXTENSION, CHUNK, CHUNK_END, TRAILERS, BODY_DONE, COMPLETE, REFUSED, OVER };

/* The answer. From CONTENT on it has begun: the kit sends bytes, or the service a known length, chunks, or until the end. */
enum { NO_REQUEST, UNANSWERED, CONTENT, KNOWN, CHUNKED, UNTIL_END, ANSWERED };

enum {
  HAS_LENGTH = 1, HAS_CHUNKS = 2, HAS_HOST = 4, CONTINUE = 8, CLOSE = 16, OLD = 32, NO_BODY = 64, TOO_LONG = 128, HALF = 256,
  WANTS_ROOM = 512 /* byway_answer was called, and had no room */
};

enum {
  FIELD_ROOM = 48,  /* free bytes of head that the names and values of HTTP's own fields need */
  MOST_HEAD = 8192, /* bytes of a head, dropped ones included */
  FIXED = 80,       /* the largest head of an answer without the service's type and fields */
  INTERIM = 32,     /* "100 Continue" in units */
  HEAD_ROOM = FIXED + BYWAY_ANSWER_FIELDS + INTERIM
};

/* ---- Writing ---- */

#if BYWAY_LINE_STREAMS

/* The directions of a stream. From the client, and to it: what is owed, and what was sent. */
enum { FREE, TAKES, HAS_ENDED };
enum { SENDS, OWES_END, OWES_ABORT, SENT_END, SENT_ABORT };

enum { PIECE_DATA = 1, PIECE_END, PIECE_ABORT, PIECE_CREDIT };

enum {
  UNIT = 64,         /* of credit */
  MOST_PIECE = 255,
  PIECE_HEAD = 2,
  MOST_CREDIT = 65535,
  LEAST_CREDIT = 8,  /* units that a client must take at first: half of them and less may be left when the head of an answer is due */
  NOBODY = 255,
  /* The kit's own pieces, and how much waits on the line before they do, so that streams take turns. */
  CONTENT_PIECE = (BYWAY_LINE_PAYLOAD > 126 ? 254 : 126) - PIECE_HEAD,
  MOST_UNSENT = BYWAY_LINE_PAYLOAD
};

void byway_select(struct byway *b, unsigned number) {
  b->number = (uint8_t)number;
  b->request = &b->requests[number];
}

/* How many bytes the request can write at once. */
static size_t room_of(const struct byway *b) {
  const struct byway_request *r = b->request;
  size_t room = byway_line_room(&b->line);
  if (!b->streams) return room;
  if (r->output != SENDS || room < PIECE_HEAD || (b->waits != NOBODY && b->waits != b->number)) return 0;
  room -= PIECE_HEAD;
  if (room > r->credit) room = r->credit;
  return room < MOST_PIECE ? room : MOST_PIECE;
}

/* The next count bytes that are written are a piece of the request's stream. The room was checked. */
static void begin_piece(struct byway *b, size_t count) {
  uint8_t head[PIECE_HEAD] = {(uint8_t)(PIECE_DATA << 4 | b->number), (uint8_t)count};
  if (!b->streams || !count) return;
  byway_line_write(&b->line, head, sizeof head);
  b->request->credit = (uint16_t)(b->request->credit - count);
}

static void write_bytes(struct byway *b, const void *bytes, size_t count) {
  if (b->counting) b->counted = (uint8_t)(b->counted + count);
  else byway_line_write(&b->line, bytes, count);
}

/* Whether the request can write the largest head of an answer. If only the line has no room, others wait until this one has written. */
static int is_roomy(struct byway *b) {
  if (room_of(b) >= HEAD_ROOM) return 1;
  if (b->waits == NOBODY && b->request->output == SENDS && b->request->credit >= HEAD_ROOM) b->waits = b->number;
  return 0;
}

/* Whether the request may write more of its body in this turn. */
static int has_turn(const struct byway *b) { return !b->streams || byway_line_unsent(&b->line) < MOST_UNSENT; }

/* Calls the service, which may select other requests. */
static size_t tell(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  unsigned number = b->number;
  count = b->service(b, event, bytes, count);
  byway_select(b, number);
  return count;
}

/* Nothing more is written for the request. */
static void leave(struct byway *b, uint32_t now) {
  if (!b->streams) byway_line_leave(&b->line, now);
  else if (b->request->output == SENDS) b->request->output = OWES_END;
}

#else

#define room_of(b) byway_line_room(&(b)->line)
#define begin_piece(b, count) ((void)0)
#define write_bytes(b, bytes, count) byway_line_write(&(b)->line, bytes, count)
#define is_roomy(b) (byway_line_room(&(b)->line) >= HEAD_ROOM)
#define has_turn(b) 1
#define tell(b, event, bytes, count) (b)->service(b, event, bytes, count)
#define leave(b, now) byway_line_leave(&(b)->line, now)

#endif

static void write_text(struct byway *b, const char *text) { write_bytes(b, text, strlen(text)); }

static void write_number(struct byway *b, uint32_t number, unsigned base) {
  char digits[10];
  unsigned at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number);
  write_bytes(b, digits + at, sizeof digits - at);
}

/* ---- Answers ---- */

int byway_answering(const struct byway *b) { return b->request->answer >= CONTENT && b->request->answer < ANSWERED; }

static inline void write_head(struct byway *b, unsigned status, const char *type, uint32_t length, const char *fields) {
  struct byway_request *r = b->request;
  int bodiless = status == 204 || status == 304;
  write_text(b, "HTTP/1.1 ");
  write_number(b, status, 10);
  write_text(b, " \r\n");
  if (type) {
    write_text(b, "Content-Type: ");
    write_text(b, type);
    write_text(b, "\r\n");
  }
  if (r->answer == KNOWN && !bodiless) {
    write_text(b, "Content-Length: ");
    write_number(b, length, 10);
    write_text(b, "\r\n");
  }
  if (r->answer == CHUNKED && !bodiless) write_text(b, "Transfer-Encoding: chunked\r\n");
  if (r->flags & CLOSE) write_text(b, "Connection: close\r\n");
  if (fields) write_text(b, fields);
  write_text(b, "\r\n");
  if (bodiless || r->method == BYWAY_HEAD_ONLY) r->flags |= NO_BODY;
}

int byway_answer(struct byway *b, unsigned status, const char *type, uint32_t length, const char *fields) {
  struct byway_request *r = b->request;
  size_t own = (type ? strlen(type) : 0) + (fields ? strlen(fields) : 0);
  if (r->answer != UNANSWERED || own > BYWAY_ANSWER_FIELDS) return 0;
  if (room_of(b) < FIXED + own) {
#if BYWAY_LINE_STREAMS
    r->flags |= WANTS_ROOM;
#endif
    return 0;
  }
  r->answer = length != BYWAY_UNKNOWN_LENGTH ? KNOWN : r->flags & OLD ? UNTIL_END : CHUNKED;
  if (r->answer == UNTIL_END) r->flags |= CLOSE;
#if BYWAY_LINE_STREAMS
  b->counting = 1;
  b->counted = 0;
  write_head(b, status, type, length, fields);
  b->counting = 0;
  begin_piece(b, b->counted);
#endif
  write_head(b, status, type, length, fields);
  r->content_left = length;
  if (r->answer == KNOWN && (length == 0 || r->flags & NO_BODY)) r->answer = ANSWERED;
  return 1;
}

int byway_answer_with(struct byway *b, unsigned status, const char *type, const void *bytes, uint32_t count, const char *fields) {
  struct byway_request *r = b->request;
  if (!byway_answer(b, status, type, count, fields)) return 0;
  r->content = bytes;
  if (r->answer == KNOWN) r->answer = CONTENT;
  return 1;
}

/* The most bytes around a chunk, and the most bytes in it. */
enum { CHUNK_LINES = 8, MOST_CHUNK = 0xFFF, LAST_CHUNK = 5 };

size_t byway_room(const struct byway *b) {
  const struct byway_request *r = b->request;
  size_t room = room_of(b);
  if (r->answer == KNOWN) return room < r->content_left ? room : r->content_left;
  if (r->answer == UNTIL_END) return room;
  if (r->answer != CHUNKED || room < CHUNK_LINES) return 0;
  return room - CHUNK_LINES < MOST_CHUNK ? room - CHUNK_LINES : MOST_CHUNK;
}

size_t byway_send(struct byway *b, const void *bytes, size_t count) {
  struct byway_request *r = b->request;
  size_t room = byway_room(b);
  if (count > room) count = room;
  if (count == 0) return 0;
  if (!(r->flags & NO_BODY)) {
    begin_piece(b, count + (r->answer == CHUNKED ? 5u + (count > 0xF) : 0u));
    if (r->answer == CHUNKED) {
      write_number(b, (uint32_t)count, 16);
      write_text(b, "\r\n");
    }
    write_bytes(b, bytes, count);
    if (r->answer == CHUNKED) write_text(b, "\r\n");
  }
  if (r->answer == KNOWN && (r->content_left -= (uint32_t)count) == 0) r->answer = ANSWERED;
  return count;
}

int byway_end(struct byway *b) {
  struct byway_request *r = b->request;
  if (r->answer == CHUNKED && !(r->flags & NO_BODY)) {
    if (room_of(b) < LAST_CHUNK) return 0;
    begin_piece(b, LAST_CHUNK);
    write_text(b, "0\r\n\r\n");
  }
  if (r->answer == CHUNKED || r->answer == UNTIL_END) r->answer = ANSWERED;
  return r->answer == ANSWERED;
}

/* Sends what byway_answer_with was given. */
static void send_content(struct byway *b) {
  struct byway_request *r = b->request;
#if BYWAY_LINE_STREAMS
  size_t count = room_of(b);
  if (b->streams && count > CONTENT_PIECE) count = CONTENT_PIECE;
  if (count > r->content_left) count = r->content_left;
  if (!has_turn(b)) return;
  begin_piece(b, count);
  write_bytes(b, r->content, count);
#else
  size_t count = byway_line_write(&b->line, r->content, r->content_left);
#endif
  r->content += count;
  r->content_left -= (uint32_t)count;
  if (r->content_left == 0) r->answer = ANSWERED;
}

/* ---- The head of a request ---- */

static void refuse(struct byway *b, unsigned status) {
  struct byway_request *r = b->request;
  r->state = REFUSED;
  r->status = (uint16_t)status;
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
  struct byway_request *r = b->request;
  char *target = memchr(r->head, ' ', length), *version;
  if (!target || length < 9) return refuse(b, 400);
  version = r->head + length - 9;
  *target++ = 0;
  if (memcmp(version, " HTTP/1.", 8)) return refuse(b, memcmp(version, " HTTP/", 6) ? 400 : 505);
  if (version <= target || version[8] < '0' || version[8] > '9') return refuse(b, 400);
  if (version[8] == '0') r->flags |= OLD | CLOSE;
  *version = 0;
  for (r->method = 0; r->method < BYWAY_OTHER; r->method++) {
    if (!strcmp(r->head, methods[r->method])) break;
  }
  /* A client that takes this for a proxy sends the whole address. */
  if (!strncmp(target, "http://", 7)) target += strcspn(target + 7, "/?") + 7;
  if ((*target != '/' && *target != '*') || target[strcspn(target, " \t")]) return refuse(b, 400);
  r->head_count = (uint16_t)(version + 1 - target);
  memmove(r->head, target, r->head_count);
  r->state = FIELDS;
}

/* A field of HTTP's own. Returns a status if it cannot be accepted. */
static unsigned take_own_field(struct byway *b, const char *name, const char *value) {
  struct byway_request *r = b->request;
  uint32_t length;
  if (!strcmp(name, "content-length")) {
    if (!read_number(value, &length) || (r->flags & HAS_LENGTH && length != r->body_left)) return 400;
    r->body_left = length;
    r->flags |= HAS_LENGTH;
  } else if (!strcmp(name, "transfer-encoding")) {
    if (r->flags & HAS_CHUNKS) return 400;
    if (!is_word(value, "chunked")) return 501;
    r->flags |= HAS_CHUNKS;
  } else if (!strcmp(name, "host")) {
    if (r->flags & HAS_HOST) return 400;
    r->flags |= HAS_HOST;
  } else if (!strcmp(name, "expect")) {
    if (!is_word(value, "100-continue")) return 417;
    r->flags |= CONTINUE;
  } else if (!strcmp(name, "connection")) {
    if (is_word(value, "close")) r->flags |= CLOSE;
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
  struct byway_request *r = b->request;
  char *name = r->head + r->line_start, *colon = memchr(name, ':', length), *value, *stop = name + length, *c;
  unsigned status;
  if (!colon) {
    /* A name as long as this is none of HTTP's own. */
    if (r->flags & TOO_LONG) r->head_count = r->line_start;
    else refuse(b, 400);
    return;
  }
  for (c = name; c < colon; c++) {
    if (*c == ' ' || *c == '\t') return refuse(b, 400);
    *c = lower(*c);
  }
  if (colon == name) return refuse(b, 400);
  *colon = 0;
  r->head_count = r->line_start;
  if (r->flags & TOO_LONG) {
    if (is_needed(b, name)) return refuse(b, 431);
    if (!strcmp(name, "host")) r->flags |= HAS_HOST;
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
  r->head_count = (uint16_t)(r->line_start + (colon - name) + 1 + (stop - value) + 1);
}

/* The blank line behind the fields. */
static void end_head(struct byway *b) {
  struct byway_request *r = b->request;
  if ((r->flags & HAS_CHUNKS && r->flags & (HAS_LENGTH | OLD)) || !(r->flags & (HAS_HOST | OLD))) return refuse(b, 400);
  r->state = HEAD_DONE;
}

/* A line of the head is complete, from line_start to head_count. */
static void take_line(struct byway *b) {
  struct byway_request *r = b->request;
  size_t length = (size_t)(r->head_count - r->line_start);
  if (length && r->head[r->head_count - 1] == '\r') length--;
  if (memchr(r->head + r->line_start, '\r', length)) return refuse(b, 400);
  if (r->state == START_LINE) {
    if (length == 0 && !(r->flags & TOO_LONG)) r->head_count = 0; /* RFC 9112, section 2.2 */
    else if (r->flags & TOO_LONG) refuse(b, 414);
    else take_start_line(b, length);
  } else if (length == 0 && !(r->flags & TOO_LONG)) {
    r->head_count = r->line_start;
    end_head(b);
  } else {
    take_field(b, length);
  }
  r->line_start = r->head_count;
  r->flags &= (uint16_t)~TOO_LONG;
  if (r->state == FIELDS && r->head_count + FIELD_ROOM > BYWAY_HEAD) refuse(b, 431);
}

static void take_head_byte(struct byway *b, uint8_t byte) {
  struct byway_request *r = b->request;
  if (++r->head_size > MOST_HEAD) return refuse(b, 431);
  if (byte == '\n') return take_line(b);
  if ((byte < ' ' && byte != '\t' && byte != '\r') || byte == 0x7F) return refuse(b, 400);
  if (r->head_count + 1 < BYWAY_HEAD) r->head[r->head_count++] = (char)byte;
  else r->flags |= TOO_LONG;
}

const char *byway_field(const struct byway *b, const char *name) {
  const struct byway_request *r = b->request;
  const char *at = r->head, *stop = r->head + r->head_count;
  if (r->answer == NO_REQUEST) return NULL;
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
  struct byway_request *r = b->request;
  if (++r->head_size > MOST_HEAD) return refuse(b, 400);
  if (r->state == CHUNK_SIZE && hex(byte) >= 0) {
    if (++r->digits > 7) return refuse(b, 413);
    r->body_left = r->body_left << 4 | (uint32_t)hex(byte);
  } else if (r->state == CHUNK_SIZE || r->state == CHUNK_EXTENSION) {
    if (r->digits == 0 || (r->state == CHUNK_SIZE && !strchr("\r\n; \t", byte)) || byte == 0) return refuse(b, 400);
    r->state = byte != '\n' ? CHUNK_EXTENSION : r->body_left ? CHUNK : TRAILERS;
    r->digits = r->state == CHUNK_EXTENSION;
  } else if (r->state == CHUNK_END) {
    if (byte == '\r' && !r->digits) {
      r->digits = 1;
    } else if (byte == '\n') {
      r->state = CHUNK_SIZE;
      r->digits = 0;
      r->head_size = 0;
    } else {
      refuse(b, 400);
    }
  } else if (byte == '\n') { /* TRAILERS, which are dropped */
    if (!r->digits) r->state = BODY_DONE;
    r->digits = 0;
  } else if (byte != '\r') {
    r->digits = 1;
  }
}

/* Bytes of the body. Returns how many were taken. */
static size_t take_body(struct byway *b, const uint8_t *bytes, size_t count) {
  struct byway_request *r = b->request;
  if (count > r->body_left) count = r->body_left;
  if (r->answer < ANSWERED) {
    size_t taken = tell(b, BYWAY_BODY, bytes, count);
    if (taken < count) count = taken;
  }
  r->body_left -= (uint32_t)count;
  if (r->body_left == 0) {
    r->state = r->state == BODY ? BODY_DONE : CHUNK_END;
    r->digits = 0;
  }
  return count;
}

/* ---- Requests and sessions ---- */

/* The next request begins. */
static void reset(struct byway *b) {
  struct byway_request *r = b->request;
  r->state = START_LINE;
  r->answer = NO_REQUEST;
  r->flags = 0;
  r->digits = 0;
  r->status = r->head_count = r->line_start = r->head_size = 0;
  r->body_left = 0;
}

/* The request is over, and will not be answered. */
static void abandon(struct byway *b) {
  struct byway_request *r = b->request;
  int told = r->answer != NO_REQUEST && r->answer != ANSWERED;
  r->state = OVER;
  r->answer = r->answer == NO_REQUEST ? NO_REQUEST : ANSWERED;
  if (told && !r->status) tell(b, BYWAY_GONE, NULL, 0);
}

/* Whether the peer sends nothing more, and all is used. */
static int peer_ended(struct byway *b) {
  struct byway_request *r = b->request;
#if BYWAY_LINE_STREAMS
  if (b->streams) return r->staged_from == r->staged_to && r->input == HAS_ENDED;
#endif
  byway_line_read(&b->line, NULL, 0); /* takes an empty last unit */
  return r->staged_from == r->staged_to && byway_line_ended(&b->line);
}

/* The service learns of the request once its answer has room. */
static void begin_request(struct byway *b) {
  struct byway_request *r = b->request;
  r->answer = UNANSWERED;
  r->state = r->flags & HAS_CHUNKS ? CHUNK_SIZE : r->body_left ? BODY : BODY_DONE;
  r->head_size = 0;
  if (peer_ended(b)) r->flags |= HALF;
  tell(b, BYWAY_REQUEST, NULL, 0);
  if (r->flags & CONTINUE && r->answer == UNANSWERED && r->state != BODY_DONE) {
    begin_piece(b, 17);
    write_text(b, "HTTP/1.1 100 \r\n\r\n");
  }
}

/* The kit's own answer to what it does not accept. It is the last of the session. */
static void answer_refused(struct byway *b) {
  struct byway_request *r = b->request;
  if (r->answer > UNANSWERED) { /* too late for another */
    if (r->answer != ANSWERED) tell(b, BYWAY_GONE, NULL, 0);
  } else {
    if (r->answer == UNANSWERED) tell(b, BYWAY_GONE, NULL, 0);
    r->answer = UNANSWERED;
    r->flags |= CLOSE;
    byway_answer(b, r->status, NULL, 0, NULL);
  }
  r->answer = ANSWERED;
}

/* The request is complete and answered. */
static void end_request(struct byway *b, uint32_t now) {
  struct byway_request *r = b->request;
  if (r->flags & CLOSE) {
    r->state = OVER;
    leave(b, now);
  } else {
    reset(b);
  }
}

/* Whether the head of an answer may be written in this step. Without streams nothing else has used its room up at the end of the body. */
static inline int may_answer(const struct byway_request *r) {
#if BYWAY_LINE_STREAMS
  if (r->state == BODY_DONE && r->answer == UNANSWERED) return 1;
#endif
  return r->state == HEAD_DONE || (r->state == REFUSED && r->answer <= UNANSWERED);
}

/* Takes more of the request. The bytes of a stream are there already. */
static inline void stage(struct byway *b) {
  struct byway_request *r = b->request;
#if BYWAY_LINE_STREAMS
  r->staged_from = r->staged_to = 0;
  if (b->streams) return;
#endif
  r->staged_from = 0;
  r->staged_to = (byway_staged)byway_line_read(&b->line, r->staged, sizeof r->staged);
}

/* Does one thing. Returns 0 if nothing can be done now. */
static int step(struct byway *b, uint32_t now) {
  struct byway_request *r = b->request;
  uint8_t byte;
  if (r->answer == CONTENT) send_content(b);
  if (may_answer(r) && !is_roomy(b)) return 0;
  switch (r->state) {
  case OVER:
    return 0;
  case REFUSED:
    answer_refused(b);
    r->flags |= CLOSE;
    end_request(b, now);
    return 1;
  case HEAD_DONE:
    begin_request(b);
    return 1;
  case BODY_DONE:
    r->state = COMPLETE;
    if (r->answer != ANSWERED) tell(b, BYWAY_END, NULL, 0);
    return 1;
  case COMPLETE:
    if (r->answer != ANSWERED) return 0;
    end_request(b, now);
    return 1;
  default:
    break;
  }
  if (r->staged_from == r->staged_to) {
    stage(b);
    if (r->staged_to == 0) return 0;
  }
  if (r->state == BODY || r->state == CHUNK) {
    size_t count = take_body(b, r->staged + r->staged_from, (size_t)(r->staged_to - r->staged_from));
    r->staged_from = (byway_staged)(r->staged_from + count);
    return count > 0;
  }
  byte = r->staged[r->staged_from++];
  if (r->state < HEAD_DONE) take_head_byte(b, byte);
  else take_chunk_byte(b, byte);
  return 1;
}

/*
 * Handles the end of the peer's stream. Requests before it are answered. If the end comes in the middle of an answer, the rest is dropped,
 * because the end stands for the end of the connection.
 */
static void end_session(struct byway *b, uint32_t now) {
  struct byway_request *r = b->request;
  if (r->state == HEAD_DONE || r->state == REFUSED || (r->flags & HALF && r->state == COMPLETE)) return;
#if BYWAY_LINE_STREAMS
  if (b->streams && byway_answering(b)) r->output = OWES_ABORT;
#endif
  abandon(b);
  leave(b, now);
}

/* Serves the request as far as it goes now. */
static inline void serve_request(struct byway *b, uint32_t now) {
  struct byway_request *r = b->request;
  while (step(b, now)) {
  }
#if BYWAY_LINE_STREAMS
  if (r->flags & WANTS_ROOM && (r->answer != UNANSWERED || is_roomy(b))) {
    r->flags &= (uint16_t)~WANTS_ROOM;
    if (r->answer == UNANSWERED) tell(b, BYWAY_ROOM, NULL, 0);
    while (step(b, now)) {
    }
  }
#endif
  if (r->answer > CONTENT && r->answer < ANSWERED && has_turn(b) && byway_room(b)) {
    tell(b, BYWAY_ROOM, NULL, 0);
    while (step(b, now)) {
    }
  }
  if (r->state != OVER && peer_ended(b)) end_session(b, now);
}

#if BYWAY_LINE_STREAMS

/* ---- Streams (section 13) ---- */

/* The stream is free again when both directions have ended. */
static void free_if_over(struct byway_request *r) {
  if (r->input == HAS_ENDED && r->output >= SENT_END) r->input = FREE;
}

/* The client begins a stream. */
static void begin_stream(struct byway *b) {
  struct byway_request *r = b->request;
  reset(b);
  r->input = TAKES;
  r->output = SENDS;
  r->staged_from = r->staged_to = 0;
  r->credit = (uint16_t)byway_line_peer_credit(&b->line);
  r->granted = sizeof r->staged;
  if (r->credit < LEAST_CREDIT * UNIT) r->output = OWES_ABORT;
}

/* The client gives a stream up. */
static void take_abort(struct byway *b) {
  struct byway_request *r = b->request;
  if (r->input == FREE) return;
  abandon(b);
  r->input = HAS_ENDED;
  if (r->output < SENT_END) r->output = OWES_ABORT;
  free_if_over(r);
}

/* A piece's first byte. Returns 0 if it is not allowed. */
static int take_kind(struct byway *b, uint8_t byte) {
  struct byway_request *r;
  uint8_t kind = byte >> 4;
  if (kind < PIECE_DATA || kind > PIECE_CREDIT || (byte & 15) >= b->streams) return 0;
  byway_select(b, byte & 15);
  r = b->request;
  if (kind <= PIECE_END && r->input == FREE) begin_stream(b);
  if (kind <= PIECE_END && r->input == HAS_ENDED) return 0;
  if (kind == PIECE_ABORT) {
    take_abort(b);
  } else if (kind == PIECE_END) {
    r->input = HAS_ENDED;
    free_if_over(r);
  } else {
    b->piece = byte;
  }
  return 1;
}

/* The second byte of DATA or CREDIT. Returns 0 if it is not allowed. */
static int take_count(struct byway *b, uint8_t count) {
  struct byway_request *r = b->request;
  if (count == 0) return 0;
  if (b->piece >> 4 == PIECE_DATA) {
    if (count > r->granted) return 0;
    b->piece_left = count;
    return 1;
  }
  b->piece = 0;
  if (r->input == FREE || r->output != SENDS) return 1;
  if (r->credit + (uint32_t)count * UNIT > MOST_CREDIT) return 0;
  r->credit = (uint16_t)(r->credit + count * UNIT);
  return 1;
}

/* Takes bytes of DATA. There is room for them, because they were granted. Bytes after the end of the answer are dropped. */
static size_t take_data(struct byway *b) {
  struct byway_request *r = b->request;
  size_t count;
  if (r->output != SENDS) r->staged_from = r->staged_to = 0;
  if (r->staged_from) {
    memmove(r->staged, r->staged + r->staged_from, (size_t)(r->staged_to - r->staged_from));
    r->staged_to = (uint16_t)(r->staged_to - r->staged_from);
    r->staged_from = 0;
  }
  count = sizeof r->staged - r->staged_to;
  count = byway_line_read(&b->line, r->staged + r->staged_to, count < b->piece_left ? count : b->piece_left);
  if (r->output == SENDS) r->staged_to = (uint16_t)(r->staged_to + count);
  r->granted = (uint16_t)(r->granted - count);
  b->piece_left = (uint8_t)(b->piece_left - count);
  if (b->piece_left == 0) b->piece = 0;
  return count;
}

/* Takes what has arrived. Returns 0 if the client has broken the protocol. */
static int take_pieces(struct byway *b) {
  uint8_t byte;
  for (;;) {
    byway_select(b, b->piece & 15);
    if (b->piece_left) {
      if (take_data(b) == 0) return 1;
    } else if (byway_line_read(&b->line, &byte, 1) == 0) {
      return 1;
    } else if (!(b->piece ? take_count(b, byte) : take_kind(b, byte))) {
      return 0;
    }
  }
}

/* Sends END, ABORT or CREDIT of the stream, if it is owed. */
static void send_control(struct byway *b) {
  struct byway_request *r = b->request;
  uint8_t piece[2] = {b->number, 0};
  unsigned units = (sizeof r->staged - r->granted - (unsigned)(r->staged_to - r->staged_from)) / UNIT;
  if (r->input == FREE || byway_line_room(&b->line) < sizeof piece) return;
  if (r->output == OWES_END || r->output == OWES_ABORT) {
    piece[0] |= (uint8_t)((r->output == OWES_END ? PIECE_END : PIECE_ABORT) << 4);
    r->output = r->output == OWES_END ? SENT_END : SENT_ABORT;
    byway_line_write(&b->line, piece, 1);
    free_if_over(r);
  } else if (r->output == SENDS && r->input == TAKES && units && units * UNIT * 2 >= sizeof r->staged) {
    piece[0] |= PIECE_CREDIT << 4;
    piece[1] = (uint8_t)units;
    r->granted = (uint16_t)(r->granted + units * UNIT);
    byway_line_write(&b->line, piece, sizeof piece);
  }
}

static void serve_streams(struct byway *b, uint32_t now) {
  unsigned i, first = b->turn;
  if (!take_pieces(b)) byway_line_abort(&b->line);
  if (byway_line_state(&b->line) == BYWAY_LINE_NONE || byway_line_ended(&b->line)) {
    for (i = 0; i < b->streams; i++) {
      byway_select(b, i);
      abandon(b);
    }
    b->streams = 0;
    byway_line_leave(&b->line, now);
    return;
  }
  for (i = 0; i < b->streams; i++) {
    byway_select(b, i);
    send_control(b);
  }
  b->waits = NOBODY;
  for (i = 0; i < b->streams; i++) {
    byway_select(b, (first + i) % b->streams);
    if (b->request->state != OVER) serve_request(b, now);
    send_control(b);
  }
  b->turn = (uint8_t)(b->waits != NOBODY ? b->waits : (first + 1u) % b->streams);
}

#endif

/* Ends the requests of the session before. */
static inline void begin_session(struct byway *b) {
#if BYWAY_LINE_STREAMS
  unsigned i;
  for (i = BYWAY_LINE_STREAMS; i--; ) {
    byway_select(b, i);
    abandon(b);
    b->request->input = FREE;
    b->request->staged_from = b->request->staged_to = 0;
  }
  b->streams = (uint8_t)byway_line_streams(&b->line);
  b->piece = b->piece_left = b->turn = 0;
  b->waits = NOBODY;
#else
  abandon(b);
  b->request->staged_from = b->request->staged_to = 0;
#endif
  reset(b);
  b->session = byway_line_sessions(&b->line);
}

static void serve(struct byway *b, uint32_t now) {
  if (byway_line_sessions(&b->line) != b->session) begin_session(b);
#if BYWAY_LINE_STREAMS
  if (b->streams) return serve_streams(b, now);
  byway_select(b, 0);
#endif
  if (b->request->state == OVER) return;
  if (byway_line_state(&b->line) == BYWAY_LINE_NONE) return abandon(b);
  serve_request(b, now);
}

/* ---- The end ---- */

void byway_start(struct byway *b, byway_service *service, const char *const *wanted, uint32_t random, uint32_t baud, uint32_t now) {
  b->service = service;
  b->wanted = wanted;
  b->session = 0;
#if BYWAY_LINE_STREAMS
  b->streams = b->counting = 0;
  memset(b->requests, 0, sizeof b->requests);
  for (b->number = BYWAY_LINE_STREAMS; b->number;) {
    byway_select(b, b->number - 1u);
    b->request->state = OVER;
  }
#else
  reset(b);
  b->request->staged_from = b->request->staged_to = 0;
  b->request->state = OVER;
#endif
  byway_line_start(&b->line, BYWAY_LINE_LISTEN, random, baud, now);
}

void byway_receive(struct byway *b, const uint8_t *bytes, size_t count, uint32_t now) {
  while (count) {
    size_t part = count < BYWAY_STAGED ? count : BYWAY_STAGED;
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
