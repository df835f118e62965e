/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/file.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/document.h"
#include "formats/run/kineto/json.h"
#include "formats/run/kineto/split.h"

#include <stdbool.h>
#include <xxhash.h>

#define MAX_FACTS 4096

/* A pid in a file of several ranks. */
struct pid {
	struct kineto_arg shown, real;
	size_t rank;
};

struct file {
	struct kineto_import *im;
	const char *path;
	struct kineto_source *source;
	size_t first; /* index of the file's first rank */
	struct pid *pids;
	size_t n_pids, pids_cap;
	struct fmt_hash_table pid_table;
	int64_t base_ns;
	bool base_given; /* by an exporter */
	bool facts_given;
	bool exported;	 /* it lists the pids of each rank ("gputrace") */
	const char *why; /* why a callback refused the file */
};

static void file_done(struct file *f)
{
	kineto_source_close(f->source);
	free(f->pids);
	fmt_hash_done(&f->pid_table);
}

static int add_rank(struct file *f)
{
	struct kineto_import *im = f->im;
	struct kineto_rank *k;

	if (array_reserve(&im->ranks, im->n_ranks + 1, &im->ranks_cap) < 0)
		return -ENOMEM;
	k = malloc(sizeof(*k));
	if (!k)
		return -ENOMEM;
	kineto_rank_init(k, f->path, &im->spill, &im->templates);
	im->ranks[im->n_ranks++] = k;
	return 0;
}

static int refuse(struct file *f, const char *why)
{
	f->why = why;
	return -EBADMSG;
}

/* ---- pids of files with several ranks ---------------------------------------------------- */

static uint32_t pid_hash(const struct kineto_arg *a)
{
	int64_t key[2] = {a->type == FMT_INT, a->value};

	return (uint32_t)XXH3_64bits(key, sizeof(key));
}

static bool is_pid(const struct pid *p, const struct kineto_arg *a)
{
	return p->shown.value == a->value && (p->shown.type == FMT_INT) == (a->type == FMT_INT);
}

/* The slot of a pid, or the free one for it. */
static struct fmt_hash_slot *pid_slot(const struct file *f, const struct kineto_arg *a)
{
	return fmt_hash_find(&f->pid_table, pid_hash(a), i, is_pid(&f->pids[i], a));
}

static int id_of(struct file *f, const struct kineto_hint_id *id, struct kineto_arg *ret)
{
	uint32_t string;
	int r;

	*ret = (struct kineto_arg){.key = KINETO_PID, .type = FMT_INT, .value = id->number};
	if (id->missing)
		*ret = (struct kineto_arg){.type = FMT_JSON};
	if (!id->text)
		return 0;
	r = fmt_strings_add(&f->im->strings, id->text, strlen(id->text), &string);
	ret->type = FMT_STRING;
	ret->value = string;
	return r;
}

static int on_pid(void *context, const struct kineto_hint_id *shown,
		  const struct kineto_hint_id *real)
{
	struct file *f = context;
	struct pid p = {.rank = f->im->n_ranks - 1};
	int r = id_of(f, shown, &p.shown);
	struct fmt_hash_slot *slot;

	if (r == 0)
		r = id_of(f, real, &p.real);
	if (r < 0)
		return r;
	if (fmt_hash_reserve(&f->pid_table) < 0 ||
	    array_reserve(&f->pids, f->n_pids + 1, &f->pids_cap) < 0)
		return -ENOMEM;
	slot = pid_slot(f, &p.shown);
	if (slot->number)
		return refuse(f, "\"gputrace\" lists a pid twice");
	fmt_hash_set(&f->pid_table, slot, pid_hash(&p.shown), (uint32_t)f->n_pids);
	f->pids[f->n_pids++] = p;
	return 0;
}

static int on_rank(void *context, int64_t number)
{
	struct file *f = context;
	struct kineto_rank *last = f->im->ranks[f->im->n_ranks - 1];

	if (last->number >= 0 || f->im->n_ranks - f->first > 1 || f->n_pids > 0) {
		int r = add_rank(f);

		if (r < 0)
			return r;
		last = f->im->ranks[f->im->n_ranks - 1];
	}
	last->number = number;
	return 0;
}

static int on_hint_fact(void *context, const char *key, const char *json, size_t len)
{
	struct file *f = context;
	uint32_t k, v;
	int r = fmt_strings_add(&f->im->strings, key, strlen(key), &k);

	if (r == 0)
		r = fmt_strings_add(&f->im->strings, json, len, &v);
	f->facts_given = true;
	return r < 0 ? r : kineto_rank_fact(f->im->ranks[f->im->n_ranks - 1], k, v);
}

