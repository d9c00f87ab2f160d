/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * One end of Byway's line protocol, for small devices: docs/wire-protocol.md. "Section" in comments means a section of that page.
 *
 * C99, no heap, no system calls, no floating point. All state is in struct byway_line. Times are milliseconds of a clock that
 * may wrap. README.md has an example.
 */
#ifndef BYWAY_LINE_H
#define BYWAY_LINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest payload of DATA in bytes, P of section 1: a multiple of 16, at least 64. */
#ifndef BYWAY_LINE_PAYLOAD
#define BYWAY_LINE_PAYLOAD 64
#endif

/* Units of 16 bytes that wait for byway_line_read: a power of two. */
#ifndef BYWAY_LINE_RECEIVE_UNITS
#define BYWAY_LINE_RECEIVE_UNITS 16
#endif

/* Units of 16 bytes that wait for their acknowledgement: a power of two. */
#ifndef BYWAY_LINE_SEND_UNITS
#define BYWAY_LINE_SEND_UNITS 32
#endif

/* How many strengths of error correction this end corrects, from the weakest: 0 to 12. With 0 its code is left out. */
#ifndef BYWAY_LINE_CORRECTION
#define BYWAY_LINE_CORRECTION 0
#endif

/*
 * How many streams of a session this end takes at once: 0, or up to 16. This file only announces them; the owner reads and writes the
 * pieces of section 13, as byway_http.c does. BYWAY_LINE_CREDIT is how much of each a listener takes at first, in units of 64 bytes, and
 * BYWAY_LINE_DIAL_CREDIT how much a dialer takes.
 */
#ifndef BYWAY_LINE_STREAMS
#define BYWAY_LINE_STREAMS 0
#endif
#ifndef BYWAY_LINE_CREDIT
#define BYWAY_LINE_CREDIT 2
#endif
#ifndef BYWAY_LINE_DIAL_CREDIT
#define BYWAY_LINE_DIAL_CREDIT 255
#endif

#if BYWAY_LINE_PAYLOAD < 64 || BYWAY_LINE_PAYLOAD > 4080 || BYWAY_LINE_PAYLOAD % 16
#error "BYWAY_LINE_PAYLOAD must be a multiple of 16 from 64 to 4080"
#endif
#if BYWAY_LINE_RECEIVE_UNITS & (BYWAY_LINE_RECEIVE_UNITS - 1) || BYWAY_LINE_RECEIVE_UNITS < 4 || BYWAY_LINE_RECEIVE_UNITS > 16384
#error "BYWAY_LINE_RECEIVE_UNITS must be a power of two from 4 to 16384"
#endif
#if BYWAY_LINE_SEND_UNITS & (BYWAY_LINE_SEND_UNITS - 1) || BYWAY_LINE_SEND_UNITS < 4 || BYWAY_LINE_SEND_UNITS > 16384
#error "BYWAY_LINE_SEND_UNITS must be a power of two from 4 to 16384"
#endif
#if BYWAY_LINE_CORRECTION < 0 || BYWAY_LINE_CORRECTION > 12
#error "BYWAY_LINE_CORRECTION must be from 0 to 12"
#endif

#if BYWAY_LINE_STREAMS < 0 || BYWAY_LINE_STREAMS > 16
#error "BYWAY_LINE_STREAMS must be from 0 to 16"
#endif
#if BYWAY_LINE_CREDIT < 1 || BYWAY_LINE_CREDIT > 255
#error "BYWAY_LINE_CREDIT must be from 1 to 255"
#endif
#if BYWAY_LINE_DIAL_CREDIT < 1 || BYWAY_LINE_DIAL_CREDIT > 255
#error "BYWAY_LINE_DIAL_CREDIT must be from 1 to 255"
#endif

/* Wrong bytes that the strongest correction in use can put right in a word (section 7). */
#if BYWAY_LINE_CORRECTION <= 8
#define BYWAY_LINE_MOST_WRONG BYWAY_LINE_CORRECTION
#else
#define BYWAY_LINE_MOST_WRONG (2 * BYWAY_LINE_CORRECTION - 8)
#endif

