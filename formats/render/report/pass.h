/* SPDX-License-Identifier: Apache-2.0 */

/* A report in the making: pass.c reads the slices, sum.c adds up. Internal to the reports. */
#pragma once

#include "formats/render/report/instances.h"
#include "formats/render/report/neighbours.h"
#include "formats/render/report/report.h"
#include "formats/render/report/waits.h"

/* One rank's participation in a collective. */
struct fmt_share {
	int64_t comm, seq, start_ns, duration_ns;
	uint32_t rank, template;
	bool outside; /* it is in a neighbouring slice, not in the part */
};

struct fmt_report_pass {
	struct fmt_report *r;
	const struct fmt_names *names;
	struct fmt_error *err;
	struct fmt_report_op *stats; /* by template */
	struct fmt_instances instances;
	struct fmt_share *shares;
	size_t n_shares, shares_cap;
	uint32_t *group_of; /* by template: 1 + index of the collective row that it was last counted
			       in */
	size_t gpus_cap, runs_cap, ops_cap, collectives_cap;

	/* State of the current row. */
	uint32_t first_slice, last_slice;
	struct fmt_busy_ops busy; /* if the part is one iteration */
	struct fmt_busy_span span;
	struct fmt_neighbours neighbours;

	/* State of the current rank, if the part is all iterations. */
	struct fmt_busy_run run;
	size_t first_row;
};

/* Fills the report's totals, and the wait times of its rows. Returns 0 or -ENOMEM. */
int fmt_report_pass_sum(struct fmt_report_pass *p);
