/* SPDX-License-Identifier: Apache-2.0 */

/* What run.c and making.c share: one segment of a run. */
#pragma once

#include "formats/run/gpucapture/trace/places.h"
#include "formats/run/gpucapture/trace/run.h"

/* A segment on its way to a trace. */
struct rec_job {
	struct rec_process *const *processes;
	size_t n; /* that have begun */
	const struct rec_ranks *ranks;
	struct fmt_run run;
	struct fmt_run_part *parts; /* owned: by rank */
	struct rec_places places;
	struct rec_result *result;
	const struct rec_window *window;
	struct fmt_run_reading *readings; /* owned: by rank */
};

void rec_job_done(struct rec_job *j);

/* Room for what its ranks have, which are known. 0 or -ENOMEM. */
int rec_job_allocate(struct rec_job *j);
/* Adds the ranges of a process to the parts that they are in. 0 or a negative errno. */
int rec_job_ranges(struct rec_job *j, const struct rec_process *p);
/* A rank of it as the writer takes it, with the contents that are wanted. */
struct fmt_run_source rec_job_source(struct rec_job *j, uint32_t rank);
/* Writes the code images and contents, if there are any. 0 or a negative errno. */
int rec_job_contents(struct rec_job *j, struct rec_wanted *wanted, struct fmt_writer *w,
		     struct fmt_error *err);
/* Counts the iterations that --digest=step missed. */
void rec_job_undigested(struct rec_job *j);
/* Counts what a rank has. */
void rec_job_count(const struct rec_job *j, uint32_t rank);
