#ifndef BYWAY_CZLIB_SHIM_H
#define BYWAY_CZLIB_SHIM_H

// Declares the input as const.
#define ZLIB_CONST
#include <zlib.h>

// Functions for macros of zlib.h, which Swift cannot use.
static inline int zlib_deflate_init(z_stream *stream, int level, int windowBits, int memoryLevel) {
  return deflateInit2(stream, level, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY);
}

static inline int zlib_inflate_init(z_stream *stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}

#endif
