/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Structured random input to a server, on a line with the rate of a real one and in virtual time:
 *
 *     recovery [--seconds N | --minutes N] [--rounds N] [--seed N]
 *
 * A round is one of two kinds. In a noisy one a peer asks, and the line damages, loses, repeats and delays what both ends send; what
 * arrives must be what was sent, and each request acts at most once. In a hostile one there are also frames with valid checks and
 * chosen fields, another dialer, and a service that does anything. After each round the line is good, and the server must answer a new
 * session within 2 s, or all requests of one that goes on within 5 s. With BYWAY_LINE_STREAMS the peer asks in all streams at once, and
 * grants and keeps to credit. The seed of a round that fails is printed. This file includes byway_line.c, whose inner functions make
 * frames.
 */
#define _DEFAULT_SOURCE /* setitimer */
#include "byway_line.c"

#include "byway.h"

#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

/*
 * A new session is answered within LIMIT. Requests under way may wait longer: for a question and then for a closed window, of a second
 * each, and for what else is lost on the way (section 6).
 */
enum { REQUESTS = BYWAY_LINE_STREAMS ? BYWAY_LINE_STREAMS : 1 };
enum { QUEUE = 4096, LIMIT = 2000, LIMIT_UNDER_WAY = 5000, ROUND_LIMIT = 20 };

/* One direction of the line. */
struct pipe {
  uint8_t bytes[QUEUE];
  size_t count;
  uint8_t kept[512]; /* an earlier frame, which may come again */
  size_t kept_count;
};

static struct byway server;
static struct byway_line peer, intruder, maker;
static struct pipe to_server, to_peer;
static uint64_t seed, state;
static uint32_t now, baud, credit;
static int honest, quiet, stalled, deaf;

/* Figures for the last line. */
static unsigned long rounds, frames_made, bytes_noise, answers, sessions;
static double hours;
static unsigned long late; /* rounds in which requests under way took more than LIMIT */
static uint32_t slowest, slowest_under_way;

static void tell_seed(void) {
  fprintf(stderr, "recovery: a check failed in the round with this seed. Repeat it with --rounds 1 --seed %llu\n", (unsigned long long)seed);
}

static void fail(const char *what, int at) {
  fprintf(stderr, "recovery.c:%d: this does not hold: %s\n", at, what);
  tell_seed();
  _Exit(1);
}

#define MUST(condition) do { if (!(condition)) fail(#condition, __LINE__); } while (0)
#include "calls.h"

static void takes_too_long(int signal) {
  (void)signal;
  fail("a round ends within 20 s", __LINE__);
}

/* A number below limit. */
static uint32_t any(uint32_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 20) % limit;
}

static void fill(uint8_t *bytes, size_t count) {
  while (count--) *bytes++ = (uint8_t)any(256);
}

/* ---- Requests and answers ---- */

static uint8_t pattern(uint32_t number, uint32_t at) { return (uint8_t)((number * 2654435761u + at * 40503u) >> 9); }

static uint32_t upload_size(uint32_t number) { return number % 3 == 1 ? number * 37 % 400 : 0; }

static uint32_t answer_size(uint32_t number) { return number % 2 ? number * 53 % 600 : 3; }

/* The requests that the service works on. */
static struct {
  uint32_t number, last, taken, sent;
  int busy, answered, later;
  uint8_t content[700];
} works[REQUESTS];

/* The work of the current request. */
#define work works[byway_current(&server)]
#define content works[byway_current(&server)].content

static uint8_t behaviour;

/* Whether the server's session is the peer's, and of a round, or its end, in which nothing forges frames. */
static int checked(void) { return honest && (!quiet || server.line.session == peer.session); }

static void answer(void) {
  unsigned i, size;
  int begun;
  work.later = 0;
  if (checked()) {
    size = answer_size(work.number);
    if (size == 3) {
      for (i = 0; i < size; i++) content[i] = pattern(work.number, i);
      begun = byway_answer_with(&server, 200, "text/plain", content, size, NULL);
    } else {
      begun = byway_answer(&server, 200, "text/plain", size, NULL);
    }
    if (!begun) work.later = 1;
  } else if (behaviour & 4) {
    begun = byway_answer_with(&server, behaviour & 1 ? 200 : 204, NULL, content, behaviour & 8 ? sizeof content : 3, NULL);
  } else {
    begun = byway_answer(&server, behaviour & 1 ? 200 : 404, "a/b", behaviour & 8 ? BYWAY_UNKNOWN_LENGTH : 64, behaviour & 2 ? "A: b\r\n" : NULL);
  }
  if (begun) {
    MUST(work.busy && !work.answered);
    work.answered = 1;
    work.sent = 0;
  }
}

