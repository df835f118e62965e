/* SPDX-License-Identifier: Apache-2.0 */

/* From what the processes did to a run as formats/ has it: ranks, tracks, communicators,
 * iterations, what follows from them by inference; and to a trace. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/contents.h"
#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/gpucapture/trace/window.h"
#include "formats/trace/store/writer.h"

/* What is kept, and what is missing. */
struct rec_result {
	uint64_t lost_records; /* that found no room in a ring */
	uint32_t n_ranks, n_processes, n_iterations;
	uint64_t calls, ops, collectives, ranges, digests;
	uint64_t without_times; /* operations of which no times came: left out */
	struct rec_contents_result contents;
	uint64_t undigested;		 /* iterations that --digest=step missed */
	uint64_t undigested_collectives; /* of launches of graphs */
	uint64_t unmatched;		 /* collectives whose communicator is not known */
};

/* Writes the trace `path`, which must not exist. `names` has what the processes' templates are
 * called, and gets the rest. With no rank, or no iteration in the window, there is nothing to
 * write: 0, and ret->n_ranks or ret->n_iterations is 0. */
int rec_run_write(struct rec_process *const *processes, size_t n, struct fmt_names *names,
		  const struct rec_window *window, const char *path, struct rec_result *ret,
		  struct fmt_error *err);
