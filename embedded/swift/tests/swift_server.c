/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * The server in Swift behind byway.h, in place of byway_http.c, for the tests of that file. There is one server. The state
 * in struct byway is copied from the server in Swift after each call, and the changes of a test there are copied back.
 */
#include "byway.h"

#include <stdlib.h>
#include <string.h>

size_t swift_server_size(void);
void swift_server_start(void *server, int (*wants)(const uint8_t *, size_t), size_t (*handle)(int, const uint8_t *, size_t), uint32_t random,
                        uint32_t baud, uint32_t now);
void swift_server_receive(void *server, const uint8_t *bytes, size_t count, uint32_t now);
void swift_server_run(void *server, uint32_t now);
size_t swift_server_output(void *server, uint32_t now, const uint8_t **bytes);
uint32_t swift_server_deadline(void *server, uint32_t now);
void swift_server_select(void *server, size_t number);
int swift_server_begin(void *server, uint16_t status, const void *type, size_t type_count, uint32_t length, const void *fields,
                       size_t field_count);
void swift_server_send_static(void *server, const void *bytes);
size_t swift_server_send(void *server, const void *bytes, size_t count);
size_t swift_server_room(void *server);
int swift_server_end(void *server);
int swift_server_answering(void *server);
void swift_server_set_peer_credit(void *server, uint8_t credit);
void swift_server_view(void *server, uint32_t *values);
const void *swift_server_head(void *server, size_t number);

enum { REQUESTS = BYWAY_LINE_STREAMS ? BYWAY_LINE_STREAMS : 1 };

static uint64_t memory[4096];
static struct byway *owner;
#if BYWAY_LINE_STREAMS
static uint8_t known_credit;
#endif

/* Copies what tests look at. */
static void look(void) {
  uint32_t values[200], *v = values;
  struct byway_line *l = &owner->line;
  size_t number, room, i;
  swift_server_view(memory, values);
  number = *v++;
#if BYWAY_LINE_STREAMS
  owner->number = (uint8_t)number;
  owner->request = &owner->requests[number];
  owner->streams = (uint8_t)*v++;
#else
  v++;
#endif
  for (i = 0; i < REQUESTS; i++) {
#if BYWAY_LINE_STREAMS
    struct byway_request *r = &owner->requests[i];
#else
    struct byway_request *r = owner->request;
#endif
    r->method = (uint8_t)*v++;
    r->answer = (uint8_t)*v++;
#if BYWAY_LINE_STREAMS
    r->input = (uint8_t)*v++;
    r->granted = (uint16_t)*v++;
#else
    v += 2;
#endif
    r->staged_from = (byway_staged)*v++;
    r->staged_to = (byway_staged)*v++;
    r->head_count = (uint16_t)*v++;
  }
  memcpy(owner->request->head, swift_server_head(memory, number), sizeof owner->request->head);
  l->run_length = (uint16_t)*v++;
#if BYWAY_LINE_CORRECTION
  l->frame_length = (uint16_t)*v++;
  l->frame_need = (uint16_t)*v++;
#else
  v += 2;
#endif
  l->state = (uint8_t)*v++;
  l->reason = (uint8_t)*v++;
  l->sessions = (uint8_t)*v++;
  l->session = *v++;
  l->incarnation = *v++;
  l->seal = *v++;
  l->token = (uint8_t)*v++;
#if BYWAY_LINE_STREAMS
  l->streams = (uint8_t)*v++;
  l->peer_credit = known_credit = (uint8_t)*v++;
#else
  v += 2;
#endif
  l->finishing = (uint8_t)*v++;
  l->send_first = (uint16_t)*v++;
  l->send_sent = (uint16_t)*v++;
  l->send_end = (uint16_t)*v++;
  /* For byway_line_room. */
  room = *v++ - 16u * (BYWAY_LINE_SEND_UNITS - (uint16_t)(l->send_end - l->send_first));
  if (l->send_end != l->send_sent) l->send_length[(l->send_end - 1) & (BYWAY_LINE_SEND_UNITS - 1)] = (uint8_t)(16 - room);
  l->take_read = (uint16_t)*v++;
  l->take_next = (uint16_t)*v++;
  l->take_high = (uint16_t)*v++;
  for (i = 0; i < 16; i++) l->over[i] = *v++;
}

