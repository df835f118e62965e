/* SPDX-License-Identifier: Apache-2.0 */

/* The file, offset and reason of a failed read. Every function of formats/ that decodes files has
 * it as an argument. */
#pragma once

#include <stdint.h>

#define FMT_NO_OFFSET UINT64_MAX

struct fmt_error {
	char file[256];	 /* the path, truncated at the front if longer; "" if unknown */
	uint64_t offset; /* bytes from the start of the file, or FMT_NO_OFFSET */
	char what[400];	 /* the problem: one clause without a full stop */
	int code;	 /* a negative errno; -EBADMSG: the bytes are damaged */
};

/* Fills *err (which may be NULL) and returns `code`, for `return fmt_fail(err, -EBADMSG, ...)`. */
__attribute__((format(printf, 5, 6))) int fmt_fail(struct fmt_error *err, int code,
						   const char *file, uint64_t offset,
						   const char *format, ...);
