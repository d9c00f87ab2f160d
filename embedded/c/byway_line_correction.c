/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* Error correction, and the noise that it is chosen by: docs/wire-protocol.md, section 7. */
#include "byway_line_inner.h"

#include <string.h>

#if BYWAY_LINE_CORRECTION

/* ---- Code words ---- */

/* Wrong bytes in a word that each strength corrects. */
const uint8_t byway_wrong_of[12] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};

/* Multiplies in the field of 256 elements, without tables. */
static uint8_t multiply(uint8_t a, uint8_t b) {
  unsigned product = 0, shifted = a;
  for (; b; b >>= 1) {
    if (b & 1) product ^= shifted;
    shifted <<= 1;
    if (shifted & 0x100) shifted ^= 0x11D;
  }
  return (uint8_t)product;
}

/* The inverse is the power 254. */
static uint8_t inverse(uint8_t a) {
  uint8_t power = multiply(a, a), product = power;
  int i;
  for (i = 0; i < 6; i++) {
    power = multiply(power, power);
    product = multiply(product, power);
  }
  return product;
}

struct word byway_word_at(uint8_t *bytes, unsigned data, unsigned words, unsigned index, unsigned wrong) {
  struct word w;
  w.bytes = bytes;
  w.data = (uint16_t)data;
  w.words = (uint8_t)words;
  w.index = (uint8_t)index;
  w.parity = (uint8_t)(2 * wrong);
  w.length = (uint16_t)((data - index + words - 1) / words + 2 * wrong);
  return w;
}

/* Byte i of a word: that of the highest power first. */
static uint8_t *byte_of(const struct word *w, unsigned i) {
  unsigned own = w->length - (unsigned)w->parity;
  if (i < own) return w->bytes + i * w->words + w->index;
  return w->bytes + w->data + (i - own) * w->words + w->index;
}

unsigned byway_words_for(unsigned data, unsigned wrong) { return (data + 254 - 2 * wrong) / (255 - 2 * wrong); }

/* Writes the parity of a word: the remainder of a division by the generator. */
void byway_add_parity(const struct word *w) {
  uint8_t generator[2 * BYWAY_LINE_MOST_WRONG + 8], rest[2 * BYWAY_LINE_MOST_WRONG + 8], root = 1;
  unsigned n = w->parity, i, j;
  /* Coefficients of the generator from the lowest power on. That of the highest, which is 1, is left out. */
  memset(generator, 0, sizeof generator);
  generator[0] = 1;
  for (i = 0; i < n; i++) {
    for (j = i + 1; j > 0; j--) generator[j] = multiply(generator[j], root) ^ generator[j - 1];
    generator[0] = multiply(generator[0], root);
    root = multiply(root, 2);
  }
  memset(rest, 0, sizeof rest);
  for (i = 0; i < w->length - n; i++) {
    uint8_t factor = *byte_of(w, i) ^ rest[n - 1];
    for (j = n - 1; j > 0; j--) rest[j] = rest[j - 1] ^ multiply(factor, generator[j]);
    rest[0] = multiply(factor, generator[0]);
  }
  for (i = 0; i < n; i++) *byte_of(w, w->length - n + i) = rest[n - 1 - i];
}

/* The syndromes of a word. Returns 0 if all are zero: nothing is wrong. */
static int syndromes(const struct word *w, uint8_t *s) {
  uint8_t root = 1, any = 0;
  unsigned i, j;
  for (j = 0; j < w->parity; j++) {
    s[j] = 0;
    for (i = 0; i < w->length; i++) s[j] = multiply(s[j], root) ^ *byte_of(w, i);
    any |= s[j];
    root = multiply(root, 2);
  }
  return any;
}

/* The polynomial that locates the wrong bytes, by Berlekamp and Massey. Returns its degree. */
static unsigned locate(const uint8_t *s, unsigned count, uint8_t *locator) {
  uint8_t before[2 * BYWAY_LINE_MOST_WRONG + 8], saved[2 * BYWAY_LINE_MOST_WRONG + 8], last = 1;
  unsigned degree = 0, shift = 1, i, j;
  memset(locator, 0, count + 1);
  memset(before, 0, sizeof before);
  locator[0] = before[0] = 1;
  for (i = 0; i < count; i++, shift++) {
    uint8_t d = s[i], factor;
    for (j = 1; j <= degree; j++) d ^= multiply(locator[j], s[i - j]);
    if (!d) continue;
    memcpy(saved, locator, count + 1);
    factor = multiply(d, inverse(last));
    for (j = shift; j <= count; j++) locator[j] ^= multiply(factor, before[j - shift]);
    if (2 * degree > i) continue;
    degree = i + 1 - degree;
    memcpy(before, saved, count + 1);
    last = d;
    shift = 0;
  }
  return degree;
}

/* The value of a polynomial with count coefficients, the lowest power first. */
static uint8_t value_at(const uint8_t *p, unsigned count, uint8_t x) {
  uint8_t value = 0;
  while (count) value = multiply(value, x) ^ p[--count];
  return value;
}

/* What to add to the wrong byte with this inverse locator, by Forney. omega has degree coefficients. */
static uint8_t error_at(const uint8_t *locator, const uint8_t *omega, unsigned degree, uint8_t x) {
  uint8_t slope = 0, power = 1;
  unsigned i;
  for (i = 1; i <= degree; i += 2) {
    slope ^= multiply(locator[i], power);
    power = multiply(power, multiply(x, x));
  }
  return multiply(value_at(omega, degree, x), inverse(multiply(x, slope)));
}