static int on_name(void *context, const char *name, const struct kineto_hint_id *pid,
		   const struct kineto_hint_id *tid, const char *args, size_t len)
{
	struct file *f = context;
	struct kineto_name m;
	int r = fmt_strings_add(&f->im->strings, name, strlen(name), &m.name);

	if (r == 0)
		r = fmt_strings_add(&f->im->strings, args, len, &m.args);
	if (r == 0)
		r = id_of(f, pid, &m.pid);
	if (r == 0)
		r = id_of(f, tid, &m.tid);
	f->facts_given = true;
	return r < 0 ? r : kineto_rank_name(f->im->ranks[f->im->n_ranks - 1], &m);
}

static int on_base(void *context, int64_t ns)
{
	struct file *f = context;

	f->base_ns = ns;
	f->base_given = true;
	return 0;
}

static int on_hint(struct file *f, const char *json)
{
	struct kineto_hint hint = {.rank = on_rank,
				   .fact = on_hint_fact,
				   .name = on_name,
				   .pid = on_pid,
				   .base = on_base,
				   .context = f};
	int r;

	f->exported = true;
	if (f->im->ranks[f->first]->tally.events > 0)
		return refuse(f, "\"gputrace\" stands behind the events");
	r = kineto_document_hint(json, &hint);
	return r == -EBADMSG && !f->why ? refuse(f, "\"gputrace\" is not as it should be") : r;
}

/* ---- callbacks of the reader ------------------------------------------------------------- */

static int on_base_time(struct file *f, const char *json)
{
	char *end;

	errno = 0;
	f->base_ns = strtoll(json, &end, 10);
	return errno || *end ? refuse(f, "baseTimeNanoseconds is no integer of 64 bits") : 0;
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
	if (key == KINETO_GPUTRACE)
		return on_hint(f, json);
	if (fmt_strings_is(strings, key, "baseTimeNanoseconds", 19) && !f->base_given) {
		r = on_base_time(f, json);
		if (r < 0)
			return r;
	}
	if (f->facts_given)
		return 0;
	if (k->n_facts >= MAX_FACTS)
		return refuse(f, "it has too many members beside traceEvents");
	if (fmt_strings_is(strings, key, "distributedInfo", 15) && k->number < 0 &&
	    kineto_document_int(json, "rank", &k->number) == 0 &&
	    (k->number < 0 || k->number > UINT32_MAX))
		return refuse(f, "distributedInfo holds a rank that is none");
	return kineto_rank_fact(k, key, value);
}

static int on_event(void *context, const struct kineto_event *e)
{
	struct file *f = context;
	struct kineto_rank *k = f->im->ranks[f->first];
	struct kineto_event moved;
	enum kineto_fate fate;
	int r;

	if (f->n_pids > 0 && e->ph != KINETO_METADATA) {
		const struct fmt_hash_slot *slot = pid_slot(f, &e->pid);
		const struct pid *p;

		if (!slot->number)
			return refuse(f, "a pid that \"gputrace\" gives to no rank");
		p = &f->pids[slot->number - 1];
		k = f->im->ranks[p->rank];
		moved = *e;
		moved.pid = p->real;
		e = &moved;
	}
	if (e->ph == KINETO_METADATA && (f->n_pids > 0 || e->name == KINETO_GPUTRACE)) {
		fate = KINETO_OUR_METADATA;
	} else {
		r = kineto_rank_event(k, &f->im->templates, e, &fate);
		if (r < 0)
			return r;
	}
	return kineto_tally_count(&k->tally, e->ph, e->cat, fate);
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

int kineto_file_read(struct kineto_import *im, const char *path, struct fmt_error *err)
{
	scoped(file_done) struct file f = {.im = im, .path = path, .first = im->n_ranks};
	int r = kineto_source_open(path, &f.source, err);

	if (r == 0)
		r = add_rank(&f);
	if (r == 0)
		r = read_events(&f, err);
	im->done += f.source ? kineto_source_done(f.source) : 0;
	for (size_t i = f.first; i < im->n_ranks && r == 0; i++) {
		im->ranks[i]->base_ns = f.base_ns;
		r = kineto_rank_end(im->ranks[i]);
		if (r == -ERANGE)
			return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
					"its times are beyond 146 years from 1970");
	}
	if (r == 0 && !f.exported)
		r = kineto_split(im, f.first);
	if (r == -EFBIG)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"too many GPUs for one file; import one file for each rank");
	if (r == -EXDEV)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"several ranks were merged into this file, and their operations "
				"cannot be told apart; import one file for each rank");
	return r;
}
