/* SPDX-License-Identifier: Apache-2.0 */

/* The output folder of a command that writes a trace. The command writes to a folder OUT.new-XXXXXX
 * beside OUT and renames it when it is complete. The folder is locked while its writer lives. The
 * next writer to the same output removes the folder of a killed writer, unless it contains more
 * than an unfinished trace. SIGINT, SIGTERM and SIGHUP are recorded until the command checks for
 * them, so that it can remove its folder. For main threads. */
#pragma once

#include "tools/work_folder.h"

#include <stdint.h>

struct output {
	const char *path; /* not owned */
	int force;
	struct work_folder folder; /* removed by output_done() */
	char trace[PATH_MAX];	   /* path to write the trace to; does not exist yet */
};

/* -EEXIST if there is something at `output`, unless it is a trace and `force` is set. */
int output_begin(struct output *p, const char *output, int force);

/* Renames the trace to the output. -EEXIST as output_begin(): something may have appeared
 * meanwhile.
 */
int output_commit(struct output *p);

/* Prints why the output cannot be written, from an error of output_begin(), output_commit() or of
 * opening the output, and returns the exit status. `could_force`: the command has --force, which
 * was not given. */
int output_fail(int r, const char *output, int could_force);

/* Removes the folder, with the trace if it was not committed. */
void output_done(struct output *p);

/* Returns the signal that arrived since output_begin(), or 0. */
int output_signal(void);

/* Shows progress; `context` is a struct progress. Returns -ECANCELED if a signal has arrived. A
 * callback for functions that write the trace. */
int output_progress(void *context, const char *what, uint64_t done, uint64_t total);

/* Ends the process by the signal that arrived, if any; after output_done(). */
void output_raise(void);
