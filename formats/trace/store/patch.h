/* SPDX-License-Identifier: Apache-2.0 */

/* Bytes written as their difference from other bytes: pieces copied from the base, and literal
 * bytes between them. doc/format.md, "Patches", is the specification. */
#pragma once

#include "formats/trace/store/cursor.h"

struct fmt_patch_base {
	struct text bytes;
	uint32_t *
		offsets; /* owned: of pieces in `bytes`, by hash, plus 1; 0: none. NULL: not made */
	unsigned int shift;
};

/* Frees the offsets, which the next patch makes again; or all. */
void fmt_patch_base_rest(struct fmt_patch_base *b);
void fmt_patch_base_done(struct fmt_patch_base *b);

/* Appends a patch that makes bytes[0 .. len) of the base; returns how many of them are copied from
 * the base, or -ENOMEM. */
int64_t fmt_patch_put(struct fmt_patch_base *base, const uint8_t *bytes, size_t len,
		      struct text *out);

/* Appends the bytes that the patch makes, of which there may be `limit`. -EBADMSG: not a patch of
 * that base. */
int fmt_patch_apply(struct fmt_cursor patch, const uint8_t *base, size_t base_len, uint64_t limit,
		    struct text *out);
