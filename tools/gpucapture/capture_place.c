/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpucapture/capture_place.h"

#include "base/scope.h"
#include "tools/cli.h"
#include "tools/joining.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int begin_part(struct capture_place *p, const struct fmt_origin *of)
{
	struct stat st;
	int r;

	if (!p->force && lstat(p->output, &st) == 0)
		return place_fail(-EEXIST, p->output, 1);
	r = parts_begin(&p->parts, p->output, of, p->force);
	if (r == -EEXIST) {
		cli_error("cannot write %s: it was begun already; join what is there (gputrace "
			  "join -o %s %s), or remove that folder",
			  p->parts.trace, p->output, p->parts.folder);
		return CLI_USAGE;
	}
	return r < 0 ? place_fail(r, p->parts.folder, 0) : CLI_OK;
}

int capture_place_begin(struct capture_place *p, const char *output, const struct fmt_origin *of,
			int force)
{
	int r;

	memset(p, 0, sizeof(*p));
	p->output = output;
	p->force = force;
	if (!output || !*output) {
		cli_error("missing -o OUT");
		return CLI_USAGE;
	}
	if (of->n_parts > 1) {
		r = begin_part(p, of);
		if (r != CLI_OK)
			return r;
		output = p->parts.trace;
	}
	r = place_begin(&p->place, output, force);
	return r < 0 ? place_fail(r, output, !force) : CLI_OK;
}

int capture_place_commit(struct capture_place *p)
{
	int r = place_commit(&p->place);

	if (r == 0)
		return CLI_OK;
	cli_error("cannot write %s: %s; the recording is %s", p->place.output, strerror(-r),
		  p->place.trace);
	place_keep(&p->place);
	return r == -EEXIST ? CLI_USAGE : CLI_MACHINE;
}

static int join_all(struct capture_place *p)
{
	scoped(parts_found_done) struct parts_found found = {0};
	struct fmt_join_result result;
	struct fmt_join join;
	int r = parts_find(p->parts.folder, &found);

	if (r < 0)
		return cli_fail(r, NULL, "read", p->parts.folder, NULL);
	join = (struct fmt_join){.paths = (const char *const *)found.traces,
				 .n_paths = found.n_traces};
	r = found.n_traces > 0 ? joining_run(&join, p->output, p->force, &result) : CLI_OK;
	if (r == CLI_OK)
		place_remove(p->parts.folder);
	else
		cli_error("the parts stay in %s", p->parts.folder);
	return r;
}

int capture_place_end(struct capture_place *p, int nothing)
{
	int r;

	if (p->parts.of.n_parts < 2)
		return CLI_OK;
	r = parts_end(&p->parts, nothing);
	if (r < 0)
		return cli_fail(r, NULL, "read", p->parts.folder, NULL);
	return r == 1 ? join_all(p) : CLI_OK;
}