static void send_more(void) {
  uint8_t bytes[64];
  uint32_t size = answer_size(work.number), i;
  size_t count = 1 + any(sizeof bytes);
  if (count > size - work.sent) count = size - work.sent;
  for (i = 0; i < count; i++) bytes[i] = pattern(work.number, work.sent + i);
  work.sent += (uint32_t)byway_send(&server, bytes, count);
}

static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  size_t i;
  check_call(b, event, bytes, count, work.busy, work.answered);
  switch (event) {
  case BYWAY_REQUEST:
    work.number = (uint32_t)strtoul(byway_target(b) + 1, NULL, 10);
    work.busy = 1;
    work.taken = 0;
    work.answered = work.later = 0;
    if (checked()) MUST(work.number > work.last); /* each acts at most once, in order */
    work.last = work.number;
    if (!checked() && behaviour & 16) answer();
    break;
  case BYWAY_BODY:
    if (!checked()) return behaviour & 32 ? count / 2 : count;
    for (i = 0; i < count; i++) MUST(bytes[i] == pattern(work.number, work.taken + (uint32_t)i));
    count = 1 + any((uint32_t)count);
    work.taken += (uint32_t)count;
    return count;
  case BYWAY_END:
    if (checked()) MUST(work.taken == upload_size(work.number));
    if (!quiet && any(4) == 0) work.later = 1;
    else if (!work.answered) answer();
    break;
  case BYWAY_ROOM:
    if (!work.answered) {
      MUST(REQUESTS > 1);
      answer();
      break;
    }
    MUST(byway_room(b) > 0);
    if (checked()) send_more();
    else if (behaviour & 64) byway_send(b, content, 50);
    else byway_end(b);
    break;
  case BYWAY_GONE:
    work.busy = work.answered = work.later = 0;
    break;
  }
  return 0;
}

/* The peer's requests in each stream: 1, 2, 3, … Those of a session that is over are not repeated. */
static struct asking {
  uint32_t stream;
  uint32_t next, wanted; /* to ask, to be answered */
  size_t granted, owed;  /* credit */
  int begun;
  char text[1024];       /* of the request that is being written */
  size_t length, written;
  char answer[1024];     /* as it must arrive */
  size_t answer_length, answer_read;
} askings[REQUESTS];

/* A request's number names its stream too. */
static uint32_t number_of(const struct asking *a, uint32_t count) { return REQUESTS == 1 ? count : 5 * count + a->stream; }

static void ask_next(struct asking *a) {
  uint32_t number = number_of(a, a->next++), size = upload_size(number), i;
  int length = snprintf(a->text, sizeof a->text, "%s /%u HTTP/1.1\r\nHost: a\r\n", size ? "PUT" : "GET", number);
  if (size) length += snprintf(a->text + length, sizeof a->text - (size_t)length, "Content-Length: %u\r\n", size);
  length += snprintf(a->text + length, sizeof a->text - (size_t)length, "\r\n");
  for (i = 0; i < size; i++) a->text[length++] = (char)pattern(number, i);
  a->length = (size_t)length;
  a->written = 0;
}

#if BYWAY_LINE_STREAMS
/* The piece that the peer reads. */
static uint8_t piece;
static size_t piece_left;

/* Room for a piece of some bytes. Without a known HELLO the peer does not know yet whether there are streams. */
static size_t room_for_piece(void) {
  size_t room = byway_line_room(&peer);
  return byway_line_state(&peer) < BYWAY_LINE_OPENING || room < 3 ? 0 : room - 2 < 255 ? room - 2 : 255;
}

static void write_part(struct asking *a, size_t count) {
  uint8_t head[2];
  if (!a->begun) a->granted = byway_line_peer_credit(&peer);
  if (count > a->granted) count = a->granted;
  if (count > room_for_piece()) count = room_for_piece();
  if (count == 0) return;
  head[0] = (uint8_t)(0x10 | a->stream);
  head[1] = (uint8_t)count;
  byway_line_write(&peer, head, 2);
  byway_line_write(&peer, a->text + a->written, count);
  a->begun = 1;
  a->granted -= count;
  a->written += count;
}

