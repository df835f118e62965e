/* SPDX-License-Identifier: Apache-2.0 */

/* What programs check with that go on after what does not hold, and count it. */
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
