/* SPDX-License-Identifier: Apache-2.0 */

/* Which slices a rank is written in, and which of its calls and operations go where. One thread. */
#pragma once

#include "formats/kineto/order.h"
#include "formats/run.h"

struct kineto_slice {
	struct fmt_iteration iteration;
	int64_t from_ns; /* it holds what starts from here to where the next one begins */
	uint64_t records;
};

struct kineto_plan {
	struct kineto_slice *slices; /* owned; by time, none empty but iterations */
	size_t n_slices, cap;
	uint32_t *slice_of;  /* owned: of each event */
	uint32_t *number_of; /* owned: of each event, its number in the trace */
	uint32_t *event_at;  /* owned: the other way round */
};

/* `run` has the events and iterations, `k` the ranges. 0 or -errno. */
int kineto_plan(const struct kineto_rank *k, const struct fmt_run_rank *run,
		const uint32_t *call_of, struct kineto_plan *ret);
void kineto_plan_done(struct kineto_plan *p);
