/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputracefs/emulated.h"

#include "base/scope.h"
#include "replay/engine/emulate.h"
#include "replay/what_if/what_if.h"

#include <stdio.h>
#include <string.h>

static int make_folder(struct emulated *e, struct fmt_error *err)
{
	const char *directory = getenv("TMPDIR");
	char prefix[PATH_MAX];
	int r;

	directory = directory && *directory ? directory : "/tmp";
	snprintf(prefix, sizeof(prefix), "%s/gputracefs-", directory);
	r = work_folder_make(&e->folder, prefix, NULL);
	return r < 0 ? fmt_fail(err, r, directory, FMT_NO_OFFSET,
				"cannot create a folder in %s: %s", directory, strerror(-r))
		     : 0;
}

define_cleanup(what_if_freep, struct what_if *, what_if_free);

int emulated_make(void *context, struct fmt_trace *in, const char *spec, struct fmt_trace **ret,
		  struct fmt_error *err)
{
	struct emulated *e = context;
	scoped(what_if_freep) struct what_if *w = NULL;
	scoped(free_ptr) char *path = NULL;
	struct replay_report report = {0};
	struct replay_options options = {.what_ifs = &w, .n_what_ifs = spec ? 1 : 0};
	struct what_if_error why = {.why = ""};
	int r = spec ? what_if_parse(spec, &w, &why) : 0;

	if (r < 0)
		return fmt_fail(err, r, "", FMT_NO_OFFSET, "%s",
				r == -EINVAL ? why.why : strerror(-r));
	if (!ret)
		return 0;
	if (!e->folder.path[0])
		r = make_folder(e, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/%u", e->folder.path, e->n++) < 0)
		return -ENOMEM;
	r = replay_emulate(in, &options, path, &report, err);
	if (r < 0)
		return r;
	replay_report_done(&report);
	return fmt_trace_open(path, ret, err);
}

void emulated_done(struct emulated *e)
{
	work_folder_done(&e->folder);
}
