/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* Checks that count what holds, and print what does not. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <string.h>

static int passed, failed;

static void expect_text(const char *name, const char *value, const char *expected) {
  if (!strcmp(value, expected)) {
    passed++;
  } else {
    failed++;
    printf("FAILED: %s\n  expected %s\n  not      %s\n", name, expected, value);
  }
}

static inline void expect(const char *name, int holds) { expect_text(name, holds ? "true" : "false", "true"); }

#endif
