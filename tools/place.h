/* SPDX-License-Identifier: Apache-2.0 */

/* Where a command writes a trace that appears complete or not at all: in a folder of another name
 * beside it, until it is whole. SIGINT, SIGTERM and SIGHUP meanwhile are kept until the command
 * asks for them, so that it can remove what there is. For main threads. */
#pragma once

#include <limits.h>
#include <stdint.h>

struct place {
	const char *output; /* not owned */
	int force;
	char folder[PATH_MAX]; /* made, and removed again; "" when there is none */
	char trace[PATH_MAX];  /* where the trace is to be written: does not exist yet */
};

/* -EEXIST when there is something at `output`, but for a trace when `force` is set. */
int place_begin(struct place *p, const char *output, int force);

/* Removes what there is of the trace, to begin anew. 0 or a negative errno. */
int place_restart(struct place *p);

/* Whether there is a trace that opens, if only the beginning of one. */
int place_opens(const struct place *p);

/* Gives the trace its name; -EEXIST as before: something may have come meanwhile. */
int place_commit(struct place *p);

/* Says in one line why there can be no output of that name, by what place_begin(), place_commit()
 * or opening it said; the exit status. `force` is whether the command can replace a trace. */
int place_fail(int r, const char *output, int force);

/* Leaves the folder where it is, with the trace that could not be given its name. */
void place_keep(struct place *p);

/* Removes what was not committed. */
void place_done(struct place *p);

/* The signal that has come since place_begin(), or place_heed(), or 0. */
int place_signal(void);

/* Keeps signals again that another has been asked to take meanwhile. */
void place_heed(void);

/* Shows the struct progress that `context` is (progress.h), for what writes the trace: -ECANCELED
 * where a signal has come. */
int place_progress(void *context, const char *what, uint64_t done, uint64_t total);

/* Ends the process by the signal that has come, if one has; after place_done(). */
void place_raise(void);

/* Removes a folder with all that is in it. 0 or a negative errno. */
int place_remove(const char *path);