/* Grants what was read, sooner or later. */
static void grant(struct asking *a) {
  uint8_t bytes[2] = {(uint8_t)(0x40 | a->stream), (uint8_t)(a->owed / 64 < 255 ? a->owed / 64 : 255)};
  if (a->owed < (quiet ? 64 : 64 * (1 + any(100))) || room_for_piece() == 0) return;
  byway_line_write(&peer, bytes, 2);
  a->owed -= 64u * bytes[1];
}
#else
static void write_part(struct asking *a, size_t count) { a->written += byway_line_write(&peer, a->text + a->written, count); }
#endif

/* Writes some of the request. */
static void write_request(struct asking *a) {
  size_t left;
  if (a->written == a->length && a->next - a->wanted < 2) ask_next(a);
  left = a->length - a->written;
  if (left) write_part(a, quiet ? left : 1 + any((uint32_t)left));
}

static void expect(struct asking *a) {
  uint32_t number = number_of(a, a->wanted), size = answer_size(number), i;
  int length = snprintf(a->answer, sizeof a->answer, "HTTP/1.1 200 \r\nContent-Type: text/plain\r\n");
  length += snprintf(a->answer + length, sizeof a->answer - (size_t)length, "Content-Length: %u\r\n\r\n", size);
  for (i = 0; i < size; i++) a->answer[length++] = (char)pattern(number, i);
  a->answer_length = (size_t)length;
  a->answer_read = 0;
}

static void read_byte(struct asking *a, uint8_t byte) {
  MUST(a->wanted < a->next); /* no answer without a request */
  if (a->answer_length == 0) expect(a);
  MUST(byte == (uint8_t)a->answer[a->answer_read]);
  if (++a->answer_read < a->answer_length) return;
  a->answer_length = 0;
  a->wanted++;
  answers++;
}

#if BYWAY_LINE_STREAMS
/* A byte of the server's pieces. It ends no stream whose client does not, and grants no more than it can keep. */
static void read_piece_byte(uint8_t byte) {
  struct asking *a = &askings[piece & 15];
  if (piece_left) {
    a->owed++;
    read_byte(a, byte);
    if (--piece_left == 0) piece = 0;
  } else if (piece >> 4 == 1) {
    MUST(byte > 0);
    piece_left = byte;
  } else if (piece) {
    a->granted += 64u * byte;
    MUST(byte > 0 && a->granted <= BYWAY_STAGED);
    piece = 0;
  } else {
    MUST((byte >> 4 == 1 || byte >> 4 == 4) && (byte & 15) < REQUESTS && askings[byte & 15].begun);
    piece = byte;
  }
}
#endif

static void read_answers(void) {
  uint8_t bytes[100];
  size_t count, i;
  if (deaf) return;
  while ((count = byway_line_read(&peer, bytes, quiet ? sizeof bytes : 1 + any(sizeof bytes)))) {
    for (i = 0; honest && i < count; i++) {
#if BYWAY_LINE_STREAMS
      read_piece_byte(bytes[i]);
#else
      read_byte(&askings[0], bytes[i]);
#endif
    }
  }
#if BYWAY_LINE_STREAMS
  for (i = 0; honest && i < REQUESTS; i++) grant(&askings[i]);
#endif
}

static void begin_session(void) {
  struct asking *a;
  for (a = askings; a < askings + REQUESTS; a++) {
    a->wanted = a->next;
    a->answer_length = a->length = a->written = a->granted = a->owed = 0;
    a->begun = 0;
  }
#if BYWAY_LINE_STREAMS
  piece = 0;
  piece_left = 0;
#endif
  byway_line_open(&peer, any(0xFFFFFFFF), now);
  sessions++;
}

/* ---- The line ---- */

static void put(struct pipe *pipe, const uint8_t *bytes, size_t count) {
  if (count > QUEUE - pipe->count) count = QUEUE - pipe->count; /* the rest is lost */
  memcpy(pipe->bytes + pipe->count, bytes, count);
  pipe->count += count;
}

static void put_noise(struct pipe *pipe, size_t count) {
  uint8_t bytes[1024];
  static const uint8_t few[] = {0x00, 0x01, 0xFF, 0x11, 0x13};
  size_t i;
  int how = (int)any(4);
  if (count > sizeof bytes) count = sizeof bytes;
  fill(bytes, count);
  for (i = 0; how == 0 && i < count; i++) bytes[i] = few[bytes[i] % sizeof few];
  for (i = 0; how == 1 && i < count; i++) bytes[i] |= 1; /* no zero */
  put(pipe, bytes, count);
  bytes_noise += count;
}

