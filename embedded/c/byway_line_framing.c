/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* CRC-32C and COBS: docs/wire-protocol.md, section 1. */
#include "byway_line_inner.h"

#include <string.h>

static const uint32_t crc_table[16] = {0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
                                       0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};

uint32_t byway_crc(uint32_t state, const uint8_t *bytes, size_t count) {
  while (count--) {
    state ^= *bytes++;
    state = state >> 4 ^ crc_table[state & 15];
    state = state >> 4 ^ crc_table[state & 15];
  }
  return state;
}

/* Decodes in place, and returns the length, or -1. */
int byway_cobs_decode(uint8_t *b, unsigned count) {
  unsigned from = 0, to = 0;
  while (from < count) {
    unsigned code = b[from++];
    if (from + code - 1 > count) return -1;
    memmove(b + to, b + from, code - 1);
    from += code - 1;
    to += code - 1;
    if (code < 255 && from < count) b[to++] = 0;
  }
  return (int)to;
}

/* Encodes count bytes to where they overlap what was encoded before: to is 1 + count / 254 bytes before from. Returns the length. */
unsigned byway_cobs_encode(uint8_t *to, const uint8_t *from, unsigned count) {
  uint8_t *code = to, *at = to + 1;
  const uint8_t *limit = from + count;
  while (from < limit) {
    uint8_t byte = *from++;
    if (byte) *at++ = byte;
    if (!byte || (at - code == 255 && from < limit)) {
      *code = (uint8_t)(at - code);
      code = at++;
    }
  }
  *code = (uint8_t)(at - code);
  return (unsigned)(at - to);
}
