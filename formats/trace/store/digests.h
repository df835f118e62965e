/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk FMT_CHUNK_DIGESTS: digests and page sums of one slice. */
#pragma once

#include "formats/trace/model.h"
#include "formats/trace/store/cursor.h"

/* Appends the payload. -EINVAL: a digest's pages are not among those of the slice. */
int fmt_digests_put(const struct fmt_slice *s, struct text *out);

/* Sets digests and pages of `s`, which must have none; they are freed with it. `n` is the number in
 * the slice's header. -EBADMSG: damage. */
int fmt_digests_get(struct fmt_cursor in, uint64_t n, struct fmt_slice *s);