/* Puts a frame on the line, and sometimes what a bad line makes of it. */
static void put_frame(struct pipe *pipe, const uint8_t *frame, size_t count) {
  uint8_t bytes[1024];
  size_t at, i;
  MUST(count > 0 && count <= sizeof pipe->kept);
  memcpy(bytes, frame, count);
  if (quiet || any(3)) {
    put(pipe, bytes, count);
    return;
  }
  if (any(8) == 0) {
    memcpy(pipe->kept, frame, count);
    pipe->kept_count = count;
  }
  at = any((uint32_t)count);
  switch (any(10)) {
  case 0: return;
  case 1: put(pipe, bytes, count); break; /* twice */
  case 2: count = at; break;
  case 3: for (i = any(3) + 1; i; i--) bytes[any((uint32_t)count)] ^= (uint8_t)(1u << any(8)); break;
  case 4: fill(bytes + at, count - at > 12 ? 12 : count - at); break;
  case 5: memmove(bytes + at, bytes + at + 1, --count - at); break;
  case 6: memmove(bytes + at + 1, bytes + at, count++ - at); break;
  case 7: put(pipe, pipe->kept, pipe->kept_count); break; /* an earlier one */
  case 8: put_noise(pipe, any(60)); break;
  default: for (i = any(12); i; i--) bytes[any((uint32_t)count)] = (uint8_t)any(256);
  }
  put(pipe, bytes, count);
}

/* Takes bytes from a direction's head, as many as the rate carries. */
static size_t take(struct pipe *pipe, uint8_t *bytes, size_t most) {
  size_t count = pipe->count < most ? pipe->count : most;
  memcpy(bytes, pipe->bytes, count);
  pipe->count -= count;
  memmove(pipe->bytes, pipe->bytes + count, pipe->count);
  return count;
}

/* Checks the conditions that must hold at any time. */
static void check(void) {
  struct byway_line *l = &server.line;
  uint32_t deadline = byway_deadline(&server, now);
  unsigned i;
  MUST(l->run_length <= BYWAY_LINE_RUN + 1);
  MUST((uint16_t)(l->send_end - l->send_first) <= BYWAY_LINE_SEND_UNITS);
  MUST((uint16_t)(l->send_sent - l->send_first) <= (uint16_t)(l->send_end - l->send_first));
  MUST((uint16_t)(l->take_high - l->take_read) <= BYWAY_LINE_RECEIVE_UNITS);
  MUST((uint16_t)(l->take_next - l->take_read) <= (uint16_t)(l->take_high - l->take_read));
  MUST(l->state == BYWAY_LINE_NONE || l->state == BYWAY_LINE_OPEN);
  for (i = 0; i < REQUESTS; i++) {
    byway_select(&server, i);
    MUST(server.request->staged_from <= server.request->staged_to && server.request->staged_to <= sizeof server.request->staged);
    MUST(server.request->head_count <= sizeof server.request->head);
#if BYWAY_LINE_STREAMS
    if (server.streams && server.request->input == 1)
      MUST(server.request->granted + (server.request->staged_to - server.request->staged_from) <= (int)BYWAY_STAGED);
#endif
  }
  MUST(deadline == BYWAY_LINE_NEVER || deadline <= 60000);
#if BYWAY_LINE_CORRECTION
  MUST(l->frame_length <= sizeof l->frame && l->frame_need <= sizeof l->frame);
#endif
}

/* A millisecond, or a longer time in which neither end ran. */
static void pass(uint32_t time) {
  const uint8_t *frame;
  uint8_t bytes[QUEUE];
  size_t count, part, most;
  int frames;
  now += time;
  hours += time / 3.6e6;
  if (!stalled) {
    credit += baud / 1000 * time; /* in tenths of a byte */
    most = credit / 10 < QUEUE ? credit / 10 : QUEUE;
    credit %= 10;
    count = take(&to_server, bytes, most);
    for (frame = bytes; count; frame += part, count -= part) {
      part = 1 + any(40);
      if (part > count) part = count;
      byway_receive(&server, frame, part, now);
    }
    count = take(&to_peer, bytes, most);
    byway_line_receive(&peer, bytes, count, now);
  }
  for (frames = 0; (count = byway_output(&server, now, &frame)); frames++) {
    MUST(frames < 40 && frame >= server.line.out && frame + count <= server.line.out + sizeof server.line.out);
    put_frame(&to_peer, frame, count);
  }
  read_answers();
  if (byway_line_state(&peer) == BYWAY_LINE_NONE) begin_session();
  for (frames = 0; (count = byway_line_output(&peer, now, &frame)); frames++) {
    MUST(frames < 40);
    put_frame(&to_server, frame, count);
  }
  for (frames = 0; frames < REQUESTS; frames++) {
    byway_select(&server, (unsigned)frames);
    if (work.later && (quiet || any(50) == 0)) answer();
  }
  check();
}

