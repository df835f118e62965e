/* SPDX-License-Identifier: Apache-2.0 */

/* Emulates a recorded run: from the durations of operations, the host's own time and the edges of
 * the trace come new times for everything, and a report of how far they are from the recorded ones.
 */
#pragma once

#include "formats/trace/store/trace.h"

#include "replay/engine/report.h"

struct replay_options {
	/* Called now and then with the share that is done; may be NULL. */
	void (*progress)(void *context, double share);
	void *context;
};

/* Reads `in` to its end. With out_path, the emulated run is written there as a trace; on
 * failure it may be there in part: the caller removes it. *ret is the caller's, to be ended by
 * replay_report_done(). `options` and `err` may be NULL. Returns 0 or a negative errno: -ENOMEM,
 * -EBADMSG for a damaged trace, -EEXIST when out_path is there, or as writing fails.
 */
int replay_emulate(struct fmt_trace *in, const struct replay_options *options, const char *out_path,
		   struct replay_report *ret, struct fmt_error *err);
