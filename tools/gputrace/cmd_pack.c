/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/store/pack.h"
#include "tools/gputrace/cmd.h"
#include "tools/place.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_OUTPUT, OPT_LEVEL, OPT_FORCE };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "FILE", "the packed file; else TRACE.gputrace"},
	[OPT_LEVEL] = {"level", 0, "N", "compress all anew at that level of zstd, 1 to 22"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace a trace that is there"},
	{0},
};

/* "runs/a/" becomes "runs/a.gputrace". */
static int default_output(const char *trace, char *buf, size_t len)
{
	size_t n = strlen(trace);

	while (n > 1 && trace[n - 1] == '/')
		n--;
	return (size_t)snprintf(buf, len, "%.*s.gputrace", (int)n, trace) < len ? 0 : -ENAMETOOLONG;
}

static int run(const struct cli_args *args)
{
	const char *trace = args->operands[0], *output = args->values[OPT_OUTPUT];
	scoped(place_done) struct place place = {0};
	struct fmt_error err = {0};
	char name[PATH_MAX];
	int64_t level;
	int r = 0;

	if (cli_number(args, &cmd_pack, OPT_LEVEL, 1, 22, 0, &level) < 0)
		return CLI_USAGE;
	if (!output)
		r = default_output(trace, name, sizeof(name));
	if (r < 0)
		return cli_fail(r, NULL, "pack", trace, NULL);
	output = output ? output : name;
	r = place_begin(&place, output, args->values[OPT_FORCE] != NULL);
	if (r < 0)
		return place_fail(r, output, 1);
	r = fmt_pack(trace, place.trace, (int)level, &err);
	if (r < 0)
		return trace_arg_fail(r, &err, "pack", trace);
	r = place_commit(&place);
	return r < 0 ? place_fail(r, output, 1) : CLI_OK;
}

const struct cli_command cmd_pack = {
	.name = "pack",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Make one file of a trace, to share it",
	.options = options,
	.notes = "The file holds the very bytes of the trace; every command reads it. With --level "
		 "the "
		 "bytes\nchange, the id does not.\n",
	.run = run,
};
