/* SPDX-License-Identifier: Apache-2.0 */

/* A trace that appears complete or not at all: a command writes it in a folder OUT.new-XXXXXX
 * beside OUT, and renames it when it is complete. The folder is locked while its writer lives. The
 * next writer to the same output removes the folder of a killed one, unless it holds more than an
 * unfinished trace. Meanwhile SIGINT, SIGTERM and SIGHUP are recorded until the command asks for
 * them, so that it can clean up. For main threads. */
#pragma once

#include <limits.h>
#include <stdint.h>

struct place {
	const char *output; /* not owned */
	int force;
	int lock_fd;	       /* of the folder; 0: not locked */
	char folder[PATH_MAX]; /* removed by place_done(); "": not created */
	char trace[PATH_MAX];  /* path to write the trace to; does not exist yet */
};

/* -EEXIST if there is something at `output`, unless it is a trace and `force` is set. */
int place_begin(struct place *p, const char *output, int force);

/* Renames the trace to the output. -EEXIST as place_begin(): something may have appeared meanwhile.
 */
int place_commit(struct place *p);

/* Prints why the output cannot be written, from an error of place_begin(), place_commit() or of
 * opening the output, and returns the exit status. `force` says whether the command has --force. */
int place_fail(int r, const char *output, int force);

/* Removes the folder, with the trace if it was not committed. */
void place_done(struct place *p);

/* The signal that arrived since place_begin(), or 0. */
int place_signal(void);

/* Shows progress; `context` is a struct progress. For whatever writes the trace: -ECANCELED if a
 * signal has arrived. */
int place_progress(void *context, const char *what, uint64_t done, uint64_t total);

/* Ends the process by the signal that arrived, if any; after place_done(). */
void place_raise(void);

/* Removes a folder with all that is in it. 0 or a negative errno. */
int place_remove(const char *path);
