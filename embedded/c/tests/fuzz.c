/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Random input to a server: a target of libFuzzer, and with WITH_MAIN a program, fuzz [SECONDS] [SEED]. The input chooses what a peer says
 * on its session, which bytes arrive damaged, which bytes arrive without any session, and how the service behaves. Conditions that must hold
 * at any time are checked, besides those of the sanitizers.
 */
#include "pair.h"

static const uint8_t *input;
static size_t input_left;

static uint8_t any(void) {
  if (!input_left) return 0;
  input_left--;
  return *input++;
}

static const char *const phrases[] = {
  "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", "PUT /y HTTP/1.1\r\nHost: a\r\n", "POST /z HTTP/1.0\r\n",
  "Content-Length: 5\r\n\r\n", "Content-Length: 200\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n",
  "Expect: 100-continue\r\n", "Connection: close\r\n",
  "5\r\nabcde\r\n", "1f;x\r\n", "0\r\n\r\n", "0\r\nTrailer: 1\r\n\r\n", "hello", "\r\n", "X-One: ", ": ", "value\r\n", " HTTP/1.1\r\n", "GET /",
  "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789", "http://a/",
  "Content-Length: 4294967294\r\n\r\n",
  "Host: a\r\n",
};

enum { REQUESTS = BYWAY_LINE_STREAMS ? BYWAY_LINE_STREAMS : 1 };

/* The requests that the service knows of: one of a stream ends before the next begins. */
static struct { int busy, answered; } works[REQUESTS];
#define work works[byway_current(&server)]
static uint8_t behaviour;
static uint32_t session;
static const uint8_t content[700];

#define MUST(condition) do { if (!(condition)) __builtin_trap(); } while (0)
#include "calls.h"

static void answer(void) {
  static const char *const fields[] = {NULL, "A: b\r\n"};
  unsigned status = behaviour & 1 ? 200 : behaviour & 2 ? 204 : 404;
  int begun;
  if (behaviour & 4) {
    begun = byway_answer_with(&server, status, "text/plain", content, behaviour & 8 ? sizeof content : 3, fields[behaviour >> 7]);
  } else {
    begun = byway_answer(&server, status, NULL, behaviour & 8 ? BYWAY_UNKNOWN_LENGTH : 64, fields[behaviour >> 7]);
  }
  if (begun) {
    MUST(work.busy && !work.answered);
    work.answered = 1;
  }
}

static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  check_call(b, event, bytes, count, work.busy, work.answered);
  switch (event) {
  case BYWAY_REQUEST:
    work.busy = 1;
    work.answered = 0;
    if (behaviour & 16) answer();
    break;
  case BYWAY_BODY:
    return behaviour & 32 ? count / 2 : count;
  case BYWAY_END:
    if (!work.answered) answer();
    break;
  case BYWAY_ROOM:
    if (REQUESTS > 1 && !work.answered) {
      answer();
      break;
    }
    MUST(work.answered && byway_room(b) > 0);
    if (behaviour & 64) byway_send(b, content, 50);
    else byway_end(b);
    break;
  case BYWAY_GONE:
    work.busy = work.answered = 0;
    break;
  }
  return 0;
}

/* Flips, drops or doubles something of what arrives. */
static size_t spoil(uint8_t *bytes, size_t count) {
  uint8_t how = any();
  if (how < 160 || !count) return count;
  if (how < 200) bytes[any() % count] ^= (uint8_t)(1u << (how & 7));
  else if (how < 230) count -= any() % count;
  else return 0;
  return count;
}

/* A phrase is the content of a piece of DATA, with a length that is mostly right. Other pieces come between them. */
#if BYWAY_LINE_STREAMS
static void write_piece(const char *phrase) {
  uint8_t head[2] = {(uint8_t)(0x10 | any() % REQUESTS), (uint8_t)strlen(phrase)}, how = any();
  if (how < 10) head[1] = any();
  if (how > 230) head[0] = (uint8_t)(0x20 | (how & 0x1F));
  byway_line_write(&peer, head, how > 230 && how % 2 ? 1 : 2);
  byway_line_write(&peer, phrase, strlen(phrase));
}
#endif

static void turn(void) {
  uint8_t bytes[64];
  size_t count, i;
  byway_select(&server, any() % REQUESTS);
  switch (any() % 12) {
  case 0: case 1: case 2: {
    const char *phrase = phrases[any() % (sizeof phrases / sizeof phrases[0])];
#if BYWAY_LINE_STREAMS
    if (!plain) {
      write_piece(phrase);
      break;
    }
#endif
    byway_line_write(&peer, phrase, strlen(phrase));
    break;
  }
  case 3:
    for (count = any() % sizeof bytes, i = 0; i < count; i++) bytes[i] = any();
    byway_line_write(&peer, bytes, count);
    break;
  case 4:
    for (count = any() % sizeof bytes, i = 0; i < count; i++) bytes[i] = any();
    byway_receive(&server, bytes, count, now);
    break;
  case 5: {
    uint8_t how = any();
    if (how < 30) byway_line_finish(&peer);
    else if (how < 60) byway_line_leave(&peer, now);
    else if (how < 90) byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
    break;
  }
  case 6: behaviour = any(); break;
  case 7: damage = any() & 1 ? spoil : NULL; break;
  case 8: answer(); break;
  case 9: byway_send(&server, content, any()); break;
  case 10: byway_end(&server); break;
  default: now += any() > 250 ? 3000 : any();
  }
  if (byway_line_state(&peer) == BYWAY_LINE_NONE) byway_line_open(&peer, ++session, now);
  for (count = any() % 24; count; count--) pass();
  byway_deadline(&server, now);
  heard_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const wanted[] = {"x-one", NULL};
  int i;
  input = bytes;
  input_left = count;
  now = any() & 1 ? 0xFFFFF000u : 1;
  memset(works, 0, sizeof works);
  behaviour = any();
#if BYWAY_LINE_STREAMS
  plain = behaviour % 4 == 0;
#endif
  start_pair(service, wanted);
  while (input_left) turn();
  /* Whatever came before, the next session is served. */
  damage = NULL;
  behaviour = 1 | 4 | 16;
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
  byway_line_open(&peer, ++session, now);
  heard_count = 0;
#if BYWAY_LINE_STREAMS
  plain = 1;
#endif
  say(phrases[0], strlen(phrases[0]));
  for (i = 0; i < 4000 && !heard_count; i++) pass();
  MUST(!strncmp(heard, "HTTP/1.1 200 ", 13));
  return 0;
}

#ifdef WITH_MAIN
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
  time_t stop = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
  uint64_t state = argc > 2 ? (uint64_t)atol(argv[2]) : (uint64_t)time(NULL);
  unsigned long rounds = 0;
  printf("seed %lu, ", (unsigned long)state);
  fflush(stdout);
  state = state * 2654435761u + 88172645463325252u;
  for (; time(NULL) < stop; rounds++) {
    static uint8_t bytes[2000];
    size_t i;
    for (i = 0; i < sizeof bytes; i++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      bytes[i] = (uint8_t)(state >> 24);
    }
    LLVMFuzzerTestOneInput(bytes, 200 + rounds % 1800);
  }
  printf("%lu rounds\n", rounds);
  return 0;
}
#endif
