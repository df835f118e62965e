/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/walk.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_STREAMS 1024 /* of which it is known which waits for which */

int infer_walk_init(struct infer_walk *w, struct infer_view *v, struct infer_shapes *shapes)
{
	size_t n = v->n_streams, pairs = n <= MOST_STREAMS ? n * n : 0;

	*w = (struct infer_walk){
		.view = v, .shapes = shapes, .compute = INFER_NONE, .newest = INFER_NONE};
	w->threads = malloc((v->n_threads + (size_t)1) * sizeof(*w->threads));
	w->last = malloc((n + 1) * sizeof(*w->last));
	w->waited = malloc((n + 1) * sizeof(*w->waited));
	w->known = malloc((pairs + 1) * sizeof(*w->known));
	w->on = malloc((v->n_calls + (size_t)1) * sizeof(*w->on));
	w->seen = calloc(v->n_calls + (size_t)1, 1);
	if (!w->on || !w->seen || !w->threads || !w->last || !w->waited || !w->known)
		return -ENOMEM;
	memset(w->on, 0xff, (v->n_calls + (size_t)1) * sizeof(*w->on));
	memset(w->last, 0xff, (n + 1) * sizeof(*w->last));
	memset(w->waited, 0xff, (n + 1) * sizeof(*w->waited));
	memset(w->known, 0xff, (pairs + 1) * sizeof(*w->known));
	w->knows = pairs == n * n;
	for (uint32_t i = 0; i < v->n_threads; i++)
		w->threads[i] = (struct infer_thread){.compute = INFER_NONE,
						      .unrecorded = INFER_NONE,
						      .recorded = INFER_NONE,
						      .awaited = INFER_NONE};
	return 0;
}

void infer_walk_done(struct infer_walk *w)
{
	free(w->threads);
	free(w->on);
	free(w->seen);
	free(w->last);
	free(w->waited);
	free(w->known);
	free(w->nodes);
	*w = (struct infer_walk){0};
}

static int launches_collective(const struct infer_view *v, const struct infer_call *c)
{
	for (uint32_t i = 0; i < c->n_ops; i++)
		if (v->ops[v->launched[c->first_op + i]].kind == FMT_COLLECTIVE)
			return 1;
	return 0;
}

/* Stream waits that follow every launch of a collective are NCCL's own; more than those are the
 * program's. */
static void count_own_waits(struct infer_walk *w)
{
	const struct infer_view *v = w->view;
	uint32_t least = UINT32_MAX;

	for (uint32_t t = 0; t < v->n_threads; t++) {
		uint32_t waits = 0;
		int collective = 0;

		for (uint32_t i = v->threads[t].first; i < v->threads[t].end; i++) {
			const struct infer_call *c = &v->calls[i];

			waits += c->api == INFER_API_STREAM_WAIT && !w->seen[i];
			if (c->n_ops == 0)
				continue;
			if (collective && waits < least)
				least = waits;
			collective = launches_collective(v, c);
			waits = 0;
		}
	}
	w->own_waits = least == UINT32_MAX ? 0 : least;
}

static void follow_events(struct infer_thread *t, const struct infer_call *c, int seen)
{
	if (c->api == INFER_API_RECORD_EVENT) {
		t->recorded = t->unrecorded;
		t->unrecorded = INFER_NONE;
	} else if (c->api == INFER_API_STREAM_WAIT) {
		t->stream_waits += !seen;
		if (t->awaited == INFER_NONE && !seen)
			t->awaited = t->recorded;
		t->recorded = INFER_NONE;
	}
}

int infer_walk_calls(struct infer_walk *w)
{
	struct infer_view *v = w->view;
	int r = 0;

	infer_recorded(v, w->on, w->seen);
	fmt_hash_done(&v->calls_by_correlation);
	for (uint32_t i = 0; i < v->n_calls; i++)
		w->records |= v->calls[i].api == INFER_API_STREAM_WAIT && w->seen[i];
	count_own_waits(w);
	infer_sync_learn(w);
	for (uint32_t i = 0; i < v->n_calls && r == 0; i++) {
		const struct infer_call *c = &v->calls[v->order[i]];

		follow_events(&w->threads[c->thread], c, w->seen[v->order[i]]);
		r = infer_syncs(w, v->order[i]);
		if (r == 0 && c->n_ops > 0)
			r = infer_waits(w, c);
	}
	return r;
}
