/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/pack.h"
#include "formats/trace/store/verify.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/damage.h"
#include "tools/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_OUTPUT, OPT_FORCE };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "DIR",
			"the directory (default: NAME for NAME.gputrace, NAME.gputrace for "
			"NAME.packed.gputrace)"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace a trace that is there"},
	{0},
};

/* "a.gputrace" becomes "a", and "a.packed.gputrace" becomes "a.gputrace": see cmd_pack.c. */
static int default_output(const char *file, char *buf, size_t len)
{
	static const struct {
		const char *end, *instead;
	} names[] = {{".packed.gputrace", ".gputrace"}, {".gputrace", ""}};
	size_t n = strlen(file);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t m = strlen(names[i].end);

		if (n <= m || strcmp(file + n - m, names[i].end) != 0)
			continue;
		return (size_t)snprintf(buf, len, "%.*s%s", (int)(n - m), file, names[i].instead) <
				       len
			       ? 0
			       : -ENAMETOOLONG;
	}
	return -EINVAL;
}

static int unpack(const struct cli_args *args)
{
	const char *file = args->operands[0], *output = args->values[OPT_OUTPUT];
	scoped(output_done) struct output target = {0};
	struct damage damage = {0};
	struct fmt_verified verified;
	struct fmt_error err = {0};
	char name[PATH_MAX];
	int r = output ? 0 : default_output(file, name, sizeof(name));

	if (r == -ENAMETOOLONG)
		return cli_fail(r, NULL, "unpack", file, NULL);
	if (r < 0) {
		cli_error("cannot unpack %s: its name does not end with .gputrace; "
			  "give -o DIR",
			  file);
		return CLI_USAGE;
	}
	output = output ? output : name;
	r = output_begin(&target, output, args->values[OPT_FORCE] != NULL);
	if (r < 0)
		return output_fail(r, output, 1);
	r = fmt_unpack(file, target.trace, &err);
	if (r == 0)
		r = fmt_verify_to(file, FMT_VERIFY_BYTES, damage_add_problem, &damage, &verified,
				  &err);
	if (r < 0)
		return cli_fail(r, &err, "unpack", file, NULL);
	if (output_signal())
		return CLI_FAILED;
	r = output_commit(&target);
	if (r < 0)
		return output_fail(r, output, 1);
	return damage.n > 0 ? damage_say(&damage, file, "%s is damaged too", output) : CLI_OK;
}

static int run(const struct cli_args *args)
{
	int status = unpack(args);

	output_raise();
	return status;
}

const struct cli_command cmd_unpack = {
	.name = "unpack",
	.operands = "FILE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Unpack a packed trace into a directory",
	.options = options,
	.notes = "Gives the same files that were packed. A damaged file is unpacked as it is,\n"
		 "with exit status 1.\n",
	.run = run,
};
