/* SPDX-License-Identifier: Apache-2.0 */

/* Restores the contents of memory at the start of the window. One thread. */
#pragma once

#include "replay/device/allocations.h"
#include "replay/device/objects.h"

/* Call after the calls before the window were executed. *missing_bytes counts bytes that the
 * keyframe does not contain or that are not mapped here; without a keyframe, all memory. Returns 0;
 * -EIO: the driver failed; a negative errno as fmt_blob_read(). */
int rex_keyframe_restore(const struct rex_process *p, const struct rex_allocations *a,
			 struct rex_objects *objects, uint64_t *missing_bytes);
