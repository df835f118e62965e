/* SPDX-License-Identifier: Apache-2.0 */

/* How kernel parameters lie, which a ring says once for each kernel. Records are those that
 * cap_record_next() gives. Not thread-safe. */
#pragma once

#include "capture/record.h"

/* What one ring has said so far. */
struct cap_layouts {
	struct cap_layout {
		uint8_t *table; /* owned: what a CAP_BLOB_PARAMS begins with; NULL: not said */
		uint32_t table_bytes;
		uint32_t packed_bytes;
	} of[CAP_LAYOUTS];
};

/* Forgets all of it: also where a part of the ring was lost. */
void cap_layouts_done(struct cap_layouts *l);

/* 0 or -ENOMEM. */
int cap_layouts_say(struct cap_layouts *l, const struct cap_layout_record *r);

/* How long the parameters are as a CAP_BLOB; 0: their layout was not said, or is longer than they
 * are. */
uint32_t cap_layouts_blob_bytes(const struct cap_layouts *l, const struct cap_params_record *r);

/* Makes it, of that length. */
void cap_layouts_blob(const struct cap_layouts *l, const struct cap_params_record *r,
		      struct cap_blob_record *to);
