/* SPDX-License-Identifier: Apache-2.0 */

/* Records what a program and all that it starts do on GPUs: makes the session folder, reads the
 * rings in it, and makes a trace of them.
 *
 *     rec_open(&settings, &r)          rec_folder(r) is what GPUCAPTURE_SESSION is to say
 *     rec_round(r, 0) again and again while the program runs, every few milliseconds
 *     rec_write(r, path, ...)          when it has ended
 *     rec_close(r)
 *
 * One thread at a time. Functions return 0 or a negative errno.
 */
#pragma once

#include "capture/recorder/run.h"
#include "capture/ring.h"
#include "formats/origin.h"

struct rec_recorder;

int rec_open(const struct cap_control *settings, struct rec_recorder **ret);
void rec_close(struct rec_recorder *r);

const char *rec_folder(const struct rec_recorder *r);

/* Reads what is there: how many bytes. With `last`, what nothing can precede any more as well. */
long rec_round(struct rec_recorder *r, bool last);

/* Processes that were seen, and whether any of them made a call. */
size_t rec_n_processes(const struct rec_recorder *r);
bool rec_has_calls(const struct rec_recorder *r);

/* Whether one of them still runs. */
bool rec_is_traced(const struct rec_recorder *r);

/* Writes what was read, see rec_run_write(). `part` says which part of a run this is; its clock is
 * found here. */
int rec_write(struct rec_recorder *r, const struct rec_window *window,
	      const struct fmt_origin *part, const char *path, struct rec_result *ret,
	      struct fmt_error *err);
