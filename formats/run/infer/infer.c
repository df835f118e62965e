/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/infer.h"
#include "formats/run/infer/members.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/calibrate.h"
#include "formats/run/infer/collectives.h"
#include "formats/run/infer/event_links.h"
#include "formats/run/infer/gap.h"
#include "formats/run/infer/process.h"
#include "formats/run/infer/walk.h"

#include <stdbool.h>
#include <stdio.h>

static const struct {
	const char *name;
	int inferred;
} rules[INFER_RULES] = {
	[INFER_COMM_WAIT_COMPUTE] = {"comm-wait-compute", 1},
	[INFER_COMPUTE_WAIT_COMM] = {"compute-wait-comm", 1},
	[INFER_EVENT_WAIT] = {"event-wait", 1},
	[INFER_CAPACITY] = {"capacity", 1},
	[INFER_QUEUE_ORDER] = {"queue-order", 1},
	[INFER_GRAPH_GAP] = {"graph-gap", 1},
	[INFER_COPY] = {"copy", 1},
	[INFER_SYNC_STREAM] = {"sync-stream", 1},
	[INFER_SYNC_EVENT] = {"sync-event", 1},
	[INFER_SYNC_DEVICE] = {"sync-device", 1},
	[INFER_QUEUE_FULL] = {"queue-full", 1},
	[INFER_HAND_OVER] = {"thread-handover", 1},
	[INFER_WINDOW] = {"window", 1},
	[INFER_TRANSFER] = {"transfer", 1},
	[INFER_EVENT_WAIT_RECORDED] = {"event-wait-recorded", 0},
	[INFER_SYNC_RECORDED] = {"sync-recorded", 0},
	[INFER_OTHER_GPU] = {"other-gpu", 1},
	[INFER_THREAD_ORDER] = {"thread-order", 0},
	[INFER_LATE_END] = {"late-end", 1},
	[INFER_POLL] = {"poll", 1},
};

/* Results. They are committed to the ranks only after every step has succeeded. */
struct result {
	struct fmt_run_edge *edges;
	struct fmt_run_collective *collectives;
	size_t n_edges, n_collectives;
};

struct job {
	struct fmt_run *run;
	struct infer_view *views;
	struct result *results;
	struct infer_shapes *shapes;
	struct fmt_template_gaps template_gaps;
	struct fmt_ends ends;
	struct fmt_participation *matches;
	uint32_t n;
	bool more; /* constants come from an earlier segment */
	uint8_t rule[INFER_RULES];
};

static void job_done(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		if (j->views)
			infer_view_done(&j->views[i]);
		if (j->results) {
			free(j->results[i].edges);
			free(j->results[i].collectives);
		}
	}
	free(j->views);
	free(j->results);
	infer_shapes_free(j->shapes);
	fmt_template_gaps_done(&j->template_gaps);
	fmt_ends_done(&j->ends);
	free(j->matches);
}

static int explain_rank(struct job *j, uint32_t rank)
{
	struct infer_view *v = &j->views[rank];
	struct infer_walk w;
	int r = infer_walk_init(&w, v, j->shapes);

	if (r == 0)
		r = infer_walk_calls(&w);
	if (r == 0)
		r = infer_add_window_waits(&w);
	infer_walk_done(&w);
	if (r == 0)
		r = infer_add_queue_waits(v);
	if (r == 0 && v->rank->process)
		r = infer_add_other_gpu_waits(v);
	return r;
}

/* Adds the recorded edges: those of the rank, or of all ranks of its process if it is the first of
 * them. */
static int explain_process(struct job *j, uint32_t rank)
{
	scoped(infer_process_done) struct infer_process p = {0};
	int r = infer_process_init(&p, j->views, j->n, rank);

	if (r == 0 && p.n > 0)
		r = infer_add_recorded_links(&p);
	if (r == 0 && p.n > 1)
		r = infer_add_thread_order(&p);
	return r;
}

/* Measures the constants of each rank, or copies those of an earlier part. Recorded links must be
 * known. */
static int calibrate_ranks(struct job *j)
{
	int r = fmt_template_gaps_init(&j->template_gaps, fmt_n_templates(j->run->names));

	for (uint32_t i = 0; i < j->n && r == 0; i++) {
		struct infer_view *v = &j->views[i];

		if (!j->more || !fmt_constants_get(j->run->names, i, &v->constants))
			r = infer_calibrate(v);
		v->template_gaps = &j->template_gaps;
	}
	if (r < 0)
		return r;
	if (!j->more)
		return infer_gaps_by_template(j->views, j->n, infer_n_shapes(j->shapes),
					      &j->template_gaps);
	fmt_template_gaps_get(j->run->names, &j->template_gaps);
	return 0;
}