/* Body and check of the longest frame, its bytes in COBS, and its parity in all words. */
#define BYWAY_LINE_BODY (BYWAY_LINE_PAYLOAD + 9)
#define BYWAY_LINE_RUN (BYWAY_LINE_BODY + BYWAY_LINE_BODY / 254 + 1)
#define BYWAY_LINE_WORDS ((BYWAY_LINE_BODY + 254 - 2 * BYWAY_LINE_MOST_WRONG) / (255 - 2 * BYWAY_LINE_MOST_WRONG))
#define BYWAY_LINE_PARITY (2 * BYWAY_LINE_MOST_WRONG * BYWAY_LINE_WORDS)
/* The bytes before the body in the buffer of the frame to send: a zero, and a sync word and header or the codes of COBS. */
#if BYWAY_LINE_CORRECTION
#define BYWAY_LINE_LEAD (10 + BYWAY_LINE_BODY / 254)
#else
#define BYWAY_LINE_LEAD (2 + BYWAY_LINE_BODY / 254)
#endif

/* What byway_line_deadline returns if nothing is to be done until bytes arrive. */
#define BYWAY_LINE_NEVER 0xFFFFFFFFu

enum byway_line_role { BYWAY_LINE_LISTEN, BYWAY_LINE_DIAL };

/* The states of section 8. A listener is in NONE (waiting) or OPEN. */
enum byway_line_state { BYWAY_LINE_NONE, BYWAY_LINE_ASKING, BYWAY_LINE_OPENING, BYWAY_LINE_OPEN };

/* Why the last session is over. Up to BOTH_DIAL these are the reasons of RESET (section 2). */
enum byway_line_reason {
  BYWAY_LINE_FINISHED,
  BYWAY_LINE_UNKNOWN,
  BYWAY_LINE_ABORTED,
  BYWAY_LINE_SILENCE,
  BYWAY_LINE_VERSION,
  BYWAY_LINE_BOTH_DIAL,
  BYWAY_LINE_RESTARTED, /* the listener is another one now */
  BYWAY_LINE_REPLACED,  /* a new OPEN took the place of the session */
  BYWAY_LINE_GONE       /* the line did not come back */
};

/* Internal: timers of section 6, in struct byway_line.timers. */
enum byway_line_timer {
  BYWAY_LINE_T_ACK,
  BYWAY_LINE_T_QUESTION,
  BYWAY_LINE_T_CLOSED,
  BYWAY_LINE_T_KEEPALIVE,
  BYWAY_LINE_T_SILENCE,
  BYWAY_LINE_T_PATIENCE,
  BYWAY_LINE_T_CLOSING,
  BYWAY_LINE_T_GRACE,
  BYWAY_LINE_T_PARTIAL,
  BYWAY_LINE_TIMERS
};

/* A POLL whose ANSWER is awaited. */
struct byway_line_poll {
  uint32_t sent;   /* when its last byte was on the wire */
  uint16_t order;  /* of its transmission (section 5) */
  uint8_t token;
  uint8_t waiting; /* 1 until it is answered */
};

/*
 * One end of a line. All fields are private. Small ones come first, and arrays last: a Cortex-M0 reaches a byte in one instruction
 * only within 32 bytes from the beginning, two bytes within 64 and four within 128.
 */
