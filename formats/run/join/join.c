/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/join/join.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/infer.h"
#include "formats/run/iterations.h"
#include "formats/run/join/parts.h"
#include "formats/trace/store/writer.h"

static void join_done(struct join *j)
{
	for (uint32_t i = 0; j->ranks && i < j->run.n_ranks; i++) {
		struct fmt_run_rank *run = &j->run.ranks[i];

		free(run->events);
		free(run->values);
		free(run->iterations);
		free(run->edges);
		free(run->collectives);
		fmt_run_reading_done(&j->readings[i]);
		fmt_run_part_done(&j->run_parts[i]);
		free(j->ranks[i].members);
		free(j->ranks[i].pages);
	}
	for (size_t i = 0; i < j->n_parties; i++)
		free(j->parties[i].ops);
	for (size_t i = 0; j->parts && i < j->options->n_paths; i++) {
		free(j->parts[i].strings);
		free(j->parts[i].templates);
		fmt_trace_close(j->parts[i].trace);
	}
	free(j->run.ranks);
	free(j->ranks);
	free(j->run_parts);
	free(j->readings);
	free(j->parties);
	free(j->parts);
	free(j->clocks);
	fmt_names_free(j->names);
}

static int open_parts(struct join *j)
{
	size_t n = j->options->n_paths;
	int r = 0;

	j->parts = calloc(n + 1, sizeof(*j->parts));
	if (!j->parts)
		return -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct join_part *p = &j->parts[i];

		r = fmt_trace_open(j->options->paths[i], &p->trace, j->err);
		if (r == 0)
			r = fmt_trace_complete(p->trace, j->err);
		if (r < 0)
			return r;
		fmt_origin_get(fmt_trace_names(p->trace), &p->origin);
		r = join_names_init(p);
	}
	return r;
}

/* ---- numbers of ranks */

static int by_number(const void *a, const void *b)
{
	const struct join_rank *x = a, *y = b;

	return array_order(x->number, y->number) ?: array_order(x->part, y->part)
	       ?: array_order(x->index, y->index);
}

static bool are_different(struct join *j)
{
	if (j->run.n_ranks > 0)
		qsort(j->ranks, j->run.n_ranks, sizeof(*j->ranks), by_number);
	for (uint32_t i = 1; i < j->run.n_ranks; i++)
		if (j->ranks[i].number == j->ranks[i - 1].number)
			return false;
	return true;
}

/* By the parts; else by what the launcher said; else in the order of the parts. */
static void number_ranks(struct join *j, bool differ)
{
	bool known = true;

	if (differ)
		return;
	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		struct join_rank *of = &j->ranks[i];
		int64_t v = fmt_rank_variable(fmt_trace_names(j->parts[of->part].trace), of->index);

		known &= v >= 0;
		of->number = (uint32_t)v;
	}
	if (known && are_different(j))
		return;
	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		j->ranks[i].number = 0;
	are_different(j); /* by part and index now */
	for (uint32_t i = 0; i < j->run.n_ranks; i++)
		j->ranks[i].number = i;
}

static int list_ranks(struct join *j)
{
	size_t total = 0;
	uint32_t n = 0;
	bool differ;
	int r;

	for (size_t i = 0; i < j->options->n_paths; i++)
		total += fmt_trace_n_ranks(j->parts[i].trace);
	j->ranks = calloc(total + 1, sizeof(*j->ranks));
	j->run.ranks = calloc(total + 1, sizeof(*j->run.ranks));
	j->run_parts = calloc(total + 1, sizeof(*j->run_parts));
	j->readings = calloc(total + 1, sizeof(*j->readings));
	if (!j->ranks || !j->run.ranks || !j->run_parts || !j->readings || total > UINT32_MAX) {
		free(take(j->ranks));
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < j->options->n_paths; i++)
		for (uint32_t k = 0; k < fmt_trace_n_ranks(j->parts[i].trace); k++)
			j->ranks[n++] = (struct join_rank){
				.part = i,
				.index = k,
				.number = fmt_trace_rank(j->parts[i].trace, k)->number};
	j->run.n_ranks = n;
	differ = are_different(j);
	r = join_same_run(j, differ);
	if (r < 0)
		return r;
	number_ranks(j, differ);
	for (uint32_t i = 0; i < n; i++)
		j->run.ranks[i].number = j->ranks[i].number;
	return 0;
}

static int load_all(struct join *j)
{
	int r = 0;

	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		struct join_rank *of = &j->ranks[i];

		r = join_rank_names(j, i);
		if (r == 0)
			r = fmt_memberships_get(fmt_trace_names(j->parts[of->part].trace),
						of->index, &of->members, &of->n_members);
		if (r == 0)
			r = join_load(j, i);
	}
	return r;
}

/* Iterations that were found by repetition are numbered again over all ranks. */
static int number_iterations(struct join *j)
{
	scoped(text_done) struct text json = {0};

	for (size_t i = 0; i < j->options->n_paths; i++) {
		const char *found = fmt_fact_value(fmt_trace_names(j->parts[i].trace),
						   FMT_WHOLE_TRACE, FMT_ITERATIONS_KEY);

		if (!found)
			return 0;
		json.len = 0;
		text_str(&json, found);
	}
	fmt_iterations_align(&j->run);
	return join_fact(j, FMT_ITERATIONS_KEY, &json);
}

static int assemble(struct join *j)
{
	int r = load_all(j);

	if (r == 0)
		r = join_clocks_list(j);
	if (r == 0)
		r = join_meet(j);
	if (r == 0)
		r = join_clocks_align(j);
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++)
		r = join_settle(j, i);
	if (r == 0)
		r = number_iterations(j);
	if (r == 0)
		r = fmt_infer(&j->run);
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0 && j->n_parties == 0; i++)
		fmt_run_number_collectives(&j->run.ranks[i]);
	if (r == 0)
		r = join_facts(j);
	return r < 0 ? r : join_clocks_put(j);
}

static int write_all(struct join *j)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	struct fmt_writer *w;
	int r = fmt_writer_open(j->options->output, j->names, &options, &w, j->err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++) {
		const struct fmt_run_source source =
			fmt_run_part_source(&j->run_parts[i], j->names, &j->readings[i]);

		j->readings[i].first_content = INT64_MIN;
		j->readings[i].last_content = INT64_MAX;
		if (j->options->progress)
			r = j->options->progress(j->options->context, "writing", i, j->run.n_ranks);
		if (r == 0)
			r = fmt_run_write(j->names, &j->run.ranks[i], i, &source, w, j->err);
	}
	if (r == 0)
		r = join_keep(j, w);
	if (r < 0) {
		fmt_writer_abandon(w);
		return r;
	}
	return fmt_writer_close(w, j->err);
}

int fmt_join(const struct fmt_join *options, struct fmt_join_result *ret, struct fmt_error *err)
{
	scoped(join_done) struct join j = {.options = options, .err = err, .result = ret};
	int r = fmt_names_new(&j.names);

	*ret = (struct fmt_join_result){0};
	j.run.names = j.names;
	if (r == 0)
		r = open_parts(&j);
	if (r == 0)
		r = list_ranks(&j);
	if (r == 0 && j.run.n_ranks == 0)
		return -EINVAL;
	ret->n_ranks = j.run.n_ranks;
	if (r == 0)
		r = assemble(&j);
	return r < 0 ? r : write_all(&j);
}
