/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The functions of string.h that the line needs. The compiler makes instructions of WebAssembly from them. */
#ifndef BYWAY_WASM_STRING_H
#define BYWAY_WASM_STRING_H

#define memcpy __builtin_memcpy
#define memmove __builtin_memmove
#define memset __builtin_memset

#endif
