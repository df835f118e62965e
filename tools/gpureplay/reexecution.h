/* SPDX-License-Identifier: Apache-2.0 */

/* A recorded run that is executed again, and its report. For the main thread. */
#pragma once

#include "formats/render/report/cause_find.h"
#include "replay/device/recorded.h"
#include "replay/device/share.h"
#include "tools/gpureplay/gpureplay.h"
#include "tools/gpureplay/launched.h"
#include "tools/work_folder.h"

#include <limits.h>

struct reexecution {
	const struct cli_args *args;
	const char *path;
	struct fmt_trace *recorded, *replayed;
	struct rex_processes processes;
	struct rex_share *share;
	int share_fd;
	struct rex_iteration_range range; /* iterations to execute */
	int64_t rank;			  /* index of the rank that is executed alone; -1: all */
	uint32_t stop;			  /* cut-off recording: number of its calls to execute */
	bool is_cut_off;
	uint64_t left_out;		/* calls of a cut-off recording that are not executed */
	int64_t repeat;			/* number of executions */
	struct fmt_unordered unordered; /* nondeterministic operations of `replayed` */
	struct fmt_cause itself;	/* further differences, of execution `differing` */
	int64_t differing;
	struct rex_counts counts;  /* of all processes */
	struct launched launched;  /* by.count > 1: a launcher started several processes */
	struct work_folder folder; /* if no output is given, and for repetitions */
	char output[PATH_MAX + 16];
};

/* Returns the number of the rank that is executed alone. */
uint32_t reexecution_rank(const struct reexecution *job);

/* Runs the calls under gpucapture, which writes `output`. Returns the exit status. */
int reexecution_record(struct reexecution *job, char *output);

/* Determines whether a launcher started this process as one of several. Returns the exit status. */
int reexecution_choose_launched(struct reexecution *job);
bool reexecution_is_launched(const struct reexecution *job);

/* Runs this process of several. Returns the exit status. */
int reexecution_run_launched(struct reexecution *job);

/* Adds facts about nondeterministic operations to the executed trace. Returns 0 or a negative
 * errno, with *err. */
int reexecution_keep_unordered(const struct reexecution *job, struct fmt_error *err);

/* Compares the executed run with the recording, and prints the report. Returns the exit status. */
int reexecution_report(struct reexecution *job);
