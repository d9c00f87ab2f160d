/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* What C keeps for the sensor in Swift: the end of the line, at a fixed place, and what is in flash. */
#ifndef STORAGE_H
#define STORAGE_H

#include "../sensor-c/board.h"
#include "../../c/byway.h"

/* In storage.c, because Swift imports no address of an array in flash. */
struct byway *accessory_end(void);
const char *const *accessory_wanted(void);
uint32_t accessory_baud(void);
const void *page(void);
uint32_t page_size(void);
const void *file(void);

uint32_t byway_crc(uint32_t state, const uint8_t *bytes, size_t count);

#endif
