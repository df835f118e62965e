/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/kineto.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/infer.h"
#include "formats/run/kineto/check.h"
#include "formats/run/kineto/file.h"
#include "formats/run/kineto/steps.h"
#include "formats/run/kineto/write.h"
#include "formats/trace/origin.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* zstd's default level; higher levels take longer than reading the files. */
#define DEFAULT_LEVEL 9

struct job {
	struct kineto_import im;
	struct fmt_names *names;
	struct kineto_naming naming;
	struct fmt_run run;
	char parent[PATH_MAX]; /* the directory that contains the output */
};

static void job_done(struct job *j)
{
	for (size_t i = 0; j->run.ranks && i < j->run.n_ranks; i++)
		fmt_run_rank_done(&j->run.ranks[i]);
	free(j->run.ranks);
	kineto_naming_done(&j->naming);
	fmt_names_free(j->names);
	for (size_t i = 0; i < j->im.n_ranks; i++) {
		kineto_rank_done(j->im.ranks[i]);
		free(j->im.ranks[i]);
	}
	free(j->im.ranks);
	kineto_spill_done(&j->im.spill);
	kineto_templates_done(&j->im.templates);
	fmt_strings_done(&j->im.strings);
}

static void parent_of(const char *path, char *ret, size_t cap)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	snprintf(ret, cap, "%.*s", n > 0 ? (int)n : 1, n > 0 ? path : ".");
}

static int read_files(struct job *j, struct fmt_error *err)
{
	const struct kineto_options *o = j->im.options;
	struct stat st;

	for (size_t i = 0; i < o->n_files; i++) {
		if (stat(o->files[i], &st) == 0 && S_ISREG(st.st_mode))
			j->im.total += (uint64_t)st.st_size;
	}
	for (size_t i = 0; i < o->n_files; i++) {
		int r = kineto_file_read(&j->im, o->files[i], err);

		if (r < 0)
			return r;
	}
	return kineto_check_ranks(&j->im, err);
}

/* Makes a rank's part of the run, without names. */
static int prepare_rank(struct job *j, size_t i)
{
	struct fmt_run_rank *run = &j->run.ranks[i];
	struct kineto_rank *k = j->im.ranks[i];
	int r;

	run->number = (uint32_t)k->number;
	run->process = k->process;
	r = kineto_sort_events(k, &j->im.templates);
	if (r == 0)
		r = kineto_find_launches(k, &j->im.templates);
	if (r == 0)
		r = kineto_merge_collective_ranges(k, &j->im.templates);
	if (r == 0)
		r = kineto_find_iterations(k, &j->im.templates, &run->iterations,
					   &run->n_iterations);
	return r;
}

/* Events with the numbers of the trace; the importer's go. */
static int name_events(struct job *j, size_t i)
{
	struct fmt_run_rank *run = &j->run.ranks[i];
	struct kineto_rank *k = j->im.ranks[i];
	size_t cap = 0;

	run->events = take(k->events);
	run->n_events = k->n_events;
	for (size_t e = 0; e < k->n_events; e++) {
		int r = kineto_name_event(&j->naming, &run->events[e],
					  k->values + run->events[e].first_value, &run->values,
					  &run->n_values, &cap);

		if (r < 0)
			return r;
	}
	free(k->values);
	k->values = NULL;
	run->groups = take(k->groups);
	run->n_groups = k->n_groups;
	return kineto_name_groups(&j->naming, run->groups, run->n_groups);
}

static int name_all(struct job *j)
{
	uint32_t n = (uint32_t)j->im.n_ranks;
	int r = fmt_names_fact_json(j->names, FMT_WHOLE_TRACE, "gputrace.recorder", "\"kineto\"",
				    8);

	if (r == 0)
		r = kineto_naming_init(&j->naming, j->names, &j->im.templates);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = kineto_name_rank(&j->naming, j->im.ranks[i], i);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = name_events(j, i);
	return r;
}

static int make_run(struct job *j)
{
	size_t n = j->im.n_ranks;
	int r = kineto_templates_finish(&j->im.templates);

	j->run.ranks = calloc(n + 1, sizeof(*j->run.ranks));
	if (!j->run.ranks)
		return -ENOMEM;
	j->run.n_ranks = (uint32_t)n;
	for (size_t i = 0; i < n && r == 0; i++)
		r = prepare_rank(j, i);
	if (r == 0)
		r = fmt_names_new(&j->names);
	j->run.names = j->names;
	return r < 0 ? r : name_all(j);
}

