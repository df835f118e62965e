/* SPDX-License-Identifier: Apache-2.0 */

/* The memory ranges that a copy, a memset or a collective reads and writes, according to its
 * arguments. */
#pragma once

#include "capture/library/call/hook.h"
#include "formats/api/api.h"

/* A 2D copy of up to this many lines gets a span for each line; with more lines one span that
 * includes the gaps between them. */
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

/* Appends the spans of the call, except arrays and memory whose length the arguments do not
 * contain. Returns 0 or -ENOMEM. */
int cap_spans_from_call(const struct cap_call *c, const struct api_call *call,
			struct cap_spans *ret);
