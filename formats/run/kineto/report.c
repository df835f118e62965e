/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/report.h"

#include "base/array.h"
#include "formats/trace/origin.h"

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

static int by_fate(const void *a, const void *b)
{
	const struct kineto_tally_row *x = a, *y = b;

	return array_order(x->fate, y->fate) ?: array_order(y->events, x->events);
}

static int fill_counts(const struct kineto_import *im, struct kineto_tally *t,
		       struct kineto_rank_report *ret)
{
	static const char *const outcomes[] = {"kept", "implied", "skipped"};

	if (t->n > 0)
		qsort(t->rows, t->n, sizeof(*t->rows), by_fate);
	ret->counts = calloc(t->n + 1, sizeof(*ret->counts));
	if (!ret->counts)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		const struct kineto_tally_row *row = &t->rows[i];
		struct kineto_count *c = &ret->counts[ret->n_counts++];
		enum kineto_outcome outcome = kineto_fate_outcome((enum kineto_fate)row->fate);

		c->events = row->events;
		c->outcome = outcomes[outcome];
		c->ph = strdup(im->strings.strings[row->ph].s);
		c->cat = strdup(im->strings.strings[row->cat].s);
		c->why = strdup(kineto_fate_text((enum kineto_fate)row->fate));
		if (!c->ph || !c->cat || !c->why)
			return -ENOMEM;
		if (row->fate < FMT_KINDS)
			ret->kept[row->fate] += row->events;
		else if (outcome == KINETO_KEPT)
			ret->names += row->events;
		else if (outcome == KINETO_IMPLIED)
			ret->implied += row->events;
		else
			ret->skipped += row->events;
	}
	return 0;
}

int kineto_report_fill(const struct kineto_import *im, const struct fmt_run *run,
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
