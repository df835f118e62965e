/* SPDX-License-Identifier: Apache-2.0 */

/* The gain of a run if one part becomes 1 % faster: the network, the GPUs, the host, copies, calls,
 * each kernel, each kind of collective, each rank.
 *
 * Parts are chosen on the critical path of the emulated run: parts outside it do not shorten the
 * run, others by at most 1 % of their time on it. The gains are emulated with the change, because
 * another path may then be the critical one. */
#pragma once

#include "replay/engine/emulate.h"

#define SENSITIVITY_SPEED 1.01

struct sensitivity_row {
	const char *what; /* "network", "gpu", "kernel", "collective", "rank", ... */
	char *name;	  /* name of the kernel, kind of collective, or rank; NULL: all; owned */
	double gain_ns;	  /* of the mean step */
	double path_ns;	  /* its time on the critical path of a step */
	struct what_if *spec; /* owned */
};

struct sensitivity {
	struct sensitivity_row *rows; /* by gain */
	uint32_t n;
	double step_ns;	 /* the mean step, as emulated */
	double other_ns; /* the largest path_ns of a kernel, collective or rank without a row */
	double seconds;
};

/* Emulates the run twice. The caller ends *ret by sensitivity_done(). Returns 0 or a negative
 * errno, as replay_emulate() does; `options` has no what-ifs. */
int replay_sensitivity(struct fmt_trace *in, const struct replay_options *options,
		       struct sensitivity *ret, struct fmt_error *err);
void sensitivity_done(struct sensitivity *s);

void sensitivity_json(const struct sensitivity *s, struct text *out);
void sensitivity_text(const struct sensitivity *s, int colour, struct text *out);
