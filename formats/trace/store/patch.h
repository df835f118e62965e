/* SPDX-License-Identifier: Apache-2.0 */

/* Bytes stored as their difference from other bytes: pieces copied from the base, and literal bytes
 * between them. doc/format.md, "Patches", is the specification. */
#pragma once

#include "formats/trace/store/cursor.h"

struct fmt_patch_base {
	struct text bytes;
	uint32_t *offsets; /* owned: 1 + offset of pieces in `bytes`, by hash; 0: none. NULL: not
			      built */
	unsigned int shift;
};

/* Frees the offsets, which the next patch builds again; fmt_patch_base_done() frees everything. */
void fmt_patch_base_trim(struct fmt_patch_base *b);
void fmt_patch_base_done(struct fmt_patch_base *b);

/* Appends a patch that makes bytes[0 .. len) of the base. Returns the number of bytes copied from
 * the base, or -ENOMEM. */
int64_t fmt_patch_put(struct fmt_patch_base *base, const uint8_t *bytes, size_t len,
		      struct text *out);

/* Appends the result of the patch, at most `limit` bytes. -EBADMSG: not a patch for that base. */
int fmt_patch_apply(struct fmt_cursor patch, const uint8_t *base, size_t base_len, uint64_t limit,
		    struct text *out);
