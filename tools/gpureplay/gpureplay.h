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
	OPT_FORCE,
};

extern const struct cli_option gpureplay_options[];
extern const struct cli_command gpureplay_command;

/* Emulates the run, prints the report and writes -o. Returns the exit status. */
int gpureplay_emulate(const struct cli_args *args);

/* Makes the calls of the run again, prints how it compares with the recording, and writes -o.
 * Returns the exit status. */
int gpureplay_reexecute(const struct cli_args *args);

/* Whether the path is a folder of `gputrace extract`; runs it, and `repeat` times more to measure
 * it. Returns the exit status. */
bool gpureplay_is_launch(const char *path);
int gpureplay_launch(const struct cli_args *args, unsigned repeat);

/* CLI_OK if `file` belongs to the user or --trust is given: its code will run on the GPUs here.
 * `name` is for messages. */
int gpureplay_may_run(const struct cli_args *args, const char *file, const char *name);