/* Finds the edges of all ranks, then measures gaps again, excluding those that an edge explains,
 * and the lags of edges. */
static int find_edges(struct job *j)
{
	int r = 0;

	for (uint32_t i = 0; i < j->n && r == 0; i++)
		r = explain_process(j, i);
	if (r == 0)
		r = calibrate_ranks(j);
	if (r == 0)
		r = infer_shapes_measure(j->shapes, j->views, j->n);
	if (r == 0)
		r = infer_add_inferred_links(j->views, j->n);
	for (uint32_t i = 0; i < j->n && r == 0; i++)
		r = explain_rank(j, i);
	if (r == 0)
		r = infer_add_hand_overs(j->views, j->n);
	if (r == 0)
		r = infer_resolve_lags(j->views, j->n, j->shapes);
	for (uint32_t i = 0; i < j->n && r == 0 && !j->more; i++)
		r = infer_gaps_by_class(&j->views[i]);
	if (r == 0 && !j->more)
		r = infer_gaps_by_template(j->views, j->n, infer_n_shapes(j->shapes),
					   &j->template_gaps);
	for (uint32_t i = 0; i < j->n && r == 0; i++) {
		struct infer_view *v = &j->views[i];

		r = infer_calibrate_edges(v);
		for (uint32_t k = 0; k < v->n_ops; k++)
			v->constants.unexplained += !v->ops[k].explained;
	}
	return r;
}

static int match_ranks(struct job *j)
{
	scoped(free_ptr) struct fmt_clock *clocks = calloc(j->n + (size_t)1, sizeof(*clocks));
	int r = clocks ? infer_match_init(&j->ends, j->views, j->n) : -ENOMEM;

	if (r == 0)
		r = infer_match_align(&j->ends, j->views, clocks);
	if (r == 0)
		r = fmt_ends_find_comms(&j->ends);
	if (r == 0)
		r = fmt_collectives_match_by_ends(&j->ends, &j->matches);
	if (r == 0)
		r = infer_measure_clocks(j->matches, j->ends.n_ops, j->views, j->n, clocks);
	if (r == 0)
		r = infer_add_transfers(j->matches, j->ends.n_ops, j->views);
	return r;
}

static int by_to(const void *a, const void *b)
{
	const struct fmt_run_edge *x = a, *y = b;

	return array_order(x->to, y->to) ?: array_order(x->rank, y->rank)
	       ?: array_order(x->from, y->from)
	       ?: array_order(x->rule, y->rule) ?: array_order(x->lag_ns, y->lag_ns);
}

static int32_t rank_of(const struct infer_view *v, const struct infer_edge *e)
{
	return e->from_view ? (int32_t)e->from_view->index - (int32_t)v->index : 0;
}

static int make_edges(struct job *j, uint32_t rank)
{
	const struct infer_view *v = &j->views[rank];
	struct result *out = &j->results[rank];

	out->edges = malloc((v->n_edges + 1) * sizeof(*out->edges));
	if (!out->edges)
		return -ENOMEM;
	for (size_t i = 0; i < v->n_edges; i++)
		out->edges[i] = (struct fmt_run_edge){.from = v->edges[i].from,
						      .to = v->edges[i].to,
						      .lag_ns = v->edges[i].lag_ns,
						      .kind = v->edges[i].kind,
						      .rank = rank_of(v, &v->edges[i]),
						      .rule = j->rule[v->edges[i].rule]};
	out->n_edges = v->n_edges;
	qsort(out->edges, out->n_edges, sizeof(*out->edges), by_to);
	return 0;
}

static int by_event(const void *a, const void *b)
{
	const struct fmt_run_collective *x = a, *y = b;

	return array_order(x->event, y->event);
}

/* `m` are the participations of the rank; comm_of[] maps communicators to those of the names. */
static int make_collectives(struct job *j, uint32_t rank, const struct fmt_participation *m,
			    size_t n, const uint32_t *comm_of)
{
	struct result *out = &j->results[rank];

	out->collectives = malloc((n + 1) * sizeof(*out->collectives));
	if (!out->collectives)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		out->collectives[i] = (struct fmt_run_collective){
			j->views[rank].ops[m[i].op].event, (int32_t)comm_of[m[i].comm], m[i].seq};
	out->n_collectives = n;
	qsort(out->collectives, n, sizeof(*out->collectives), by_event);
	return 0;
}

