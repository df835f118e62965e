/* SPDX-License-Identifier: Apache-2.0 */

/* Makes one trace of those that parts of a run left: of each host, say. Ranks keep their numbers
 * where these are all different; else launchers' variables number them, else the order of the
 * parts. Times become those of the clock of the first rank's host (formats/run/clocks.h).
 *
 * Memory: all calls and operations of all ranks, as an importer's. One thread. */
#pragma once

#include "formats/run/clocks.h"
#include "formats/trace/error.h"

#include <stdint.h>

struct fmt_join {
	const char *const *paths; /* of traces */
	size_t n_paths;
	const char *output; /* a directory to make; must not exist */
	/* Parts of which no trace came, by what they are called; the trace says so. */
	const char *const *absent;
	size_t n_absent;
	/* Called now and then; a negative errno ends it. May be NULL. */
	int (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

struct fmt_join_result {
	uint32_t n_ranks, n_clocks;
	uint32_t n_aligned;	       /* clocks that collectives tie to the first one */
	struct fmt_clocks_error error; /* of the collectives of several clocks */
	uint64_t out_of_order;	       /* of those: that would end before all of it had begun */
};

/* 0; or -EBADMSG for parts of which nothing says that they are of one run, or that are damaged; or
 * what reading and writing say. On failure the
 * output may be there in part: the caller removes it. */
int fmt_join(const struct fmt_join *j, struct fmt_join_result *ret, struct fmt_error *err);
