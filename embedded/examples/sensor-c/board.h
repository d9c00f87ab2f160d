/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The board: a Cortex-M4 with CMSDK's UART, as QEMU's machine mps2-an386 has it. Another board needs another board.c. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* Starts the clock of milliseconds and the UART. */
void board_start(uint32_t baud);

uint32_t board_milliseconds(void);

/* Takes bytes that the UART's interrupt has collected, and returns how many. */
size_t board_receive(uint8_t *bytes, size_t room);

/* Returns the number of bytes that were lost because they were not read in time. */
uint32_t board_overruns(void);

/* Begins to send, from where the bytes are. Only if the board is idle. */
void board_send(const uint8_t *bytes, size_t count);
int board_idle(void);

/* Sleeps until an interrupt, unless bytes wait. */
void board_sleep(void);

void board_reset(void);

/* Another number at each start. */
uint32_t board_seed(void);
uint32_t board_starts(void);

/* The most stack in use so far, in bytes. */
uint32_t board_stack(void);

/* The second slot for firmware, in place of flash that keeps its contents over a reset. */
enum { SLOT_HEAD = 256, SLOT_ROOM = 128 * 1024 };
void slot_erase(void);
int slot_write(uint32_t at, const uint8_t *bytes, size_t count);
/* The image is complete, and runs at the next start. Returns 0 if it is not what was announced. */
int slot_commit(uint32_t count, uint32_t check);
int slot_running(void);

#endif