/* ---- Hostile frames ---- */

static const char *const phrases[] = {
  "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", "PUT /y HTTP/1.1\r\nHost: a\r\n", "POST /z HTTP/1.0\r\n",
  "Content-Length: 5\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n", "Expect: 100-continue\r\n", "Connection: close\r\n", "Host: a\r\n",
  "5\r\nabcde\r\n", "1f;x\r\n", "0\r\n\r\n", "0\r\nTrailer: 1\r\n\r\n", "hello", "\r\n", "X-One: ", ": ", "value\r\n", " HTTP/1.1\r\n",
  "GET http://a/b HTTP/1.1\r\n", "Content-Length: 4294967294\r\n\r\n", "Content-Length: 300\r\n\r\n", "Host: a\r\n\r\n",
  "X-Long: 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\r\n",
};

static const char *phrase(void) { return phrases[any(sizeof phrases / sizeof phrases[0])]; }

static void write_phrase(struct byway_line *line) {
  const char *text = phrase();
  size_t count = any(4) ? strlen(text) : any((uint32_t)strlen(text));
#if BYWAY_LINE_STREAMS
  uint8_t head[2] = {(uint8_t)(0x10 | any(REQUESTS)), (uint8_t)count};
  switch (any(16)) {
  case 0: head[0] = (uint8_t)any(256); break;
  case 1: head[1] = (uint8_t)any(256); break;
  case 2: head[0] = (uint8_t)((2 + any(2)) << 4 | any(REQUESTS)), count = 0; break;
  case 3: head[0] = (uint8_t)(0x40 | any(REQUESTS)), head[1] = (uint8_t)any(4), count = 0; break;
  default: break;
  }
  byway_line_write(line, head, head[0] >> 4 == 2 || head[0] >> 4 == 3 ? 1 : 2);
#endif
  byway_line_write(line, text, count);
}

/* A number of a unit, often at an edge of the window. */
static uint16_t number_near(uint16_t first, uint16_t last) {
  switch (any(6)) {
  case 0: return first;
  case 1: return last;
  case 2: return (uint16_t)(first + any(40) - 8);
  case 3: return (uint16_t)(last + any(8) - 4);
  case 4: return (uint16_t)(first + 0x8000u + any(3) - 1);
  default: return (uint16_t)any(0x10000);
  }
}

static uint16_t window(void) {
  static const uint16_t some[] = {0, 1, 4, 256, 32000, 32001, 0x8000, 0xFFFF};
  return any(4) ? some[any(8)] : (uint16_t)any(0x10000);
}