/* Corrects a word, and returns how many bytes, or -1 if it is too damaged. It notes changes. */
int byway_correct(const struct word *w, struct change *changes) {
  uint8_t s[2 * BYWAY_LINE_MOST_WRONG + 8], locator[2 * BYWAY_LINE_MOST_WRONG + 9], omega[BYWAY_LINE_MOST_WRONG + 8], x = 1;
  unsigned degree, i, j, found = 0;
  if (!syndromes(w, s)) return 0;
  degree = locate(s, w->parity, locator);
  if (degree > w->parity / 2u) return -1;
  for (i = 0; i < degree; i++) {
    omega[i] = 0;
    for (j = 0; j <= i; j++) omega[i] ^= multiply(locator[j], s[i - j]);
  }
  /* Chien: each byte from the last, whose power is 0, on. 0x8E is the inverse of 2. */
  for (i = w->length; i-- > 0; x = multiply(x, 0x8E)) {
    if (value_at(locator, degree + 1, x)) continue;
    if (found == degree) return -1;
    changes[found].byte = byte_of(w, i);
    changes[found++].value = error_at(locator, omega, degree, x);
  }
  if (found != degree) return -1;
  for (i = 0; i < found; i++) *changes[i].byte ^= changes[i].value;
  return (int)found;
}

/* ---- Noise ---- */

/* The share of wrong bytes as a level. */
uint8_t byway_noise_level(const line_t *l) {
  uint32_t share, e = 0;
  if (l->noise_failed >= 4 && l->noise_failed > 2 * l->noise_fixed) return 0xFF;
  share = l->noise_wrong * 4096 / l->noise_bytes;
  share = l->noise_wrong > 0xFFFFF ? 0xFFFFF : share * 256 + (l->noise_wrong * 4096 % l->noise_bytes) * 256 / l->noise_bytes;
  if (share < 17) return 0;
  while (share >= 32) {
    share >>= 1;
    e++;
  }
  return e > 15 ? 0xFE : (uint8_t)(e << 4 | (share - 16));
}

/* The share of wrong bytes of a level, of 2^20. */
static uint32_t share_of(uint8_t level) { return level == 0 || level == 0xFF ? 0 : (uint32_t)(16 + (level & 15)) << (level >> 4); }

/* Counts bytes that came, and how many of them were wrong. Old ones are forgotten. */
void byway_count_noise(line_t *l, unsigned bytes, unsigned wrong) {
  uint32_t was = share_of(l->noise_told), is, least;
  l->noise_bytes += bytes;
  l->noise_wrong += wrong;
  l->noise_clean = wrong ? 0 : l->noise_clean + bytes;
  if (l->noise_wrong > 1 && l->noise_clean / 8 > l->noise_bytes / l->noise_wrong) {
    l->noise_bytes = l->noise_clean;
    l->noise_wrong = 1;
  }
  if (l->noise_wrong >= 64 || l->noise_bytes >= 0x10000) {
    l->noise_bytes /= 2;
    l->noise_wrong /= 2;
  }
  is = share_of(byway_noise_level(l));
  least = l->noise_wrong < 16 ? was / 2 : was / 5;
  if (is + least < was || is > was + least || (byway_noise_level(l) == 0xFF) != (l->noise_told == 0xFF)) {
    if (l->peer_correction && confirmed(l)) l->owed |= OWE_NOISE;
  }
}

/*
 * Counts a damaged run only when nine more bytes have come: a zero in the head of a frame with correction ends no run. Called for each
 * byte that is not part of such a frame, and when one is found.
 */
void byway_age_run(line_t *l, int found) {
  if (l->bad_run == 10) {
    byway_count_noise(l, 0, 1);
    l->bad_run = 0;
  }
  if (found) l->bad_run = 0;
  if (l->bad_run) l->bad_run++;
}

/* Counts frames with correction: lost ones, and those in which something was put right. */
void byway_count_frame(line_t *l, int fixed) {
  if (fixed < 0) l->noise_failed++;
  if (fixed > 0) l->noise_fixed++;
  if (l->noise_failed >= 16 || l->noise_fixed >= 16) {
    l->noise_failed /= 2;
    l->noise_fixed /= 2;
  }
}

static uint32_t square_root(uint32_t n) {
  uint32_t root = 0, bit = 1u << 15;
  for (; bit; bit >>= 1) {
    if ((root | bit) * (root | bit) <= n) root |= bit;
  }
  return root;
}

/* Shares of 2^20: a bit error rate of 0.002, and that at which it costs less than losses and the waiting for them. */
enum { TRIAL_NOISE = 16700, LEAST_NOISE = 2 * 0x100000L / BYWAY_LINE_BODY / BYWAY_LINE_BODY };

/* The strength for a frame of so many bytes, or PLAIN. Numbers with a fraction are in 1/256. */
int byway_strength_for(const line_t *l, unsigned data, int kind) {
  unsigned limit = l->peer_correction < BYWAY_LINE_CORRECTION ? l->peer_correction : BYWAY_LINE_CORRECTION, i;
  uint32_t share = share_of(l->peer_noise), wrong;
  if (limit == 0 || l->peer_noise == 0xFF) return PLAIN;
  if (!l->peer_told && kind < DATA) share = share_of(byway_noise_level(l));
  if (l->trial && kind >= DATA && share < TRIAL_NOISE) share = TRIAL_NOISE;
  if (share < LEAST_NOISE) return PLAIN;
  for (i = 0; i + 1 < limit; i++) {
    wrong = share * (data / byway_words_for(data, byway_wrong_of[i]) + 2u * byway_wrong_of[i]) >> 12;
    if ((uint32_t)byway_wrong_of[i] << 8 >= wrong + (kind >= DATA ? 5 : 7) * square_root(wrong) * 8 + 128) break;
  }
  return (int)i;
}

#endif
