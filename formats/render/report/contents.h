/* SPDX-License-Identifier: Apache-2.0 */

/* Digests of slices, by the operation that they belong to; and where those of two operations
 * differ. For one thread. */
#pragma once

#include "base/text.h"
#include "formats/trace/model.h"

struct fmt_held;

struct fmt_contents {
	struct fmt_held *items; /* owned */
	size_t n, cap;
	int sorted;
};

void fmt_contents_done(struct fmt_contents *c);

/* Adds the digests of a slice, which must stay as it is. 0 or -ENOMEM. */
int fmt_contents_add(struct fmt_contents *c, const struct fmt_slice *s);

/* Whether the operation `x` of the one read or wrote other bytes than `y` of the other: 1, and the
 * buffer is appended to both texts, with the first page that differs. 0: not so, or one of them was
 * not digested, or not the same buffers of it were. */
int fmt_contents_differ(struct fmt_contents *a, fmt_number x, struct fmt_contents *b, fmt_number y,
			struct text *first, struct text *second);
