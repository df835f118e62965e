/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/store/pack.h"
#include "tools/gputrace/cmd.h"
#include "tools/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_OUTPUT, OPT_FORCE };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "DIR", "the directory; else FILE without .gputrace"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace a trace that is there"},
	{0},
};

static int default_output(const char *file, char *buf, size_t len)
{
	static const char end[] = ".gputrace";
	size_t n = strlen(file), m = strlen(end);

	if (n <= m || strcmp(file + n - m, end) != 0)
		return -EINVAL;
	return (size_t)snprintf(buf, len, "%.*s", (int)(n - m), file) < len ? 0 : -ENAMETOOLONG;
}

static int run(const struct cli_args *args)
{
	const char *file = args->operands[0], *output = args->values[OPT_OUTPUT];
	scoped(place_done) struct place place = {0};
	struct fmt_error err = {0};
	char name[PATH_MAX];
	int r = output ? 0 : default_output(file, name, sizeof(name));

	if (r < 0) {
		cli_error("cannot tell where to unpack %s: its name does not end with .gputrace; "
			  "give -o DIR",
			  file);
		return CLI_USAGE;
	}
	output = output ? output : name;
	r = place_begin(&place, output, args->values[OPT_FORCE] != NULL);
	if (r < 0)
		return place_fail(r, output, 1);
	r = fmt_unpack(file, place.trace, &err);
	if (r < 0)
		return cli_fail(r, &err, "unpack", file, NULL);
	r = place_commit(&place);
	return r < 0 ? place_fail(r, output, 1) : CLI_OK;
}

const struct cli_command cmd_unpack = {
	.name = "unpack",
	.operands = "FILE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Make a directory of a packed trace again",
	.options = options,
	.notes = "Gives the very files that were packed.\n",
	.run = run,
};
