/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/part_arg.h"

#include "base/scope.h"
#include "tools/trace_arg.h"

#include <inttypes.h>

int part_arg_open(const struct cli_args *args, const struct cli_command *command,
		  int option_iteration, int option_gpu, struct fmt_trace **ret,
		  struct fmt_part *part)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	const char *path = args->operands[0];
	struct fmt_walk w;
	int64_t gpu;
	int r;

	*part = (struct fmt_part){0};
	if (cli_number(args, command, option_iteration, INT64_MIN + 1, INT64_MAX, FMT_ANY,
		       &part->iteration) < 0 ||
	    cli_number(args, command, option_gpu, 0, UINT32_MAX, FMT_ANY, &gpu) < 0)
		return CLI_USAGE;
	r = trace_arg_open(path, &trace);
	if (r != CLI_OK)
		return r;
	part->rank = gpu == FMT_ANY ? FMT_ANY : fmt_rank_index(trace, gpu);
	if (part->rank == -1) {
		cli_error("%s has no GPU %" PRId64 "; `gputrace info` lists its GPUs", path, gpu);
		return CLI_USAGE;
	}
	w = fmt_walk(trace, part);
	if (part->iteration != FMT_ANY && !fmt_walk_next(&w)) {
		cli_error("%s has no iteration %" PRId64 "; `gputrace info` lists its iterations",
			  path, part->iteration);
		return CLI_USAGE;
	}
	*ret = take(trace);
	return CLI_OK;
}
