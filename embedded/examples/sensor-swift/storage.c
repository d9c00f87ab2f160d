/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

#include "storage.h"

__asm(".section .rodata.page\n.balign 4\npage_start: .incbin \"page.html\"\npage_end: .byte 0\n.previous");
extern const uint8_t page_start[], page_end[], file_start[];

uint32_t accessory_baud(void) { return BAUD; }
const uint8_t *page(void) { return page_start; }
uint32_t page_size(void) { return (uint32_t)(page_end - page_start); }
const uint8_t *file(void) { return file_start; }
