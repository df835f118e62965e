/* SPDX-License-Identifier: Apache-2.0 */

/* The raw recordings of a run, in the folder OUT.raw beside its trace OUT, on storage that all
 * hosts of the run share. Each gpucapture of the run appends to its own file; none waits for
 * another.
 *
 *     part-0003.recording   in progress, or its gpucapture was killed
 *     part-0003.raw         complete
 *     importing             the part that completed last: it makes OUT of all parts and then
 *                           removes the folder
 *
 * Functions return 0 or a negative errno. For main threads. */
#pragma once

#include "formats/trace/origin.h"

#include <limits.h>
#include <stddef.h>

struct recording {
	char folder[PATH_MAX - 272];
	char path[PATH_MAX];	  /* of this part, while it is recorded */
	struct fmt_origin origin; /* part, n_parts, run */
};

/* Finds the part of a run that this process records, by the launcher's variables; n_parts is 0 or 1
 * if it records the whole run. */
void recording_by_launcher(struct fmt_origin *ret);

/* Creates the folder if it is not there. -EEXIST: it has a recording of this part already; with
 * `force` one of another run of the launcher is removed. */
int recording_begin(struct recording *r, const char *output, const struct fmt_origin *of,
		    int force);
/* Gives the complete recording its name. 1: all parts are complete, and the caller imports them;
 * 0: others are not. */
int recording_complete(struct recording *r);
/* Removes the recording, and the folder if nothing else is in it. */
void recording_abandon(const struct recording *r);
/* Removes the folder and its contents. */
void recording_remove(const struct recording *r);

/* The recordings in files and folders. */
struct recordings {
	char **files; /* owned; in order */
	size_t n, cap;
};

/* Returns true if the path is a raw recording or a folder of raw recordings. */
int recordings_exist_at(const char *path);
int recordings_find(char *const *paths, size_t n, struct recordings *ret);
void recordings_done(struct recordings *r);
