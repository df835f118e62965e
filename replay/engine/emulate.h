/* SPDX-License-Identifier: Apache-2.0 */

/* Emulates a recorded run: computes new times from the durations of operations, the host's own time
 * and the edges of the trace. Reports the difference from the recorded times.
 *
 * To make a trace of a changed run from a trace and a spec such as "network=2x":
 *
 *     struct what_if *w;                             (what_if.h)
 *     r = what_if_parse(spec, &w, &why);             -EINVAL: why.why is the reason
 *     struct replay_options how = {.what_ifs = &w, .n_what_ifs = 1};
 *     r = replay_emulate(in, &how, out_path, &report, &err);
 *     replay_report_done(&report);
 *     what_if_free(w);
 *
 * After -EINVAL or -ENODATA, err.what is the reason why the trace does not allow the change. */
#pragma once

#include "formats/trace/store/trace.h"

#include "replay/report/report.h"

struct replay_options {
	/* The changed runs to predict; may be none. The report refers to them. */
	struct what_if *const *what_ifs;
	uint32_t n_what_ifs;
	int force; /* predict another network although waits and transfers cannot be separated */
	int steps_only; /* of changed runs: compute steps only, not the use of their GPUs */
	int explain;	/* find the critical path, which takes memory and time */

	/* Called regularly with the fraction done; may be NULL. */
	void (*progress)(void *context, double share);
	void *context;
};

/* Emulates the run in `in`. With out_path, writes the emulated run (with what-ifs, the first
 * changed one) there as a trace; after a failure the caller removes what was written. The caller
 * ends *ret by replay_report_done(). `options` and `err` may be NULL. Returns 0 or a negative
 * errno: -ENOMEM, -EBADMSG for a damaged trace, -EEXIST if out_path exists, -EINVAL for a what-if
 * that names a rank, kernel or communicator that the trace does not contain, -ENODATA for one that
 * the trace does not allow without `force`, or an error of writing.
 */
int replay_emulate(struct fmt_trace *in, const struct replay_options *options, const char *out_path,
		   struct replay_report *ret, struct fmt_error *err);