/* Puts a frame on the line whose check is valid, and whose fields are chosen from what the server is in. */
static void put_made_frame(void) {
  static const uint8_t kinds[] = {HELLO, OPEN, RESET, POLL, ACK, ACK, ANSWER, NOISE, DATA, DATA, DATA_ACK, DATA_ACK, DATA | LAST,
                                  DATA_ACK | LAST, 0x55};
  struct byway_line *l = &server.line;
  uint8_t *b = maker.out + BYWAY_LINE_LEAD, *at = b, kind = kinds[any(sizeof kinds)];
  const uint8_t *start;
  const char *text;
  unsigned length, count, i;
  *at++ = kind;
  switch (kind) {
  case HELLO: case OPEN:
    *at++ = (uint8_t)(any(8) != 0);
    if (kind == OPEN) at = put32(at, any(4) ? l->session + any(3) - 1 : l->over[any(16)]);
    at = put32(at, any(8) ? l->incarnation : 0);
    at = put16(at, any(2) ? 64 : any(0x10000));
    if (kind == OPEN) at = put16(at, window());
    *at++ = (uint8_t)any(20);
    break;
  case RESET: case POLL:
    at = put32(at, any(4) ? l->session : any(0xFFFFFFFF));
    *at++ = (uint8_t)any(kind == RESET ? 8 : 256);
    break;
  case ANSWER:
    *at++ = (uint8_t)(l->token - any(4));
    *at++ = (uint8_t)any(256);
    /* fall through */
  case ACK:
    at = put16(at, number_near(l->send_first, l->send_sent));
    at = put16(at, window());
    for (i = any(any(4) ? 5 : 60); i; i--) *at++ = (uint8_t)(any(4) ? 1 + any(6) : any(256));
    break;
  case NOISE: *at++ = (uint8_t)any(256); break;
  default:
    at = put16(at, any(3) ? l->take_next : number_near(l->take_read, l->take_high));
    if (kind & 1) at = put16(at, number_near(l->send_first, l->send_sent));
    text = phrase();
    count = (unsigned)strlen(text);
    if (count > BYWAY_LINE_PAYLOAD) count = BYWAY_LINE_PAYLOAD;
    if (any(3) == 0) count = any(BYWAY_LINE_PAYLOAD + 1), text = (const char *)content;
    if (any(4) == 0) count = any(count + 1);
    memcpy(at, text, count);
    at += count;
  }
  if (any(12) == 0) at = b + 1 + any((uint32_t)(at - b)); /* missing fields */
  length = (unsigned)(at - b);
  if (length > BYWAY_LINE_BODY - 4) length = BYWAY_LINE_BODY - 4;
  maker.seal = l->seal;
  if (any(20) == 0) maker.seal ^= 1u << any(32);
#if BYWAY_LINE_CORRECTION
  if (any(3) == 0) {
    unsigned copy = BYWAY_LINE_CORRECTION > 3 && (kind == HELLO || kind == OPEN), strength = copy ? 3 : any(BYWAY_LINE_CORRECTION), wrong;
    length = wrap_corrected(&maker, length, strength, (int)copy, &start);
    /* As many wrong bytes as can be put right, fewer or more, behind the sync word or anywhere. */
    wrong = any(byway_wrong_of[strength] + 3u);
    while (wrong--) maker.out[start - maker.out + (any(4) ? 9 + any(length - 9) : any(length))] = (uint8_t)any(256);
  } else
#endif
  {
    length = wrap(&maker, length, &start, now);
    if (any(6) == 0) maker.out[start - maker.out + any(length)] ^= (uint8_t)(1u << any(8));
  }
  if (any(16) == 0) length = any(length + 1);
  put(&to_server, start, length);
  frames_made++;
}

/* The other dialer, whose sessions replace the peer's. It does not hear the server. */
static void intrude(void) {
  const uint8_t *frame;
  size_t count;
  int frames = 0;
  if (any(20) == 0) byway_line_start(&intruder, BYWAY_LINE_DIAL, 0, 0, now);
  if (byway_line_state(&intruder) == BYWAY_LINE_NONE) byway_line_open(&intruder, any(0xFFFFFFFF), now);
  intruder.incarnation = server.line.incarnation;
  write_phrase(&intruder);
  while (frames++ < 4 && (count = byway_line_output(&intruder, now, &frame))) put_frame(&to_server, frame, count);
}

static void be_hostile(void) {
  uint32_t i;
  byway_select(&server, any(REQUESTS));
  switch (any(14)) {
  case 0: case 1: case 2: case 3: put_made_frame(); break;
  case 4: for (i = any(30); i; i--) put_made_frame(); break;
  case 5: intrude(); break;
  case 6: behaviour = (uint8_t)any(256); break;
  case 7: if (!work.answered) answer(); break;
  case 8: byway_send(&server, content, any(sizeof content)); break;
  case 9: byway_end(&server); break;
  case 10: write_phrase(&peer); break;
  case 11: if (any(10) == 0) byway_line_finish(&peer); break;
  case 12: if (any(10) == 0) byway_line_leave(&peer, now); break;
  default: if (any(20) == 0) byway_line_abort(&peer);
  }
}

/* ---- Rounds ---- */

static void disturb(void) {
  switch (any(24)) {
  case 0: put_noise(any(4) ? &to_server : &to_peer, any(200)); break;
  case 1: put_noise(&to_server, 1024); break; /* at the full rate */
  case 2: stalled = any(6) == 0; break;
  case 3: deaf = any(6) == 0; break;
  case 4: if (any(20) == 0) pass(any(40000)); break;
  case 5: if (any(4) == 0) pass(any(400)); break;
  case 6: if (any(30) == 0) byway_line_lost(&peer, now); break;
  case 7: byway_line_back(&peer, now); break;
  case 8: if (any(60) == 0) byway_line_start(&peer, BYWAY_LINE_DIAL, 0, baud, now), begin_session(); break;
  default: write_request(&askings[any(REQUESTS)]);
  }
}

