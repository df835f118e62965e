/* SPDX-License-Identifier: Apache-2.0 */

/* The options of gpureplay, and the functions behind them. For the main thread. */
#pragma once

#include "tools/cli.h"

enum gpureplay_option {
	OPT_EMULATE,
	OPT_WHAT_IF,
	OPT_SENSITIVITY,
	OPT_ITERATIONS,
	OPT_RANK,
	OPT_REPEAT,
	OPT_SPEED,
	OPT_CUBLAS,
	OPT_SAME_ADDRESSES,
	OPT_TRUST,
	OPT_JSON,
	OPT_OUTPUT,
	OPT_KEYFRAME,
	OPT_FORCE,
};

extern const struct cli_option gpureplay_options[];
extern const struct cli_command gpureplay_command;

/* Emulates the run, prints the report and writes -o. Returns the exit status. */
int gpureplay_emulate(const struct cli_args *args);

/* Executes the calls of the run again, prints the comparison with the recording, and writes -o.
 * Returns the exit status. */
int gpureplay_reexecute(const struct cli_args *args);

/* gpureplay_is_launch() returns true for a folder of `gputrace extract`. gpureplay_launch() runs
 * it, plus `repeat` times to measure it, and returns the exit status. */
bool gpureplay_is_launch(const char *path);
int gpureplay_launch(const struct cli_args *args, unsigned repeat);

/* Returns CLI_OK if `file` belongs to the user or --trust is given: its code will run on the GPUs
 * here. `name` is for messages. */
int gpureplay_may_run(const struct cli_args *args, const char *file, const char *name);