struct byway_line {
  uint8_t role;
  uint8_t state;
  uint8_t owed;            /* frames to send, bits OWE_... */
  uint8_t reason;          /* of the last end of a session */
  uint8_t sessions;        /* counts sessions that began */
  uint8_t gone;            /* the line is lost */
  uint8_t fresh;           /* a zero must precede the next frame (section 1) */
  uint8_t resets;          /* owed */
  uint8_t copy;            /* the kind of frame whose copy follows it, or 0 */
  uint8_t questions;       /* asked since something of the session was received */
  uint8_t unanswered;      /* a question waits for something of the session */
  uint8_t held;            /* no DATA before something is received */
  uint8_t leaving;         /* the owner wants nothing more */
  uint8_t token;           /* of the last POLL */
  uint8_t poll_token;      /* of the POLL to answer */
  uint8_t peer_correction;
  uint8_t first_window;    /* the window to send is assumed (section 3) */
  uint8_t finishing;       /* nothing more is written */
  uint8_t last_added;      /* the last unit is known to be the last */
  uint8_t streak;          /* acknowledgements without a loss */
  uint8_t take_offset;     /* bytes of the first unit to read that were read */
  uint8_t take_last;       /* take_end is known */
  uint8_t take_told;       /* the last frame was acknowledged */
  uint8_t take_frames;     /* DATA since the last acknowledgement */
  uint8_t over_next;       /* the place of the next session in over */
  uint8_t over_count;
#if BYWAY_LINE_STREAMS
  uint8_t streams, peer_credit; /* of the session: 0 if it is one stream of bytes */
#endif
#if BYWAY_LINE_CORRECTION
  uint8_t frame_strength, frame_copy; /* of the frame that arrives */
  uint8_t head_length;     /* valid bytes at the end of head */
  uint8_t after_open;      /* directly behind an OPEN a copy may follow */
  uint8_t bad_run;         /* 1 more than the bytes since a damaged run, or 0 */
#endif

  /* Sending: a ring of units from send_first (not acknowledged) to send_sent (not sent) and send_end (not written). */
  uint16_t send_first, send_sent, send_end, send_edge;
  uint16_t order;          /* of the next transmission */
  /* Receiving: a ring of units from take_read (not read) by take_next (missing) to take_high (nothing has arrived from there on). */
  uint16_t take_read, take_next, take_high, take_edge, take_end;
  uint16_t armed;          /* a bit is set if its timer runs */
  uint16_t run_length;     /* of the run of bytes since the last zero */
  uint16_t payload;        /* of the next frames, and what the peer takes */
  uint16_t peer_payload;
  uint16_t trip;           /* r of section 6 */
  uint16_t smoothed;       /* round trip in 1/8 ms, and its variation in 1/4 ms */
  uint16_t variation;
  uint16_t wire_part;      /* of wire_end, the part of a millisecond */
#if BYWAY_LINE_CORRECTION
  uint16_t frame_length, frame_need; /* of the frame that arrives; need is 0 if there is none */
  uint16_t frame_body;
#endif

  uint32_t wire_end;       /* the time at which all that was given to the driver is sent */
  uint32_t byte_time;      /* of a byte in 1/65,536 ms; 0 if the line is not paced */
  uint32_t session, incarnation;
  uint32_t seal;           /* state of CRC-32C behind session and incarnation */
  uint32_t last_check;     /* of the last frame: a copy of it is ignored */
  uint32_t poll_time;      /* of the arrival of the POLL to answer */
  uint32_t timers[BYWAY_LINE_TIMERS];
  uint32_t reset_session[2];
  uint8_t reset_reason[2];
  uint8_t over_reason[16];
  uint32_t over[16];       /* sessions that are over */
  struct byway_line_poll polls[4];

#if BYWAY_LINE_CORRECTION
  uint8_t noise_told, noise_acks;     /* the level that was told last, and ACKs since */
  uint8_t noise_failed, noise_fixed;  /* frames with correction */
  uint8_t peer_noise, peer_told;      /* the level of the peer's last NOISE, and whether there was one */
  uint8_t trial;                      /* first frames of a session that still have correction */
  uint8_t head[9];
  uint32_t heard_time;                /* when something of the session was last received */
  uint32_t noise_bytes, noise_wrong, noise_clean;
  uint8_t frame[BYWAY_LINE_BODY + BYWAY_LINE_PARITY];
#endif

