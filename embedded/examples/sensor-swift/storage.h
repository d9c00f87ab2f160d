/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The parts of the sensor in Swift that are in C: the board, and the contents of the flash. */
#ifndef STORAGE_H
#define STORAGE_H

#include "../sensor-c/board.h"

/* In storage.c, because Swift imports no address of an array in flash. */
uint32_t accessory_baud(void);
const uint8_t *page(void);
uint32_t page_size(void);
const uint8_t *file(void);

#endif
