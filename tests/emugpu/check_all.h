/* SPDX-License-Identifier: Apache-2.0 */

/* Checks for programs that continue after a failed check and count failures. */
#pragma once

#include <stdio.h>

static int failures;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                     \
			failures++;                                                                \
		}                                                                                  \
	} while (0)
