/* SPDX-License-Identifier: Apache-2.0 */

/* `gputrace pack` and `gputrace unpack`. */
#include "base/scope.h"
#include "formats/trace/store/pack.h"
#include "formats/trace/store/verify.h"
#include "tools/damage.h"
#include "tools/gputrace/cmd.h"
#include "tools/output.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_OUTPUT, OPT_FORCE, OPT_LEVEL };

#define FORCE                                                                                      \
	{                                                                                          \
		"force", 'f', NULL, "replace an existing trace"                                    \
	}

static const struct cli_option pack_options[] = {
	[OPT_OUTPUT] =
		{"output", 'o', "FILE",
		 "packed file (default: TRACE.gputrace; for NAME.gputrace: NAME.packed.gputrace)"},
	[OPT_FORCE] = FORCE,
	[OPT_LEVEL] = {"level", 0, "N", "recompress everything at this zstd level, 1 to 22"},
	{0},
};

static const struct cli_option unpack_options[] = {
	[OPT_OUTPUT] = {"output", 'o', "DIR",
			"directory (default: FILE without .gputrace, or without .packed)"},
	[OPT_FORCE] = FORCE,
	{0},
};

/* How the end of a name changes: the first that matches. */
struct renaming {
	const char *end, *becomes;
};

static const struct renaming packed_names[] = {{".gputrace", ".packed.gputrace"},
					       {"", ".gputrace"}};
static const struct renaming unpacked_names[] = {{".packed.gputrace", ".gputrace"},
						 {".gputrace", ""}};

/* Derives the output's name from the input's. Returns -EINVAL if that is impossible. */
static int default_output(const char *input, const struct renaming names[2], char *buf, size_t len)
{
	size_t n = strlen(input);

	while (n > 1 && input[n - 1] == '/')
		n--;
	for (int i = 0; i < 2; i++) {
		size_t m = strlen(names[i].end);

		if (n <= m || strncmp(input + n - m, names[i].end, m) != 0)
			continue;
		return (size_t)snprintf(buf, len, "%.*s%s", (int)(n - m), input, names[i].becomes) <
				       len
			       ? 0
			       : -ENAMETOOLONG;
	}
	return -EINVAL;
}

/* Makes `output` of `input`, which it verifies. */
static int convert_trace(const struct cli_args *args, bool packs, int level, const char *input,
			 const char *output)
{
	scoped(output_done) struct output target = {0};
	struct damage damage = {0};
	struct fmt_verified verified;
	struct fmt_error err = {0};
	int r = output_begin(&target, output, args->values[OPT_FORCE] != NULL);

	if (r < 0)
		return output_fail(r, output, !args->values[OPT_FORCE]);
	r = packs ? 0 : fmt_unpack(input, target.trace, &err);
	if (r == 0)
		r = fmt_verify_to(input, FMT_VERIFY_BYTES, damage_add_problem, &damage, &verified,
				  &err);
	if (r == 0 && packs)
		r = fmt_pack(input, target.trace, level, &err);
	if (r < 0)
		return packs ? trace_arg_fail(r, &err, "pack", input)
			     : cli_fail(r, &err, "unpack", input, NULL);
	if (output_signal())
		return CLI_FAILED;
	r = output_commit(&target);
	if (r < 0)
		return output_fail(r, output, !args->values[OPT_FORCE]);
	return damage.n > 0 ? damage_print(&damage, input, "%s is damaged too", output) : CLI_OK;
}

static int run(const struct cli_args *args, bool packs, int level)
{
	const char *input = args->operands[0], *output = args->values[OPT_OUTPUT];
	char name[PATH_MAX];
	int r = output ? 0
		       : default_output(input, packs ? packed_names : unpacked_names, name,
					sizeof(name));
	int status;

	if (r == -EINVAL && !packs) {
		cli_error("cannot unpack %s: its name does not end with .gputrace; give -o DIR",
			  input);
		return CLI_USAGE;
	}
	if (r < 0)
		return cli_fail(r, NULL, packs ? "pack" : "unpack", input, NULL);
	status = convert_trace(args, packs, level, input, output ?: name);
	output_raise();
	return status;
}

static int pack(const struct cli_args *args)
{
	int64_t level;

	if (cli_number(args, &cmd_pack, OPT_LEVEL, 1, 22, 0, &level) < 0)
		return CLI_USAGE;
	return run(args, true, (int)level);
}

static int unpack(const struct cli_args *args)
{
	return run(args, false, 0);
}

const struct cli_command cmd_pack = {
	.name = "pack",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Pack a trace into one file, to share it",
	.options = pack_options,
	.notes = "The file contains the same bytes as the trace; every command reads it. --level\n"
		 "changes the bytes, but not the id. A damaged trace is packed as it is, with\n"
		 "exit status 1; --level refuses it.\n",
	.run = pack,
};

const struct cli_command cmd_unpack = {
	.name = "unpack",
	.operands = "FILE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Unpack a packed trace into a directory",
	.options = unpack_options,
	.notes = "A damaged file is unpacked as it is, with exit status 1.\n",
	.run = unpack,
};
