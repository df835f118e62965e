/* SPDX-License-Identifier: Apache-2.0 */

/* The file trace.chunks: the names of a trace, and its manifest. Functions return 0 or a negative
 * errno and describe the error in *err. */
#pragma once

#include "formats/trace/names.h"
#include "formats/trace/store/manifest.h"
#include "formats/trace/store/trace.h"

/* Writes or replaces the file in the directory `trace`, atomically. `level` is that of zstd. */
int fmt_shared_write(const char *trace, const struct fmt_names *names, int level,
		     const struct fmt_manifest *manifest, struct fmt_error *err);

struct fmt_added_fact {
	uint32_t rank; /* index in the trace, or FMT_WHOLE_TRACE */
	const char *key;
	const char *json;
	size_t len;
};

/* Adds facts to a trace on disk, which changes its id. `t` does not show the new facts. -ENOTSUP:
 * the trace is packed or damaged. */
int fmt_shared_add_facts(const struct fmt_trace *t, const struct fmt_added_fact *facts, size_t n,
			 struct fmt_error *err);
