/* SPDX-License-Identifier: Apache-2.0 */

/* One traversal of a run that emulates all changed runs with the same dependencies. */
#pragma once

#include "replay/engine/emulate.h"

struct pass {
	struct fmt_trace *trace;
	const struct replay_options *options; /* without its what-ifs */
	struct what_if *const *specs;	      /* the changed runs with this structure */
	uint32_t n_specs;
	struct what_if_structure structure;
	uint32_t n_runs; /* number of runs in all traversals; with more runs, a path covers fewer
			    iterations */
	const char *out_path; /* first changed run, or emulated run; NULL: none */
};

/* As replay_emulate(), but the predictions of the report are those of the specs. */
int pass_run(const struct pass *pass, struct replay_report *ret, struct fmt_error *err);
