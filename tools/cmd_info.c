/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd.h"

#include <stdio.h>

enum { OPT_JSON };

static const struct cli_option options[] = {
	[OPT_JSON] = {"json", 0, NULL, "the same report for programs"},
	{0},
};

static int run(const struct cli_args *args)
{
	printf("%s\n", args->operands[0]);
	return CLI_OK;
}

const struct cli_command cmd_info = {
	.name = "info",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Print what a trace holds",
	.options = options,
	.run = run,
};
