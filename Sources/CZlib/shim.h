#ifndef BYWAY_CZLIB_SHIM_H
#define BYWAY_CZLIB_SHIM_H

// Input is only read.
#define ZLIB_CONST
#include <zlib.h>

// Macros in zlib.h, which Swift does not see.
static inline int zlib_deflate_init(z_stream *stream, int level, int windowBits, int memoryLevel) {
  return deflateInit2(stream, level, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY);
}

static inline int zlib_inflate_init(z_stream *stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}

#endif
