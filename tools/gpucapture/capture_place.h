/* SPDX-License-Identifier: Apache-2.0 */

/* Where gpucapture writes: OUT, or its part beside OUT when it is one of several that record a run;
 * the last of these to end makes OUT of the parts. Functions print what goes wrong, and return an
 * exit status. For main threads. */
#pragma once

#include "tools/parts.h"
#include "tools/place.h"

struct capture_place {
	struct place place;
	struct parts parts;
	const char *output; /* not owned */
	int force;
};

/* `of` says which part of the run it is; n_parts 0 or 1: all of it. */
int capture_place_begin(struct capture_place *p, const char *output, const struct fmt_origin *of,
			int force);

/* Gives the trace its name. */
int capture_place_commit(struct capture_place *p);

/* The trace has its name, or there is `nothing` to record: joins all parts if they are there. */
int capture_place_end(struct capture_place *p, int nothing);
