/* SPDX-License-Identifier: Apache-2.0 */

/* Compares a recorded run with its emulation, by iteration and GPU. */
#pragma once

#include "base/text.h"

#include "formats/render/report/busy.h"

struct replay_row {
	int64_t iteration;
	uint32_t gpu;				    /* the recorder's number of the rank */
	int64_t recorded_step_ns, emulated_step_ns; /* of the annotation on the host */
	struct fmt_busy recorded, emulated;
};

struct replay_report {
	struct replay_row *rows; /* by iteration, then GPU; owned */
	size_t n_rows;
	struct replay_row *runs; /* each GPU over the whole run, without step times; owned */
	size_t n_runs;
	uint32_t n_gpus;

	/* Distance between emulated and recorded starts of operations, both relative to the start
	 * of their iteration. */
	int64_t start_error_p50_ns, start_error_p95_ns, start_error_max_ns;

	uint64_t ops;
	uint64_t unexplained; /* operations with an unexplained recorded start */
	uint64_t broken;  /* waits dropped because they would never end (damaged or truncated trace)
			   */
	uint64_t too_far; /* edges ignored because their start is too far back */
	uint64_t repeated; /* collectives with the number of an earlier one */
	uint64_t within;   /* collectives without times of their own, within another operation */
	double seconds;	   /* duration of the emulation */
};

void replay_report_json(const struct replay_report *r, struct text *out);
void replay_report_text(const struct replay_report *r, int colour, struct text *out);
void replay_report_done(struct replay_report *r);
