/* SPDX-License-Identifier: Apache-2.0 */

/* Processes of gpureplay that a launcher started, one for each process of the recording. They
 * exchange data as files in a folder beside the output, on a file system that all hosts share:
 *
 *     join-3        a random number that process 3 chose
 *     go            by process 0: its own number, which names the session, and those of the others
 *     SESSION/      of this run; other entries of the folder are of earlier runs
 *       here-3      process 3 has found the session
 *       value-*     values for other processes (replay/device/share.h)
 *       ended-3     exit status and counts of process 3
 *       failed      the first process that failed, and its exit status: the others then end, too
 *       run         the executed run
 *
 * For main threads. */
#pragma once

#include "replay/device/share.h"
#include "tools/launcher.h"

#include <limits.h>
#include <sys/types.h>

struct launched {
	struct launcher launcher;
	uint32_t missing; /* a process that has not joined; 0: unknown */
	char folder[PATH_MAX - 64], session[PATH_MAX - 32];
};

/* Waits until all processes have joined. `output`: the path of the trace that is to be made. 0 or a
 * negative errno; -ETIMEDOUT: another process did not join in ten minutes, l->missing or one that
 * only process 0 knows; -ECANCELED: a signal arrived (tools/output.h). */
int launched_begin(struct launched *l, const char *output);

/* Waits for the program that was started for this process, which ends by SIGTERM if another process
 * fails. If this process is killed, a guard ends the program and publishes the failure. Returns the
 * program's status as waitpid(2), or a negative errno. */
int launched_watch(const struct launched *l, pid_t pid);

/* The first process that failed. */
struct launched_failure {
	uint32_t index;
	int32_t status; /* its exit status; 0: none failed */
	uint32_t is_killed;
};

/* Publishes how this process ended. 0 or a negative errno. */
int launched_end(const struct launched *l, int status, const struct rex_counts *counts);

/* For process 0: waits for the others, whose counts are added to *counts. Returns 0; the exit
 * status of a process that failed; or -ECANCELED if a signal arrived. */
int launched_wait(const struct launched *l, struct rex_counts *counts);

/* After a failure: the first process that was not killed removes the folder when all have ended.
 * The others wait up to 20 s for that, because a launcher may kill all processes as soon as one
 * ends. Returns whether this process is the first one, which reports the failure. */
bool launched_leave(const struct launched *l, struct launched_failure *ret);
