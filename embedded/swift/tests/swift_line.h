/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The line layer in Swift, as Line+C.swift exports it. */
#ifndef SWIFT_LINE_H
#define SWIFT_LINE_H

#include <stddef.h>
#include <stdint.h>

size_t swift_line_size(void);
void swift_line_start(void *line, int role, uint32_t random, uint32_t baud, uint32_t now);
int swift_line_open(void *line, uint32_t random, uint32_t now);
void swift_line_receive(void *line, const uint8_t *bytes, size_t count, uint32_t now);
size_t swift_line_output(void *line, uint32_t now, const uint8_t **bytes);
void swift_line_run(void *line, uint32_t now);
uint32_t swift_line_deadline(void *line, uint32_t now);
size_t swift_line_write(void *line, const void *bytes, size_t count);
size_t swift_line_room(void *line);
size_t swift_line_read(void *line, void *bytes, size_t room);
int swift_line_ended(void *line);
void swift_line_finish(void *line);
void swift_line_leave(void *line, uint32_t now);
void swift_line_abort(void *line);
void swift_line_lost(void *line, uint32_t now);
void swift_line_back(void *line, uint32_t now);
int swift_line_state(void *line);
int swift_line_reason(void *line);
uint8_t swift_line_sessions(void *line);
unsigned swift_line_streams(void *line);
unsigned swift_line_peer_credit(void *line);
size_t swift_line_unsent(void *line);

#endif
