/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * Byway's firmware kit: a small HTTP/1.1 server on one end of a serial line. docs/firmware.md has the details, and
 * docs/guides/first-accessory.md an example from the beginning. The other end is `byway proxy --link 'serial:PORT?http=1.1'`.
 *
 * C99, no heap, no system calls, no floating point, no static variables. All state is in struct byway.
 *
 * Units. Times are milliseconds of a clock that may wrap and is right to 1 %. Sizes are bytes. Rates are baud at 8N1.
 *
 * Reentrancy. Calls for one struct byway must not overlap, and none of them belongs into an interrupt. Collect received bytes in the
 * UART's interrupt or by DMA, and pass them on from the main loop or from one task.
 *
 * DMA. byway_output returns a frame in struct byway, which does not change until byway_output is called again: so send it from
 * there, and call byway_run instead until it is sent. struct byway must be in memory that the DMA controller reaches, and on a core
 * with a data cache clean the frame's lines of the cache before.
 *
 * RAM. sizeof(struct byway); embedded/sizes prints it for each target, and the stack that calls need.
 */
#ifndef BYWAY_H
#define BYWAY_H

#include "byway_line.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The longest target of a request ("/path?query") and the fields that the service wants, with a zero behind each. */
#ifndef BYWAY_HEAD
#define BYWAY_HEAD 192
#endif

#if BYWAY_HEAD < 64 || BYWAY_HEAD > 4096
#error "BYWAY_HEAD must be from 64 to 4096"
#endif
#if BYWAY_LINE_SEND_UNITS < 16
#error "The server needs BYWAY_LINE_SEND_UNITS of at least 16: the head of an answer is written at once"
#endif

/* Bytes of a request that wait for the service. With streams that is the credit of each (section 13 of docs/wire-protocol.md). */
#if BYWAY_LINE_STREAMS
#define BYWAY_STAGED (64 * BYWAY_LINE_CREDIT)
typedef uint16_t byway_staged;
#else
#define BYWAY_STAGED 32
typedef uint8_t byway_staged;
#endif

/* The type and extra fields of an answer have at most so many bytes together. */
#define BYWAY_ANSWER_FIELDS 128

/* A length that is not known in advance. */
#define BYWAY_UNKNOWN_LENGTH 0xFFFFFFFFu

/* The event that the service is called for. */
enum byway_event {
  BYWAY_REQUEST, /* the head of a request is here: byway_method, byway_target, byway_field. The service may answer now or later */
  BYWAY_BODY,    /* bytes of the request's body. The service returns how many it took; the rest comes again at the next call */
  BYWAY_END,     /* the request is complete. The service may answer now or later */
  BYWAY_ROOM,    /* the service answers with byway_send, and there is room for some bytes; or an answer that had no room has it now */
  BYWAY_GONE     /* the request is over before its answer was complete, for example because the peer is gone */
};

enum byway_method { BYWAY_GET, BYWAY_HEAD_ONLY, BYWAY_PUT, BYWAY_POST, BYWAY_DELETE, BYWAY_OTHER };

struct byway;

/* The service. Its return value counts for BYWAY_BODY only. It must not call byway_receive, byway_output, byway_run or byway_start. */
typedef size_t byway_service(struct byway *byway, enum byway_event event, const uint8_t *bytes, size_t count);

/* A request and its answer. All fields are private. */
struct byway_request {
  uint8_t state;             /* of the request */
  uint8_t answer;            /* of the answer */
  uint8_t method;
  uint8_t digits;            /* of the size of a chunk */
#if BYWAY_LINE_STREAMS
  uint8_t input, output;     /* of its stream: from the client, and to it */
  uint16_t credit;           /* bytes that the client takes */
  uint16_t granted;          /* bytes that the client may send */
#endif
  byway_staged staged_from, staged_to;
  uint16_t flags;
  uint16_t status;           /* of an answer that the kit gives, or 0 */
  uint16_t head_count;       /* bytes of head in use */
  uint16_t line_start;       /* where the line that arrives begins in head */
  uint16_t head_size;        /* bytes of the head or of a line, dropped ones included */
  uint32_t body_left;        /* of the request's body or of its chunk */
  uint32_t content_left;     /* of the answer's body */
  const uint8_t *content;    /* of an answer that the kit sends by itself */
  uint8_t staged[BYWAY_STAGED]; /* bytes that were read and not used */
  char head[BYWAY_HEAD];
};

