/* SPDX-License-Identifier: Apache-2.0 */

/* What gpucapture leaves of a run that several of them record at once, each its part: the folder
 * OUT.parts beside OUT, on storage that all of them see. Nobody waits for another.
 *
 *     part-0003.begun   the part has begun: host and run, a line each
 *     part-0003         its trace, which appears complete
 *     part-0003.none    there was nothing to record
 *     joining           made by the last to end, which makes OUT of them and removes the folder
 *
 * Functions return 0 or a negative errno. For main threads. */
#pragma once

#include "formats/trace/origin.h"

#include <limits.h>
#include <stddef.h>

struct parts {
	char folder[PATH_MAX - 64];
	char trace[PATH_MAX]; /* of this part */
	struct fmt_origin of; /* part, n_parts, run */
};

/* Which part the launcher's variables say that this process is: n_parts is 0 or 1 where it is the
 * only one. */
void parts_by_launcher(struct fmt_origin *ret);

/* Makes the folder if it is not there, and says that the part has begun. -EEXIST: it has already;
 * with `force` what was of another run goes. */
int parts_begin(struct parts *p, const char *output, const struct fmt_origin *of, int force);

/* The part has ended, with its trace in place or with nothing. 1: all have, and it is for the
 * caller to join them. */
int parts_end(struct parts *p, int nothing);

/* What a folder holds: traces, and the hosts of which there is none. */
struct parts_found {
	char **traces, **absent; /* owned */
	size_t n_traces, n_absent, traces_cap, absent_cap;
};

int parts_find(const char *folder, struct parts_found *ret);
void parts_found_done(struct parts_found *f);
