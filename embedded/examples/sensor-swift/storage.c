/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

#include "storage.h"

static struct byway accessory;
static const char *const wanted[] = {"x-crc32c", 0};

__asm(".section .rodata.page\n.balign 4\npage_start: .incbin \"page.html\"\npage_end: .byte 0\n.previous");
extern const uint8_t page_start[], page_end[], file_start[];

struct byway *accessory_end(void) { return &accessory; }
const char *const *accessory_wanted(void) { return wanted; }
uint32_t accessory_baud(void) { return BAUD; }
const void *page(void) { return page_start; }
uint32_t page_size(void) { return (uint32_t)(page_end - page_start); }
const void *file(void) { return file_start; }