/* All fields are private but context. Small ones come first: see struct byway_line. */
struct byway {
  byway_service *service;
  const char *const *wanted;
  void *context;             /* for the service */
  uint8_t session;           /* the session that the requests belong to */
#if BYWAY_LINE_STREAMS
  uint8_t streams;           /* of the session: 0 if it is one stream of bytes */
  uint8_t piece, piece_left; /* that arrives: kind and stream, and bytes */
  uint8_t number;            /* of the request that the call is about */
  uint8_t turn;              /* the request that writes first */
  uint8_t waits;             /* the request that waits for room on the line: others do not write */
  uint8_t counting;          /* the head of an answer is counted, and not written */
  uint8_t counted;
  struct byway_request *request; /* that the call is about */
  struct byway_request requests[BYWAY_LINE_STREAMS];
#else
  struct byway_request request[1];
#endif
  struct byway_line line;
};

/*
 * Begins. service answers requests. wanted are the names of the fields of requests that it looks at, in lower case and ended by NULL;
 * NULL for none. random must be another number at each start (docs/firmware.md, "Seeding"). baud is the line's rate; with 0 the
 * driver sets the pace, and its queue must be short.
 */
void byway_start(struct byway *byway, byway_service *service, const char *const *wanted, uint32_t random, uint32_t baud, uint32_t now);

/* Takes bytes that arrived, and calls the service. Any bytes are safe. */
void byway_receive(struct byway *byway, const uint8_t *bytes, size_t count, uint32_t now);

/*
 * Returns how many bytes to send, 0 if none, and where they are. Calls the service. Call it when the UART has sent the frame before:
 * after each other call and at the deadline. While the UART is busy call byway_run.
 */
size_t byway_output(struct byway *byway, uint32_t now, const uint8_t **bytes);

/* Runs the timers, and calls the service. Call it also if the service has got something to send. */
void byway_run(struct byway *byway, uint32_t now);

/* The milliseconds until the next call of byway_output or byway_run, or BYWAY_LINE_NEVER. */
uint32_t byway_deadline(const struct byway *byway, uint32_t now);

/*
 * With BYWAY_LINE_STREAMS up to so many requests are served at once, numbered from 0. All functions below are about one of them: in the
 * service the one that it is called for, and elsewhere the one that byway_select has chosen. Without streams it is always 0.
 */
#if BYWAY_LINE_STREAMS
static inline unsigned byway_current(const struct byway *byway) { return byway->number; }
void byway_select(struct byway *byway, unsigned number);

/* How many requests the session serves at once: 1 if its client knows no streams. */
static inline unsigned byway_at_once(const struct byway *byway) { return byway->streams ? byway->streams : 1; }
#else
static inline unsigned byway_at_once(const struct byway *byway) { return (void)byway, 1; }
static inline unsigned byway_current(const struct byway *byway) { return (void)byway, 0; }
static inline void byway_select(struct byway *byway, unsigned number) { (void)byway, (void)number; }
#endif

/* The request. Valid from BYWAY_REQUEST until the answer is complete, or BYWAY_GONE. */
static inline enum byway_method byway_method(const struct byway *byway) { return (enum byway_method)byway->request->method; }
static inline const char *byway_target(const struct byway *byway) { return byway->request->head; }

/* The value of a wanted field, or NULL. */
const char *byway_field(const struct byway *byway, const char *name);

/*
 * Begins the answer: status 200 to 599, type for Content-Type or NULL, length or BYWAY_UNKNOWN_LENGTH, and fields: complete lines with
 * "\r\n", or NULL. Then call byway_send at BYWAY_ROOM or any time. Returns 0 if there is no request to answer, it is answered, or type
 * and fields are too long. With streams also if there is no room, because others write: then BYWAY_ROOM comes when there is. At
 * BYWAY_REQUEST and BYWAY_END there is.
 */
int byway_answer(struct byway *byway, unsigned status, const char *type, uint32_t length, const char *fields);

/* Answers with bytes that stay where they are until the answer is complete, for example in flash. The kit sends them by itself. */
int byway_answer_with(struct byway *byway, unsigned status, const char *type, const void *bytes, uint32_t count, const char *fields);

/* Sends bytes of the answer, as many as there is room for, and returns how many. */
size_t byway_send(struct byway *byway, const void *bytes, size_t count);

/* How many bytes byway_send would take. */
size_t byway_room(const struct byway *byway);

/* The answer of unknown length is complete. Returns 0 if there is no room for its end yet: call it again at BYWAY_ROOM. */
int byway_end(struct byway *byway);

/* Whether an answer is in progress: use it before sending events from outside the service. */
int byway_answering(const struct byway *byway);

#ifdef __cplusplus
}
#endif

#endif
