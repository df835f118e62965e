/* SPDX-License-Identifier: Apache-2.0 */

/* Compares a recorded run with its emulation, by iteration and GPU. */
#pragma once

#include "base/text.h"

#include "formats/render/report/busy.h"
#include "replay/clock/path.h"
#include "replay/report/stability.h"
#include "replay/what_if/what_if.h"

/* A step of a changed run. */
struct replay_prediction {
	int64_t step_ns;
	struct fmt_busy busy;
};

struct replay_row {
	int64_t iteration;
	uint32_t gpu;				    /* the recorder's number of the rank */
	int64_t recorded_step_ns, emulated_step_ns; /* from the annotation on the host */
	struct fmt_busy recorded, emulated;
	const struct replay_prediction *predicted; /* by changed run; owned by the report */
};

/* Another number of copies of the model (copies.h); 0: as recorded. */
struct replay_copies {
	uint32_t n, per_copy, data;
	double within_bytes_per_s, between_bytes_per_s;
};

struct replay_report {
	struct replay_row *rows; /* by iteration, then GPU; owned */
	size_t n_rows;
	struct replay_row *runs; /* each GPU over the whole run, without step times; owned */
	size_t n_runs;
	uint32_t n_gpus;

	const struct fmt_names *names; /* of the trace */

	/* The requested changes; owned by the caller. */
	struct what_if *const *what_ifs;
	uint32_t n_what_ifs;
	struct replay_prediction *predicted; /* of the rows; owned */
	struct replay_copies copies;	     /* the report of one pass */
	struct replay_copies *copies_of;     /* by changed run; owned */
	double *mean_steps_ns;		     /* of the changed runs, over all their GPUs; owned */

	struct path_summary path; /* without iterations unless requested; owned */

	/* Sums over the steps: as emulated, and with device operations that take no time; equal to
	 * the former if not computed. */
	double emulated_ns, host_only_ns;

	/* Times that no change scales. */
	uint64_t unmatched; /* collectives whose duration contains waiting for ranks unknown */
	int64_t unmatched_ns, blocking_ns; /* unmatched_ns: their durations; blocking_ns: own costs
					      of blocking calls */
	int64_t alone_ns;		   /* durations of collectives without a matching one */
	uint64_t no_latency; /* collectives with unknown latency; 0 unless requested */
	int64_t no_latency_ns;
	uint64_t no_model; /* kernels of which only the number of threads is known, for another GPU
			      model; 0 unless requested */
	int64_t no_model_ns;

	struct stability_report stability; /* of inferred waits; empty with changed runs */

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

/* Prints the changed runs of the report beside the recorded one (prediction.c). The JSON is an
 * object for one run, an array for several. */
void replay_prediction_json(const struct replay_report *r, struct text *out);
void replay_prediction_text(const struct replay_report *r, int colour, struct text *out);

/* Returns the mean step of a changed run over the rows. */
double replay_mean_step_ns(const struct replay_report *r, uint32_t what_if);

/* Returns the part of the step time that would be saved if device operations took no time. */
double replay_leverage(const struct replay_report *r);
void replay_leverage_text(const struct replay_report *r, struct text *out);

/* Prints the stability of inferred waits (stability_report.c). The JSON is a member followed by a
 * comma. */
void replay_stability_json(const struct replay_report *r, struct text *out);
void replay_stability_text(const struct replay_report *r, int colour, struct text *out);

/* Appends "key": {...}; without step_ns if it is NULL. */
void replay_times_json(struct text *out, const char *key, const int64_t *step_ns,
		       const struct fmt_busy *b);