  uint8_t run[BYWAY_LINE_RUN];
  uint8_t out[BYWAY_LINE_LEAD + BYWAY_LINE_BODY + (BYWAY_LINE_PARITY > 1 ? BYWAY_LINE_PARITY : 1)];
  uint8_t take_length[BYWAY_LINE_RECEIVE_UNITS]; /* and a flag */
  uint8_t send_length[BYWAY_LINE_SEND_UNITS];    /* and flags */
  uint16_t send_order[BYWAY_LINE_SEND_UNITS];
  uint8_t take_data[BYWAY_LINE_RECEIVE_UNITS][16];
  uint8_t send_data[BYWAY_LINE_SEND_UNITS][16];
};

/*
 * Begins. For a listener, random is its incarnation: another number at each start of the program, not 0 (section 2). For a
 * dialer it is not used. baud is the line's rate at 8N1 if frames shall be paced by it, and 0 if the driver does that.
 */
void byway_line_start(struct byway_line *line, enum byway_line_role role, uint32_t random, uint32_t baud, uint32_t now);

/* Begins a session of a dialer with a random number. Bytes may be written before it is confirmed. Returns 0 if there is a session. */
int byway_line_open(struct byway_line *line, uint32_t random, uint32_t now);

/* Takes bytes that arrived on the line. Any bytes are safe. */
void byway_line_receive(struct byway_line *line, const uint8_t *bytes, size_t count, uint32_t now);

/*
 * Runs the timers, and returns how many bytes to hand to the driver, 0 if none. They stay valid until the next call. Call it after
 * each other call, at the deadline, and when the driver can take a frame, until it returns 0. While the driver cannot take a frame
 * call byway_line_run instead.
 */
size_t byway_line_output(struct byway_line *line, uint32_t now, const uint8_t **bytes);

/* Runs the timers only. */
void byway_line_run(struct byway_line *line, uint32_t now);

/* The milliseconds until the next call of byway_line_output, or BYWAY_LINE_NEVER. */
uint32_t byway_line_deadline(const struct byway_line *line, uint32_t now);

/* Takes bytes of the stream, as many as there is room for, and returns how many. Without a session it takes none. */
size_t byway_line_write(struct byway_line *line, const void *bytes, size_t count);

/* How many bytes byway_line_write would take. */
size_t byway_line_room(const struct byway_line *line);

/* Copies bytes of the stream, in order, and returns how many. They stay readable behind the end of the session until the next begins. */
size_t byway_line_read(struct byway_line *line, void *bytes, size_t room);

/* Returns 1 if the peer's last byte has been read. */
int byway_line_ended(const struct byway_line *line);

/* The stream to the peer ends behind what was written. */
void byway_line_finish(struct byway_line *line);

/* The owner wants nothing more of the session: it finishes, and what arrives is dropped. It is over 5 s later at the latest. */
void byway_line_leave(struct byway_line *line, uint32_t now);

/* Ends the session at once. The peer learns that it did not get everything. */
void byway_line_abort(struct byway_line *line);

/* The line is gone, for example unplugged, or is back. */
void byway_line_lost(struct byway_line *line, uint32_t now);
void byway_line_back(struct byway_line *line, uint32_t now);

/* The state of the session. After it is over, why. How many sessions began, modulo 256: so a new one is noticed. */
static inline enum byway_line_state byway_line_state(const struct byway_line *line) { return (enum byway_line_state)line->state; }
static inline enum byway_line_reason byway_line_reason(const struct byway_line *line) { return (enum byway_line_reason)line->reason; }
static inline uint8_t byway_line_sessions(const struct byway_line *line) { return line->sessions; }

#if BYWAY_LINE_STREAMS
/* How many streams the session has, 0 if it is one stream of bytes, and how many bytes of each the peer takes at first. */
static inline unsigned byway_line_streams(const struct byway_line *line) { return line->streams; }
static inline unsigned byway_line_peer_credit(const struct byway_line *line) { return 64u * line->peer_credit; }
#endif

/* About how many bytes were written and not sent yet: a sender that chooses late among streams keeps this low. */
static inline size_t byway_line_unsent(const struct byway_line *line) { return 16u * (uint16_t)(line->send_end - line->send_sent); }

#ifdef __cplusplus
}
#endif

#endif
