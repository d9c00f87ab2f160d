/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* A server and a peer that dials it, in virtual time. */
#ifndef PAIR_H
#define PAIR_H

#include "byway.h"

#include <string.h>

static struct byway server;
static struct byway_line peer;
static uint32_t now;
#ifndef HEARD
#define HEARD (1 << 16)
#endif
static char heard[HEARD]; /* what the peer has read, ended by a zero */
static size_t heard_count;

/* Bytes on the way to the server are changed by this, if it is set. */
static size_t (*damage)(uint8_t *bytes, size_t count);

#if BYWAY_LINE_STREAMS
static int plain; /* the peer knows no streams */
#endif

/* The server is called only when bytes have arrived for it, and at its deadline, as by a device that sleeps between. */
static int dozes;
static uint32_t wakes;

static void peer_reads(void) {
  size_t count;
  while (heard_count < sizeof heard - 1 && (count = byway_line_read(&peer, heard + heard_count, sizeof heard - 1 - heard_count))) {
    heard_count += count;
  }
  heard[heard_count] = 0;
}

/* Lets a millisecond pass, with what both have to send. Ends that do not stop sending are an error. */
static inline void pass(void) {
  const uint8_t *frame;
  uint8_t bytes[512];
  size_t count;
  int frames = 0, arrived = 0;
  now++;
#if BYWAY_LINE_STREAMS
  if (plain) peer.streams = 0;
#endif
  while ((count = byway_line_output(&peer, now, &frame))) {
    if (++frames > 20 || count > sizeof bytes) __builtin_trap();
    memcpy(bytes, frame, count);
    if (damage) count = damage(bytes, count);
    byway_receive(&server, bytes, count, now);
    arrived = 1;
  }
  if (dozes && !arrived && (int32_t)(now - wakes) < 0) {
    peer_reads();
    return;
  }
  while ((count = byway_output(&server, now, &frame))) {
    if (++frames > 40) __builtin_trap();
    byway_line_receive(&peer, frame, count, now);
    peer_reads();
  }
  wakes = byway_deadline(&server, now);
  wakes = wakes == BYWAY_LINE_NEVER ? now + 0x7FFFFFFF : now + wakes;
  peer_reads();
}

static inline void pass_for(uint32_t milliseconds) {
  while (milliseconds--) pass();
}

static void start_pair(byway_service *service, const char *const *wanted) {
  byway_start(&server, service, wanted, 77, 115200, now);
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
  heard_count = 0;
  heard[0] = 0;
  damage = NULL;
  wakes = now;
}

/* Sends all, in time. */
static inline void say(const char *bytes, size_t count) {
  int patience = 20000;
  while (count && patience--) {
    size_t written = byway_line_write(&peer, bytes, count);
    bytes += written;
    count -= written;
    if (count) pass();
  }
}

#endif
