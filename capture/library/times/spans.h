/* SPDX-License-Identifier: Apache-2.0 */

/* The bytes that a copy, a set or a collective reads and writes, from its arguments. */
#pragma once

#include "capture/library/call/hook.h"
#include "formats/api/api.h"

/* Lines of a 2D copy that are a span each; of one with more, and gaps between them, the gaps count
 * as if they were copied, too. */
#define CAP_MOST_LINES 256

struct cap_span {
	uint64_t address, bytes;
	uint8_t output; /* 0: read, 1: written */
};

struct cap_spans {
	struct cap_span *items; /* owned */
	size_t n, cap;
};

void cap_spans_done(struct cap_spans *s);

/* Appends the spans of the call; what lies in an array, or has no length that the arguments say, is
 * left out. 0 or -ENOMEM. */
int cap_spans_of(const struct cap_call *c, const struct api_call *call, struct cap_spans *ret);