/* Names a communicator after its process group, or after its stream. */
static int name_comm(struct job *j, uint32_t comm, uint32_t *ret)
{
	const struct fmt_ends_comm *c = &j->ends.comms[comm];
	const struct fmt_ends_row *row = &j->ends.rows[j->ends.members[c->first]];
	const struct infer_view *v = &j->views[row->rank];
	const struct fmt_track *track =
		fmt_track(v->names, v->index, v->streams[row->stream].track);
	scoped(free_ptr) uint32_t *ranks = malloc((c->n + (size_t)1) * sizeof(*ranks));
	struct fmt_comm named = {
		.name = row->group, .description = row->description, .n_ranks = c->n};
	char text[40];
	int r;

	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		ranks[i] = j->run->ranks[j->ends.rows[j->ends.members[c->first + i]].rank].number;
	r = infer_comm_ranks(v, row, &ranks, &named.n_ranks);
	if (r < 0)
		return r;
	named.ranks = ranks;
	if (!named.name) {
		int len = snprintf(text, sizeof(text), "stream%lld",
				   (long long)(track ? track->tid : 0));

		r = fmt_names_string(j->run->names, text, (size_t)len, &named.name);
		if (r < 0)
			return r;
	}
	return fmt_names_comm(j->run->names, &named, ret);
}

/* Names the rules that have edges. */
static int name_rules(struct job *j)
{
	bool used[INFER_RULES] = {false};
	int r = 0;

	for (uint32_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->views[i].n_edges; k++)
			used[j->views[i].edges[k].rule] = true;
	for (size_t i = 0; i < INFER_RULES && r == 0; i++)
		if (used[i])
			r = fmt_names_rule(j->run->names, rules[i].name, rules[i].inferred,
					   &j->rule[i]);
	return r;
}

/* Keeps the constants of the rank's first segment, and adds up the unexplained operations. */
static int put_constants(const struct job *j, uint32_t rank)
{
	const struct fmt_constants *found = &j->views[rank].constants;
	struct fmt_constants c;

	if (j->run->ranks[rank].n_events == 0)
		return 0;
	if (!j->more || !fmt_constants_get(j->run->names, rank, &c))
		return fmt_constants_put(j->run->names, rank, found);
	if (c.unexplained == found->unexplained)
		return 0;
	c.unexplained = found->unexplained;
	return fmt_constants_put(j->run->names, rank, &c);
}

static int name_results(struct job *j)
{
	scoped(free_ptr) uint32_t *comm_of =
		malloc((j->ends.n_comms + (size_t)1) * sizeof(*comm_of));
	int r = comm_of ? 0 : -ENOMEM;
	size_t first = 0, end;

	if (r == 0 && !j->more)
		r = fmt_template_gaps_put(j->run->names, &j->template_gaps);
	if (r == 0)
		r = name_rules(j);
	for (uint32_t i = 0; i < j->ends.n_comms && r == 0; i++)
		r = name_comm(j, i, &comm_of[i]);
	if (r == 0 && !j->more)
		r = infer_fit_network(j->matches, j->ends.n_ops, j->views, comm_of, j->run->names);
	for (uint32_t i = 0; i < j->n && r == 0; i++, first = end) {
		for (end = first; end < j->ends.n_ops && j->matches[end].rank == i;)
			end++;
		r = make_edges(j, i);
		if (r == 0)
			r = make_collectives(j, i, j->matches + first, end - first, comm_of);
		if (r == 0)
			r = put_constants(j, i);
	}
	return r;
}

static void commit_results(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct fmt_run_rank *rank = &j->run->ranks[i];

		free(rank->edges);
		free(rank->collectives);
		rank->edges = take(j->results[i].edges);
		rank->n_edges = j->results[i].n_edges;
		rank->collectives = take(j->results[i].collectives);
		rank->n_collectives = j->results[i].n_collectives;
	}
}

static int infer(struct fmt_run *run, bool more)
{
	scoped(job_done) struct job j = {.run = run, .more = more};
	int r = 0;

	j.views = calloc(run->n_ranks + (size_t)1, sizeof(*j.views));
	j.results = calloc(run->n_ranks + (size_t)1, sizeof(*j.results));
	if (!j.views || !j.results)
		return -ENOMEM;
	j.n = run->n_ranks;
	for (uint32_t i = 0; i < j.n && r == 0; i++)
		r = infer_view_init(&j.views[i], run->names, &run->ranks[i], i);
	if (r == 0)
		r = infer_shapes_new(j.views, j.n, &j.shapes);
	if (r == 0)
		r = find_edges(&j);
	if (r == 0)
		r = match_ranks(&j);
	if (r == 0)
		r = name_results(&j);
	if (r == 0)
		commit_results(&j);
	return r;
}

int fmt_infer(struct fmt_run *run)
{
	return infer(run, false);
}

int fmt_infer_segment(struct fmt_run *run)
{
	return infer(run, true);
}
