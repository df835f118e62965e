/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/trace/store/pack.h"
#include "formats/trace/store/verify.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/damage.h"
#include "tools/output.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_OUTPUT, OPT_LEVEL, OPT_FORCE };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "FILE",
			"the packed file (default: TRACE.gputrace, or NAME.packed.gputrace for "
			"NAME.gputrace)"},
	[OPT_LEVEL] = {"level", 0, "N", "compress all anew at that level of zstd, 1 to 22"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace a trace that is there"},
	{0},
};

/* "runs/a/" becomes "runs/a.gputrace", and "a.gputrace" becomes "a.packed.gputrace". */
static int default_output(const char *trace, char *buf, size_t len)
{
	static const char end[] = ".gputrace";
	size_t n = strlen(trace), m = strlen(end);
	const char *packed = "";

	while (n > 1 && trace[n - 1] == '/')
		n--;
	if (n > m && strncmp(trace + n - m, end, m) == 0) {
		n -= m;
		packed = ".packed";
	}
	return (size_t)snprintf(buf, len, "%.*s%s%s", (int)n, trace, packed, end) < len
		       ? 0
		       : -ENAMETOOLONG;
}

static int pack(const struct cli_args *args)
{
	const char *trace = args->operands[0], *output = args->values[OPT_OUTPUT];
	scoped(output_done) struct output target = {0};
	struct damage damage = {0};
	struct fmt_verified verified;
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
	r = output_begin(&target, output, args->values[OPT_FORCE] != NULL);
	if (r < 0)
		return output_fail(r, output, 1);
	r = fmt_verify_to(trace, FMT_VERIFY_BYTES, damage_add_problem, &damage, &verified, &err);
	if (r == 0)
		r = fmt_pack(trace, target.trace, (int)level, &err);
	if (r < 0)
		return trace_arg_fail(r, &err, "pack", trace);
	if (output_signal())
		return CLI_FAILED;
	r = output_commit(&target);
	if (r < 0)
		return output_fail(r, output, 1);
	return damage.n > 0 ? damage_say(&damage, trace, "%s is damaged too", output) : CLI_OK;
}

static int run(const struct cli_args *args)
{
	int status = pack(args);

	output_raise();
	return status;
}

const struct cli_command cmd_pack = {
	.name = "pack",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Pack a trace into one file, to share it",
	.options = options,
	.notes = "The file contains the same bytes as the trace; every command reads it. --level\n"
		 "changes the bytes, but not the id. A damaged trace is packed as it is, with\n"
		 "exit status 1; --level refuses it.\n",
	.run = run,
};
