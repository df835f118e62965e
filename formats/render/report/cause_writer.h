/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the copy or memset that last wrote a buffer before an operation read it. Digests of copies
 * from the host are taken on the host, and copies between GPUs may have none, so bytes that change
 * during a copy are noticed only when they are read. One thread. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

struct fmt_cause_writer {
	int64_t rank; /* its number; -1: not found */
	int64_t iteration;
	fmt_number number;
	struct text what; /* "memcpy Memcpy HtoD"; owned */
};

/* Searches all ranks of the process of rank `rank`, an index, for the operation that wrote page
 * `page` of the buffer before before_ns. Returns 0 or a negative errno as fmt_slice_load(), with
 * *err. */
int fmt_cause_writer_find(struct fmt_trace *t, uint32_t rank, const struct fmt_digest *buffer,
			  uint32_t page, int64_t before_ns, struct fmt_cause_writer *ret,
			  struct fmt_error *err);
