/* SPDX-License-Identifier: Apache-2.0 */

/* Layouts of kernel parameters; a ring contains the layout of each kernel once. Records are those
 * of cap_record_next(). Not thread-safe. */
#pragma once

#include "formats/raw/record.h"

/* The layouts read from one ring so far. */
struct cap_layouts {
	struct cap_layout {
		uint8_t *table; /* owned: the beginning of a CAP_BLOB_PARAMS; NULL: none yet */
		uint32_t table_bytes;
		uint32_t packed_bytes;
	} layouts[CAP_LAYOUTS];
};

/* Drops all layouts; also used after a part of the ring was lost. */
void cap_layouts_done(struct cap_layouts *l);

/* Adds a layout. Returns 0 or -ENOMEM. */
int cap_layouts_add(struct cap_layouts *l, const struct cap_layout_record *r);

/* Returns the length of the parameters as a CAP_BLOB; 0: the layout is unknown, or longer than the
 * parameters. */
uint32_t cap_layouts_blob_bytes(const struct cap_layouts *l, const struct cap_params_record *r);

/* Makes that CAP_BLOB. */
void cap_layouts_make_blob(const struct cap_layouts *l, const struct cap_params_record *r,
			   struct cap_blob_record *to);
