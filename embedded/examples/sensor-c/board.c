/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* board.h for QEMU's mps2-an386: ARM's application note 386, and the CMSDK's UART. The first code that runs is here as well. */
#include "board.h"

#include "byway_line_inner.h" /* CRC-32C, which the kit has anyway */

#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

enum { CLOCK = 25000000, RING = 512 };

#define UART 0x40004000u
#define UART_DATA REGISTER(UART)
#define UART_STATE REGISTER(UART + 4)
#define UART_CTRL REGISTER(UART + 8)
#define UART_INTERRUPT REGISTER(UART + 12)
#define UART_DIVIDER REGISTER(UART + 16)
enum { TX_FULL = 1, RX_FULL = 2, TX_ENABLE = 1, RX_ENABLE = 2, TX_INTERRUPT = 4, RX_INTERRUPT = 8, TX_DONE = 1, RX_DONE = 2, OVERRUN = 8 };

#define SYSTICK_CTRL REGISTER(0xE000E010u)
#define SYSTICK_LOAD REGISTER(0xE000E014u)
#define SYSTICK_VALUE REGISTER(0xE000E018u)
#define NVIC_ENABLE REGISTER(0xE000E100u)
#define VECTORS REGISTER(0xE000ED08u)
#define RESET_CONTROL REGISTER(0xE000ED0Cu)

/* The memory in place of flash, which keeps its contents over a reset. */
#define SLOT 0x21000000u
#define IDENTITY REGISTER(0x21F00000u) /* the chip's, set by `-device loader` */
#define STARTS REGISTER(0x21F00004u)
enum { SLOT_MAGIC = 0x42795761 };

extern uint32_t stack_bottom[], stack_top[], data_from[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);

/* ---- The start ---- */

static const uint32_t *slot_words(void) { return (const uint32_t *)SLOT; }

static int slot_holds(uint32_t count, uint32_t check) {
  return count >= 8 && count <= SLOT_ROOM && ~byway_crc(0xFFFFFFFF, (const uint8_t *)SLOT + SLOT_HEAD, count) == check;
}

int slot_running(void) { return ((uintptr_t)&slot_running & 0xFF000000u) == SLOT; }

/* Starts the image of the second slot if it is intact. */
static void start_slot(void) {
  const uint32_t *head = slot_words(), *image = (const uint32_t *)(SLOT + SLOT_HEAD);
  if (slot_running() || head[0] != SLOT_MAGIC || !slot_holds(head[1], head[2])) return;
  VECTORS = SLOT + SLOT_HEAD;
  __asm volatile("msr msp, %0\n bx %1" : : "r"(image[0]), "r"(image[1]));
}

void start(void) {
  uint32_t *word, *here = (uint32_t *)__builtin_frame_address(0) - 16;
  start_slot();
  for (word = stack_bottom; word < here; word++) *word = 0xDEADBEEF;
  memcpy(data_start, data_from, (size_t)((uint8_t *)data_end - (uint8_t *)data_start));
  memset(bss_start, 0, (size_t)((uint8_t *)bss_end - (uint8_t *)bss_start));
  STARTS++;
  main();
}

uint32_t board_stack(void) {
  const uint32_t *word = stack_bottom;
  while (word < stack_top && *word == 0xDEADBEEF) word++;
  return (uint32_t)((stack_top - word) * 4);
}

uint32_t board_starts(void) { return STARTS; }

/* A counter of starts with the chip's identity. The hash only spreads it: docs/firmware.md. */
uint32_t board_seed(void) {
  uint32_t words[2];
  words[0] = IDENTITY;
  words[1] = STARTS;
  return byway_crc(0xFFFFFFFF, (const uint8_t *)words, sizeof words);
}

void board_reset(void) {
  RESET_CONTROL = 0x05FA0004;
  for (;;) {
  }
}

/* ---- Interrupts ---- */

static volatile uint32_t milliseconds, overruns;
static volatile uint16_t ring_from, ring_to;
static uint8_t ring[RING];
static const uint8_t *volatile sending;
static volatile uint32_t sending_left;

static void tick(void) { milliseconds++; }

static void received(void) {
  UART_INTERRUPT = RX_DONE;
  while (UART_STATE & RX_FULL) {
    uint16_t next = (uint16_t)((ring_to + 1) % RING);
    uint8_t byte = (uint8_t)UART_DATA;
    if (next == ring_from) {
      overruns++;
    } else {
      ring[ring_to] = byte;
      ring_to = next;
    }
  }
}

static void send_more(void) {
  while (sending_left && !(UART_STATE & TX_FULL)) {
    UART_DATA = *sending;
    sending++;
    sending_left--;
  }
}

static void sent(void) {
  UART_INTERRUPT = TX_DONE;
  send_more();
}

static void fault(void) { board_reset(); }

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
  (void (*)(void))stack_top, start, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, tick, received, sent,
};

/* ---- For the program ---- */

void board_start(uint32_t baud) {
  VECTORS = (uint32_t)(uintptr_t)vectors;
  SYSTICK_LOAD = CLOCK / 1000 - 1;
  SYSTICK_VALUE = 0;
  SYSTICK_CTRL = 7;
  UART_DIVIDER = CLOCK / baud;
  UART_CTRL = TX_ENABLE | RX_ENABLE | TX_INTERRUPT | RX_INTERRUPT;
  NVIC_ENABLE = 3;
  __asm volatile("cpsie i");
}

uint32_t board_milliseconds(void) { return milliseconds; }

uint32_t board_overruns(void) { return overruns; }

size_t board_receive(uint8_t *bytes, size_t room) {
  size_t count = 0;
  while (count < room && ring_from != ring_to) {
    bytes[count++] = ring[ring_from];
    ring_from = (uint16_t)((ring_from + 1) % RING);
  }
  return count;
}

int board_idle(void) { return sending_left == 0; }

void board_send(const uint8_t *bytes, size_t count) {
  __asm volatile("cpsid i");
  sending = bytes;
  sending_left = (uint32_t)count;
  send_more();
  __asm volatile("cpsie i");
}

void board_sleep(void) {
  __asm volatile("cpsid i");
  if (ring_from == ring_to) __asm volatile("wfi");
  __asm volatile("cpsie i");
}

/* ---- The slot ---- */

void slot_erase(void) { memset((void *)SLOT, 0xFF, SLOT_HEAD); }

int slot_write(uint32_t at, const uint8_t *bytes, size_t count) {
  if (slot_running() || count > SLOT_ROOM || at > SLOT_ROOM - count) return 0;
  memcpy((uint8_t *)SLOT + SLOT_HEAD + at, bytes, count);
  return 1;
}

int slot_commit(uint32_t count, uint32_t check) {
  uint32_t head[3] = {SLOT_MAGIC, count, check};
  if (!slot_holds(count, check)) return 0;
  memcpy((void *)SLOT, head, sizeof head);
  return 1;
}