static int write_all(struct job *j, struct fmt_error *err)
{
	struct fmt_writer *w;
	int r = fmt_writer_open(j->im.options->output, j->names,
				j->im.options->level ?: DEFAULT_LEVEL, &w, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++)
		if (j->run.ranks[i].process)
			r = kineto_number_rank(j->im.ranks[i], &j->run.ranks[i]);
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		fmt_run_number_collectives(&j->run.ranks[i]);
		r = kineto_write_rank(&j->naming, j->im.ranks[i], j->im.options, &j->run.ranks[i],
				      i, w, err);
	}
	if (r < 0) {
		fmt_writer_abandon(w);
		return r;
	}
	return fmt_writer_close(w, err);
}

/* ---- the report ------------------------------------------------------------------------- */

void kineto_report_done(struct kineto_report *r)
{
	for (size_t i = 0; i < r->n_ranks; i++) {
		struct kineto_rank_report *k = &r->ranks[i];

		for (size_t c = 0; c < k->n_counts; c++) {
			free(k->counts[c].ph);
			free(k->counts[c].cat);
			free(k->counts[c].why);
		}
		free(k->counts);
		free(k->file);
	}
	free(r->ranks);
	memset(r, 0, sizeof(*r));
}

static int by_disposition(const void *a, const void *b)
{
	const struct kineto_tally_row *x = a, *y = b;

	return array_order(x->disposition, y->disposition) ?: array_order(y->events, x->events);
}

static int fill_counts(const struct kineto_import *im, struct kineto_tally *t,
		       struct kineto_rank_report *ret)
{
	static const char *const outcomes[] = {"kept", "rebuilt", "skipped"};

	if (t->n > 0)
		qsort(t->rows, t->n, sizeof(*t->rows), by_disposition);
	ret->counts = calloc(t->n + 1, sizeof(*ret->counts));
	if (!ret->counts)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		const struct kineto_tally_row *row = &t->rows[i];
		struct kineto_count *c = &ret->counts[ret->n_counts++];
		enum kineto_outcome outcome =
			kineto_disposition_outcome((enum kineto_disposition)row->disposition);

		c->events = row->events;
		c->outcome = outcomes[outcome];
		c->ph = strdup(im->strings.strings[row->ph].s);
		c->cat = strdup(im->strings.strings[row->cat].s);
		c->why = strdup(kineto_disposition_text((enum kineto_disposition)row->disposition));
		if (!c->ph || !c->cat || !c->why)
			return -ENOMEM;
		if (row->disposition < FMT_KINDS)
			ret->kept[row->disposition] += row->events;
		else if (outcome == KINETO_KEPT)
			ret->names += row->events;
		else if (outcome == KINETO_REBUILT)
			ret->rebuilt += row->events;
		else
			ret->skipped += row->events;
	}
	return 0;
}

static int fill_report(const struct kineto_import *im, const struct fmt_run *run,
		       struct kineto_report *ret)
{
	ret->bytes = im->bytes;
	ret->run_ranks = fmt_origin_ranks(run->names);
	ret->ranks = calloc(run->n_ranks + 1u, sizeof(*ret->ranks));
	if (!ret->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_ranks; i++) {
		struct kineto_rank_report *k = &ret->ranks[ret->n_ranks++];
		struct kineto_rank *rank = im->ranks[i];
		const struct fmt_run_rank *of = &run->ranks[i];

		k->file = strdup(rank->path);
		k->rank = rank->number;
		k->events = rank->tally.events;
		k->no_duration = rank->tally.no_duration;
		k->rounded = rank->tally.rounded;
		k->not_numbers = rank->tally.not_numbers;
		k->commas = rank->tally.commas;
		k->iterations = of->n_iterations;
		k->edges = of->n_edges;
		for (size_t e = 0; e < of->n_events; e++)
			k->no_call +=
				rank->call_of[e] == KINETO_NONE &&
				FMT_IS_OP(fmt_template(run->names, of->events[e].template)->kind);
		if (!k->file || fill_counts(im, &rank->tally, k) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the import -------------------------------------------------------------------------- */

int kineto_import(const struct kineto_options *o, struct kineto_report *ret, struct fmt_error *err)
{
	scoped(job_done) struct job j = {.im = {.options = o}};
	int r;

	memset(ret, 0, sizeof(*ret));
	if (o->n_files == 0)
		return -EINVAL;
	parent_of(o->output, j.parent, sizeof(j.parent));
	kineto_spill_init(&j.im.spill, j.parent);
	kineto_templates_init(&j.im.templates, &j.im.strings);
	r = kineto_strings_init(&j.im.strings);
	if (r == 0)
		r = read_files(&j, err);
	if (r == 0)
		r = make_run(&j);
	if (r == 0)
		r = fmt_infer(&j.run);
	if (r == 0)
		r = write_all(&j, err);
	return r < 0 ? r : fill_report(&j.im, &j.run, ret);
}
