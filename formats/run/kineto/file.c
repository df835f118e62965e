/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/file.h"

#include "base/scope.h"
#include "formats/run/kineto/exported.h"
#include "formats/run/kineto/split.h"
#include "formats/trace/json.h"

#define MAX_FACTS 4096

struct file {
	struct kineto_import *im;
	const char *path;
	struct kineto_source *source;
	size_t first; /* index of the file's first rank */
	struct kineto_exported exported;
	int64_t base_ns;
	const char *why; /* why a callback refused the file */
};

static void file_done(struct file *f)
{
	kineto_source_close(f->source);
	kineto_exported_done(&f->exported);
}

static int refuse_file(struct file *f, const char *why)
{
	f->why = why;
	return -EBADMSG;
}

/* ---- callbacks of the reader ------------------------------------------------------------- */

static int on_base_time(struct file *f, const char *json)
{
	char *end;

	errno = 0;
	f->base_ns = strtoll(json, &end, 10);
	return errno || *end ? refuse_file(f, "baseTimeNanoseconds is not a 64-bit integer") : 0;
}

static int on_member(void *context, uint32_t key, const char *json, size_t len)
{
	struct file *f = context;
	struct fmt_strings *strings = &f->im->strings;
	struct kineto_rank *k = f->im->ranks[f->first];
	uint32_t value;
	int r = fmt_strings_add(strings, json, len, &value);

	if (r < 0)
		return r;
	json = strings->strings[value].s;
	if (key == KINETO_GPUTRACE && k->tally.events > 0)
		return refuse_file(f, "\"gputrace\" must precede \"traceEvents\"");
	if (key == KINETO_GPUTRACE)
		return kineto_exported_read(&f->exported, f->im, f->first, json, len, &f->why);
	if (fmt_strings_is(strings, key, "baseTimeNanoseconds", 19) && !f->exported.has_base) {
		r = on_base_time(f, json);
		if (r < 0)
			return r;
	}
	if (f->exported.has_facts)
		return 0;
	if (k->n_facts >= MAX_FACTS)
		return refuse_file(f, "it has too many members beside traceEvents");
	if (fmt_strings_is(strings, key, "distributedInfo", 15) && k->number < 0 &&
	    fmt_json_member_integer(json, len, "rank", &k->number) &&
	    (k->number < 0 || k->number > UINT32_MAX))
		return refuse_file(f, "distributedInfo: invalid rank");
	return kineto_rank_fact(k, key, value);
}

static int on_event(void *context, const struct kineto_event *e)
{
	struct file *f = context;
	struct kineto_rank *k = f->im->ranks[f->first];
	bool several = f->exported.n_pids > 0;
	struct kineto_event moved;
	enum kineto_disposition disposition;
	int r;

	if (several && e->ph != KINETO_METADATA) {
		const struct kineto_exported_pid *p = kineto_exported_find(&f->exported, &e->pid);

		if (!p)
			return refuse_file(f, "a pid that \"gputrace\" does not list");
		k = f->im->ranks[p->rank];
		moved = *e;
		moved.pid = p->real;
		e = &moved;
	}
	if (e->ph == KINETO_METADATA && (several || e->name == KINETO_GPUTRACE)) {
		disposition = KINETO_OUR_METADATA;
	} else {
		r = kineto_rank_event(k, &f->im->templates, e, &disposition);
		if (r < 0)
			return r;
	}
	return kineto_tally_count(&k->tally, e->ph, e->cat, disposition);
}

static int on_progress(void *context)
{
	struct file *f = context;
	const struct kineto_options *o = f->im->options;

	return o->progress ? o->progress(o->context, "reading",
					 f->im->done + kineto_source_done(f->source), f->im->total)
			   : 0;
}

/* ---- the file ---------------------------------------------------------------------------- */

static int read_events(struct file *f, struct fmt_error *err)
{
	struct kineto_json j = {.strings = &f->im->strings,
				.event = on_event,
				.member = on_member,
				.progress = on_progress,
				.context = f};
	struct kineto_tally *tally = &f->im->ranks[f->first]->tally;
	struct kineto_json_counts counts = {0};
	int r = kineto_json_read(f->source, f->path, &j, &counts, err);

	f->im->bytes += counts.bytes;
	tally->not_numbers = counts.not_numbers;
	tally->commas = counts.commas;
	if (r == -EBADMSG && f->why)
		return fmt_fail(err, r, f->path, FMT_NO_OFFSET, "%s", f->why);
	return r;
}

/* After reading the file: moves the times of its ranks. */
static int end_ranks(const struct file *f, struct fmt_error *err)
{
	struct kineto_import *im = f->im;
	int r = 0;

	for (size_t i = f->first; i < im->n_ranks && r == 0; i++) {
		im->ranks[i]->base_ns = f->exported.has_base ? f->exported.base_ns : f->base_ns;
		r = kineto_rank_end(im->ranks[i]);
	}
	return r == -ERANGE ? fmt_fail(err, -EBADMSG, f->path, FMT_NO_OFFSET,
				       "its times are beyond 146 years from 1970")
			    : r;
}

int kineto_file_read(struct kineto_import *im, const char *path, struct fmt_error *err)
{
	scoped(file_done) struct file f = {.im = im, .path = path, .first = im->n_ranks};
	struct kineto_rank *first;
	int r = kineto_source_open(path, &f.source, err);

	if (r == 0)
		r = kineto_add_rank(im, path, &first);
	if (r == 0)
		r = read_events(&f, err);
	im->done += f.source ? kineto_source_done(f.source) : 0;
	if (r == 0)
		r = end_ranks(&f, err);
	if (r == 0 && !f.exported.is_present)
		r = kineto_split_by_gpu(im, f.first);
	if (r == -EFBIG)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"too many GPUs for one file; import one file for each rank");
	if (r == -EXDEV)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"files of several processes were merged into this file; import "
				"one file for each process");
	return r;
}
