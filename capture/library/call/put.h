/* SPDX-License-Identifier: Apache-2.0 */

/* Records of memory that a call's arguments point to, in the ring of the calling thread. */
#pragma once

#include "capture/library/call/hook.h"

/* Writes a blob of `len` bytes, truncated if it does not fit into a ring. `field`: as in
 * struct cap_blob_record. */
void cap_put_bytes(const struct cap_call *c, unsigned arg, enum cap_blob_kind what, unsigned field,
		   const void *bytes, uint64_t len);

/* Write the code image at `image`; the code image in a file. */
void cap_put_image(const struct cap_call *c, unsigned arg, const void *image);
void cap_put_image_file(const struct cap_call *c, unsigned arg, const char *path);
