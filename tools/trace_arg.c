/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/trace_arg.h"

#include "base/array.h"
#include "formats/trace/store/trace.h"
#include "tools/cli.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names recognised as traces: of files and folders, and of files within a folder. */
static const struct {
	const char *name, *inside, *hint;
} taken[] = {
	{"*.json*", NULL, "convert profiler files with `gputrace import -o OUT FILE...`"},
	{"*.raw", NULL, "convert a raw recording with `gputrace import -o OUT OUT.raw`"},
	{"*.recording", NULL, "convert a raw recording with `gputrace import -o OUT FILE`"},
	{NULL, "*.json*", "convert the files in it with `gputrace import -o OUT FILE...`"},
};

static bool contains_file(const char *folder, const char *pattern)
{
	char path[PATH_MAX];
	glob_t found;
	bool any;

	if (snprintf(path, sizeof(path), "%s/%s", folder, pattern) >= (int)sizeof(path))
		return false;
	any = glob(path, GLOB_NOSORT, NULL, &found) == 0;
	globfree(&found);
	return any;
}

static const char *hint_for(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (taken[i].name ? fnmatch(taken[i].name, path, 0) == 0
				  : contains_file(path, taken[i].inside))
			return taken[i].hint;
	return NULL;
}

int trace_arg_fail(int r, const struct fmt_error *err, const char *doing, const char *path)
{
	bool none = r == -EBADMSG && strcmp(err->what, "not a trace") == 0;

	return cli_fail(r, err, doing, path, none ? hint_for(path) : NULL);
}

int trace_arg_open(const char *path, struct fmt_trace **ret)
{
	struct fmt_error err = {0};
	int r = fmt_trace_open(path, ret, &err);

	return r < 0 ? trace_arg_fail(r, &err, "open", path) : CLI_OK;
}