/* The line is good again. */
static void recover(int fresh) {
  uint32_t began, last[REQUESTS], i, *worst;
  int waits = 1;
  struct asking *a;
  quiet = 1;
  stalled = deaf = 0;
  to_server.count = to_peer.count = 0;
  if (fresh) {
    byway_line_start(&peer, BYWAY_LINE_DIAL, 0, baud, now);
    honest = 1;
    for (i = 0; i < REQUESTS; i++) works[i].last = 0;
    begin_session();
  }
  byway_line_back(&peer, now);
  began = now;
  for (i = 0; i < REQUESTS; i++) {
    a = &askings[i];
    if (a->written == a->length) ask_next(a);
    last[i] = a->next;
  }
  while (waits) {
    waits = 0;
    for (i = 0; i < REQUESTS; i++) {
      a = &askings[i];
      if (byway_line_state(&peer) == BYWAY_LINE_NONE || (a->length == 0 && a->written == 0)) last[i] = a->next + 1;
      if (a->wanted < last[i]) waits = 1;
      write_request(a);
    }
    if (waits) pass(1);
    MUST(now - began <= (fresh ? LIMIT : LIMIT_UNDER_WAY));
  }
  if (!fresh && now - began > LIMIT) late++;
  worst = fresh ? &slowest : &slowest_under_way;
  if (now - began > *worst) *worst = now - began;
}

static void run_round(void) {
  static const char *const wanted[] = {"x-one", NULL};
  uint32_t steps;
  state = seed * 2654435761u + 88172645463325252u;
  for (steps = 0; steps < 8; steps++) any(2);
  memset(works, 0, sizeof works);
  memset(askings, 0, sizeof askings);
  for (steps = 0; steps < REQUESTS; steps++) {
    askings[steps].stream = steps;
    askings[steps].next = askings[steps].wanted = 1;
  }
  to_server.count = to_peer.count = to_server.kept_count = to_peer.kept_count = 0;
  quiet = stalled = deaf = 0;
  credit = 0;
  honest = (int)any(2);
  baud = any(2) ? 115200 : 921600;
  now = any(2) ? any(0xFFFFFFFF) : 0xFFFFFF00u;
  behaviour = (uint8_t)any(256);
  byway_start(&server, service, wanted, 1 + any(0xFFFFFFF0), baud, now);
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, baud, now);
  byway_line_start(&intruder, BYWAY_LINE_DIAL, 0, 0, now);
  begin_session();
  for (steps = 200 + any(2000); steps; steps--) {
    disturb();
    if (!honest) be_hostile();
    if (any(3)) pass(1);
  }
  recover(!honest || any(2));
}

static long value_of(int argc, char **argv, const char *name, long otherwise) {
  int i;
  for (i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], name)) return atol(argv[i + 1]);
  }
  return otherwise;
}

int main(int argc, char **argv) {
  long seconds = value_of(argc, argv, "--seconds", 60 * value_of(argc, argv, "--minutes", 0)), most = value_of(argc, argv, "--rounds", 0);
  const struct itimerval limit = {{0, 0}, {ROUND_LIMIT, 0}};
  time_t began = time(NULL);
  seed = (uint64_t)value_of(argc, argv, "--seed", (long)began * 1000000);
  if (seconds == 0 && most == 0) seconds = 5;
  __sanitizer_set_death_callback(tell_seed);
  signal(SIGALRM, takes_too_long);
  printf("seed %llu, ", (unsigned long long)seed);
  fflush(stdout);
  while (most ? rounds < (unsigned long)most : time(NULL) - began < seconds) {
    setitimer(ITIMER_REAL, &limit, NULL);
    run_round();
    rounds++;
    seed++;
  }
  printf("%lu rounds, %.0f hours of virtual time, %lu sessions, %lu frames with chosen fields, %lu KB of noise, %lu answers; "
         "after the noise a new session was answered within %u ms, and requests under way within %u ms; %lu rounds took more than 2 s\n",
         rounds, hours, sessions, frames_made, bytes_noise / 1000, answers, slowest, slowest_under_way, late);
  return 0;
}
