/* SPDX-License-Identifier: Apache-2.0 */

/* Which slices a rank is written in, and which of its calls and operations go where. One thread. */
#pragma once

#include "formats/run/write.h"

struct fmt_run_span {
	struct fmt_iteration iteration;
	int64_t from_ns; /* it holds what starts from here to where the next one begins */
	uint64_t records;
};

struct fmt_run_plan {
	struct fmt_run_span *slices; /* owned; by time, none empty but iterations */
	size_t n_slices, cap;
	uint32_t *number_of; /* owned: of each event, its number, from 0 on, in the trace */
	uint32_t *event_at;  /* owned: the other way round */
};

/* `run` has the events and iterations, `source` the ranges. 0 or -errno. */
int fmt_run_plan(const struct fmt_run_rank *run, const struct fmt_run_source *source,
		 struct fmt_run_plan *ret);
void fmt_run_plan_done(struct fmt_run_plan *p);
