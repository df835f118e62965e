/* SPDX-License-Identifier: Apache-2.0 */

/* One traversal of a run, with all changed runs in which the same waits for the same. */
#pragma once

#include "replay/engine/emulate.h"

struct pass {
	struct fmt_trace *trace;
	const struct replay_options *options; /* its what-ifs are not read */
	struct what_if *const *specs;	      /* of changed runs with this structure */
	uint32_t n_specs;
	struct what_if_structure structure;
	uint32_t n_runs; /* of all traversals; the longer, the fewer iterations a path covers */
	const char *out_path; /* for the first changed run, or the emulated one; NULL: none */
};

/* As replay_emulate(); the report's predictions are those of the specs. */
int pass_run(const struct pass *pass, struct replay_report *ret, struct fmt_error *err);
