/* SPDX-License-Identifier: Apache-2.0 */

/* The options of gpureplay, and the functions behind them. For the main thread. */
#pragma once

#include "tools/cli.h"

enum gpureplay_option {
	OPT_EMULATE,
	OPT_WHAT_IF,
	OPT_SENSITIVITY,
	OPT_ITERATIONS,
	OPT_RELOCATE,
	OPT_TRUST,
	OPT_JSON,
	OPT_OUTPUT,
	OPT_FORCE,
};

extern const struct cli_option gpureplay_options[];

/* Emulates the run, prints the report and writes -o. Returns the exit status. */
int gpureplay_emulate(const struct cli_args *args);

/* Makes the calls of the run again, prints how it compares with the recording, and writes -o.
 * Returns the exit status. */
int gpureplay_reexecute(const struct cli_args *args);
