/* SPDX-License-Identifier: Apache-2.0 */

/* Records of what a call's arguments point to, in the ring of the thread that makes the call. */
#pragma once

#include "capture/library/call/hook.h"

/* A blob of `len` bytes; of more than fits a ring, the beginning. `field` is 0 unless `what` is
 * CAP_BLOB_FIELD. */
void cap_put_bytes(const struct cap_call *c, unsigned arg, enum cap_blob_what what, unsigned field,
		   const void *bytes, uint64_t len);

/* The code image at `image`; that in a file. */
void cap_put_image(const struct cap_call *c, unsigned arg, const void *image);
void cap_put_image_file(const struct cap_call *c, unsigned arg, const char *path);
