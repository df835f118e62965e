/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the copy or fill that wrote a buffer last before an operation read it. Digests of copies
 * from the host are taken of what the host has, and copies between GPUs may have none: bytes that
 * change on the way are seen where they are read. One thread. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

struct fmt_cause_writer {
	int64_t rank; /* its number; -1: none was found */
	int64_t iteration;
	fmt_number number;
	struct text what; /* "memcpy Memcpy HtoD"; owned */
};

/* Looks at all ranks of the process of rank `rank`, an index, for who wrote page `page` of the
 * buffer before that time. 0 or a negative errno as fmt_slice_load(), with *err. */
int fmt_cause_writer_find(struct fmt_trace *t, uint32_t rank, const struct fmt_digest *buffer,
			  uint32_t page, int64_t before_ns, struct fmt_cause_writer *ret,
			  struct fmt_error *err);
