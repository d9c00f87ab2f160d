/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The declarations that the files of this end share. They are not for its users. */
#ifndef BYWAY_LINE_INNER_H
#define BYWAY_LINE_INNER_H

#include "byway_line.h"

typedef struct byway_line line_t;

/* Kinds of frames (section 2). */
enum {
  HELLO = 0x01,
  OPEN = 0x02,
  RESET = 0x03,
  POLL = 0x04,
  ACK = 0x40,
  ANSWER = 0x41,
  NOISE = 0x42,
  DATA = 0x80,
  DATA_ACK = 0x81,
  LAST = 0x02 /* a flag of DATA */
};

/* How a frame came, or is to be sent. */
enum { PLAIN = -1, COPY = 3 };

/* Frames that are owed to the peer. */
enum {
  OWE_RESET = 1,
  OWE_HELLO = 2,
  OWE_OPEN = 4,
  OWE_ANSWER = 8,
  OWE_ACK = 16,
  OWE_NOISE = 32,
  OWE_POLL = 64,
  OWE_HELLO_COPY = 128 /* the HELLO answers an OPEN */
};

/* Flags of a unit: a length has 5 bits. */
enum { LENGTH = 0x1F, ON_THE_WAY = 0x20, ACKNOWLEDGED = 0x40, ARRIVED = 0x80 };

/* Values of sections 2, 3 and 6, in milliseconds and units. */
enum {
  PROTOCOL = 1,
  FIRST_WINDOW = 256,
  LARGEST_WINDOW = 32000,
  MOST_RUNS = 32,
  ACK_DELAY = 10,
  QUESTION_LIMIT = 1000,
  OPENING_LIMIT = 300,
  CLOSED_WINDOW = 1000,
  SILENT_TRANSFER = 1000,
  HOLD = 2,
  KEEPALIVE_DIAL = 10000,
  KEEPALIVE_LISTEN = 25000,
  PATIENCE = 30000,
  PATIENCE_OPENING = 5000,
  CLOSING = 5000,
  GRACE = 30000,
  QUIET = 50,
  PARTIAL = 200,
  WAITING = 4, /* a frame is handed over when less than this waits in the driver */
  LONG_FRAME = 30
};

#define SEND_MASK (BYWAY_LINE_SEND_UNITS - 1)
#define TAKE_MASK (BYWAY_LINE_RECEIVE_UNITS - 1)

/* ---- Numbers ---- */

static inline uint16_t get16(const uint8_t *b) { return (uint16_t)(b[0] << 8 | b[1]); }

static inline uint32_t get32(const uint8_t *b) { return (uint32_t)get16(b) << 16 | get16(b + 2); }

static inline uint8_t *put16(uint8_t *b, unsigned value) {
  b[0] = (uint8_t)(value >> 8);
  b[1] = (uint8_t)value;
  return b + 2;
}

static inline uint8_t *put32(uint8_t *b, uint32_t value) { return put16(put16(b, value >> 16), value & 0xFFFF); }

/* How far a is ahead of b: numbers of units and transmissions, modulo 65,536. */
static inline int ahead(unsigned a, unsigned b) { return (int16_t)(uint16_t)(a - b); }

/* Whether the time has come. */
static inline int due(uint32_t time, uint32_t now) { return (int32_t)(now - time) >= 0; }

static inline int confirmed(const line_t *l) { return l->state == BYWAY_LINE_OPEN; }

/* ---- byway_line_framing.c ---- */

uint32_t byway_crc(uint32_t state, const uint8_t *bytes, size_t count);

/* Decodes in place, and returns the length, or -1. */
int byway_cobs_decode(uint8_t *b, unsigned count);

/* Encodes count bytes to where they overlap what was encoded before: to is 1 + count / 254 bytes before from. Returns the length. */
unsigned byway_cobs_encode(uint8_t *to, const uint8_t *from, unsigned count);

/* ---- byway_line_correction.c ---- */

#if BYWAY_LINE_CORRECTION

/* Wrong bytes in a word that each strength corrects. */
extern const uint8_t byway_wrong_of[12];

/* A word of interleaved words: data bytes of the frame, and behind them parity. */
struct word {
  uint8_t *bytes;
  uint16_t data;    /* of the frame, all words */
  uint8_t words, index;
  uint8_t parity;   /* 2t */
  uint16_t length;  /* of this word, with parity */
};

/* A byte that was changed. */
struct change {
  uint8_t *byte;
  uint8_t value;
};

struct word byway_word_at(uint8_t *bytes, unsigned data, unsigned words, unsigned index, unsigned wrong);

unsigned byway_words_for(unsigned data, unsigned wrong);

/* Writes the parity of a word: the remainder of a division by the generator. */
void byway_add_parity(const struct word *w);

/* Corrects a word, and returns how many bytes, or -1 if it is too damaged. It notes changes. */
int byway_correct(const struct word *w, struct change *changes);

/* The share of wrong bytes as a level. */
uint8_t byway_noise_level(const line_t *l);

/* Counts bytes that came, and how many of them were wrong. Old ones are forgotten. */
void byway_count_noise(line_t *l, unsigned bytes, unsigned wrong);

/*
 * Counts a damaged run only when nine more bytes have come: a zero in the head of a frame with correction ends no run. Called for each
 * byte that is not part of such a frame, and when one is found.
 */
void byway_age_run(line_t *l, int found);

/* Counts frames with correction: lost ones, and those in which something was put right. */
void byway_count_frame(line_t *l, int fixed);

/* The strength for a frame of so many bytes, or PLAIN. Numbers with a fraction are in 1/256. */
int byway_strength_for(const line_t *l, unsigned data, int kind);

#endif

#endif
