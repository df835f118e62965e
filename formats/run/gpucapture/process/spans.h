/* SPDX-License-Identifier: Apache-2.0 */

/* Stretches of addresses that do not overlap: which memory an address is in. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rec_span {
	uint64_t start, end;
};

struct rec_spans {
	struct rec_span *spans; /* owned; by start */
	size_t n, cap;
};

void rec_spans_done(struct rec_spans *s);

/* What it overlaps was freed unseen, and goes. 0 or -ENOMEM; an empty one is none. */
int rec_spans_add(struct rec_spans *s, uint64_t start, uint64_t bytes);

/* Removes the span that starts there. */
void rec_spans_remove(struct rec_spans *s, uint64_t start);

/* The span around the address, or NULL. */
const struct rec_span *rec_spans_find(const struct rec_spans *s, uint64_t address);