/* Takes what a test has changed. */
static void enter(struct byway *b) {
  if (b != owner) abort();
#if BYWAY_LINE_STREAMS
  if (b->line.peer_credit != known_credit) swift_server_set_peer_credit(memory, b->line.peer_credit);
#endif
}

static int wants(const uint8_t *name, size_t count) {
  const char *const *wanted = owner->wanted;
  for (; wanted && *wanted; wanted++) {
    if (strlen(*wanted) == count && !memcmp(*wanted, name, count)) return 1;
  }
  return 0;
}

static size_t handle(int event, const uint8_t *bytes, size_t count) {
  look();
  return owner->service(owner, (enum byway_event)event, bytes, count);
}

void byway_start(struct byway *b, byway_service *service, const char *const *wanted, uint32_t random, uint32_t baud, uint32_t now) {
  if (swift_server_size() > sizeof memory) abort();
  owner = b;
  b->service = service;
  b->wanted = wanted;
  swift_server_start(memory, wants, handle, random, baud, now);
  look();
}

void byway_receive(struct byway *b, const uint8_t *bytes, size_t count, uint32_t now) {
  enter(b);
  swift_server_receive(memory, bytes, count, now);
  look();
}

size_t byway_output(struct byway *b, uint32_t now, const uint8_t **bytes) {
  const uint8_t *frame;
  size_t count;
  enter(b);
  count = swift_server_output(memory, now, &frame);
  if (count > sizeof b->line.out) abort();
  memcpy(b->line.out, frame, count);
  *bytes = b->line.out;
  look();
  return count;
}

void byway_run(struct byway *b, uint32_t now) {
  enter(b);
  swift_server_run(memory, now);
  look();
}

uint32_t byway_deadline(const struct byway *b, uint32_t now) {
  (void)b;
  return swift_server_deadline(memory, now);
}

#if BYWAY_LINE_STREAMS
void byway_select(struct byway *b, unsigned number) {
  enter(b);
  swift_server_select(memory, number);
  look();
}
#endif

const char *byway_field(const struct byway *b, const char *name) {
  const char *at = b->request->head, *stop = at + b->request->head_count;
  if (b->request->answer == 0) return NULL;
  for (at += strlen(at) + 1; at < stop; at += strlen(at) + 1) {
    const char *value = at + strlen(at) + 1;
    if (!strcmp(at, name)) return value;
    at = value;
  }
  return NULL;
}

int byway_answer(struct byway *b, unsigned status, const char *type, uint32_t length, const char *fields) {
  int begun;
  enter(b);
  begun = swift_server_begin(memory, (uint16_t)status, type, type ? strlen(type) : 0, length, fields, fields ? strlen(fields) : 0);
  look();
  return begun;
}

int byway_answer_with(struct byway *b, unsigned status, const char *type, const void *bytes, uint32_t count, const char *fields) {
  if (!byway_answer(b, status, type, count, fields)) return 0;
  swift_server_send_static(memory, bytes);
  look();
  return 1;
}

size_t byway_send(struct byway *b, const void *bytes, size_t count) {
  enter(b);
  count = swift_server_send(memory, bytes, count);
  look();
  return count;
}

size_t byway_room(const struct byway *b) {
  (void)b;
  return swift_server_room(memory);
}

int byway_end(struct byway *b) {
  int ended;
  enter(b);
  ended = swift_server_end(memory);
  look();
  return ended;
}

int byway_answering(const struct byway *b) {
  (void)b;
  return swift_server_answering(memory);
}
