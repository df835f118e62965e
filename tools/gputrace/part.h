/* SPDX-License-Identifier: Apache-2.0 */

/* The TRACE of a command line, and which part of it --iteration and --gpu name. */
#pragma once

#include "formats/trace/store/part.h"
#include "tools/cli.h"

/* Opens args->operands[0]. Prints and returns the exit status when it cannot be used, or has no
 * such part; CLI_OK otherwise, and then the caller owns *ret. */
int part_open(const struct cli_args *args, const struct cli_command *command, int option_iteration,
	      int option_gpu, struct fmt_trace **ret, struct fmt_part *part);
