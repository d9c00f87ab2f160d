/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* Checks of each call of a service. A file that includes it has defined MUST, and includes pair.h. */
#ifndef CALLS_H
#define CALLS_H

/* Checks a call about a request that the service knows, or not, and has answered, or not. Reads all bytes, for the sanitizers. */
static void check_call(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count, int is_known, int is_answered) {
  volatile uint8_t sum = 0;
  size_t i;
  MUST(b == &server);
  for (i = 0; i < count; i++) sum = (uint8_t)(sum + bytes[i]);
  if (event == BYWAY_BODY) MUST(count > 0 && count <= BYWAY_STAGED);
  if (event != BYWAY_REQUEST) {
    MUST(is_known);
    return;
  }
  MUST(!is_known || is_answered);
  MUST(byway_target(b)[0] == '/' || byway_target(b)[0] == '*');
  MUST(strlen(byway_target(b)) < BYWAY_HEAD);
  if (byway_field(b, "x-one")) MUST(strlen(byway_field(b, "x-one")) < BYWAY_HEAD);
}

#endif
