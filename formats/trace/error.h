/* SPDX-License-Identifier: Apache-2.0 */

/* The file, offset and reason of a failed read. Every function of formats/ that decodes files takes
 * one as an argument. */
#pragma once

#include <stdint.h>

#define FMT_NO_OFFSET UINT64_MAX

struct fmt_error {
	char file[256];	 /* the path, its end where it is longer; "" when unknown */
	uint64_t offset; /* bytes from the start of the file, or FMT_NO_OFFSET */
	char what[160];	 /* one clause, no full stop: what is wrong */
};

/* Fills *err (which may be NULL) and returns `code`, so that a caller says `return fmt_fail(err,
 * -EBADMSG, ...)`. */
__attribute__((format(printf, 5, 6))) int fmt_fail(struct fmt_error *err, int code,
						   const char *file, uint64_t offset,
						   const char *format, ...);
