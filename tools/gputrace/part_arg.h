/* SPDX-License-Identifier: Apache-2.0 */

/* The TRACE argument, and the part that --iteration and --gpu select. */
#pragma once

#include "formats/trace/store/part.h"
#include "tools/cli.h"

/* Opens args->operands[0]. Returns CLI_OK, and the caller owns *ret; or prints why the trace cannot
 * be used or has no such part, and returns the exit status. */
int part_arg_open(const struct cli_args *args, const struct cli_command *command,
		  int option_iteration, int option_gpu, struct fmt_trace **ret,
		  struct fmt_part *part);
