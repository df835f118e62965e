/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/export_tables.h"

#include "base/scope.h"
#include "fs/copy.h"
#include "tools/output.h"

#include <errno.h>
#include <stdio.h>

define_cleanup(fs_closep, struct fs *, fs_close);

/* Descends to `name`. */
static int enter_directory(struct fs *fs, fs_ino *at, const char *name)
{
	struct fs_attr a;
	int r = fs_lookup(fs, *at, name, &a);

	if (r == 0)
		*at = a.ino;
	return r;
}

static int find_folder(struct fs *fs, const struct fmt_trace *trace, const struct fmt_part *part,
		       fs_ino *ret)
{
	char name[40];
	fs_ino at = 1;
	int r = 0;

	if (part->iteration == FMT_BEFORE || part->iteration == FMT_AFTER) {
		r = enter_directory(fs, &at, part->iteration == FMT_BEFORE ? "before" : "after");
	} else if (part->iteration != FMT_ANY) {
		snprintf(name, sizeof(name), "%06lld", (long long)part->iteration);
		r = enter_directory(fs, &at, "iterations");
		if (r == 0)
			r = enter_directory(fs, &at, name);
	}
	if (r == 0 && part->rank != FMT_ANY) {
		snprintf(name, sizeof(name), "gpu%u",
			 fmt_trace_rank(trace, (uint32_t)part->rank)->number);
		r = enter_directory(fs, &at, name);
	}
	if (r == 0)
		*ret = at;
	return r;
}

int export_tables(const struct fmt_trace *trace, const struct fmt_part *part, const char *folder,
		  struct damage *damage, char *failed, size_t size, struct fmt_error *err)
{
	const struct fs_options options = {0};
	scoped(fs_closep) struct fs *fs = NULL;
	struct fmt_trace *own; /* the tree closes it */
	fs_ino top = 1;
	int r;

	snprintf(failed, size, "%s", folder);
	if (part->rank != FMT_ANY && part->iteration == FMT_ANY)
		return -EINVAL;
	r = fmt_trace_open(fmt_trace_path(trace), &own, err);
	if (r == 0)
		r = fs_open(own, &options, &fs, err);
	if (r == 0)
		r = find_folder(fs, trace, part, &top);
	if (r == 0)
		r = fs_copy(fs, top, folder, FS_COPY_TABLES, output_signal, part->left_out, failed,
			    size);
	if (r == 0 && *part->left_out > 0)
		damage_add_trace(damage, own);
	return r;
}
