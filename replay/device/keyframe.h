/* SPDX-License-Identifier: Apache-2.0 */

/* Fills memory with what it held when the window began. One thread. */
#pragma once

#include "replay/device/objects.h"
#include "replay/device/recorded.h"

/* The calls before the window have been made. *missing_bytes counts bytes that are not in the
 * keyframe, or have no place here; without a keyframe, all memory. 0; -EIO: the driver refused; a
 * negative errno as fmt_blob_read(). */
int rex_keyframe_restore(const struct rex_process *p, struct rex_objects *objects,
			 uint64_t *missing_bytes);
