/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a trace from raw recordings: for gpucapture and `gputrace import`. Functions print what
 * goes wrong, and return an exit status. For main threads. */
#pragma once

#include "base/text.h"
#include "formats/run/gpucapture/import.h"
#include "tools/recordings.h"

/* Makes the trace `output`; ret->has_calls is false if nothing was recorded: then there is no
 * trace. `hint` is what to do when it fails: NULL, or the folder that the recordings stay in. */
int raw_import(const struct recordings *recordings, const char *output, int force, const char *hint,
	       struct rec_import_report *ret);

/* Completes recordings whose gpucapture was killed, from the rings that remain on this machine.
 * Waits for recorded programs that still run. */
int raw_import_complete(const struct recordings *recordings);

/* Appends the report as one line of JSON. */
void raw_import_json(struct text *t, const struct rec_import_report *r, const char *output);
void raw_import_text(struct text *t, const struct rec_import_report *r, const char *output);
/* Processes that were killed, and a recording that is damaged, a line each on stderr. */
void raw_import_print_killed(const struct rec_import_report *r, const char *output);
