/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The functions that the line layer and the compilers need: the program has no C library. memory.c has them. */
#ifndef BYWAY_MINI_STRING_H
#define BYWAY_MINI_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);

#endif
