/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/walk.h"

#include "formats/run/infer/event_links.h"

#include "base/scope.h"

int infer_walk_init(struct infer_walk *w, struct infer_view *v, struct infer_shapes *shapes)
{
	size_t n = v->n_streams + (size_t)1, n_threads = v->n_threads + (size_t)1;

	*w = (struct infer_walk){
		.view = v, .shapes = shapes, .compute = INFER_NONE, .newest = INFER_NONE};
	w->last_compute = malloc(n_threads * sizeof(*w->last_compute));
	w->links = malloc(n * sizeof(*w->links));
	w->waits = calloc(n, sizeof(*w->waits));
	w->last = malloc(n * sizeof(*w->last));
	w->waited = malloc(n * sizeof(*w->waited));
	if (!w->last_compute || !w->links || !w->waits || !w->last || !w->waited)
		return -ENOMEM;
	memset(w->last_compute, 0xff, n_threads * sizeof(*w->last_compute));
	memset(w->links, 0xff, n * sizeof(*w->links));
	memset(w->last, 0xff, n * sizeof(*w->last));
	memset(w->waited, 0xff, n * sizeof(*w->waited));
	return 0;
}

void infer_walk_done(struct infer_walk *w)
{
	free(w->last_compute);
	free(w->links);
	free(w->waits);
	free(w->last);
	free(w->waited);
	*w = (struct infer_walk){0};
}

/* Adds the dependencies of each stream's next operation that `call` causes. */
static void apply_links(struct infer_walk *w, uint32_t call)
{
	struct infer_view *v = w->view;

	w->n_waits += v->calls[call].api == INFER_API_STREAM_WAIT;
	for (; w->next_link < v->n_links && v->links[w->next_link].call == call; w->next_link++) {
		struct infer_add_link *l = &v->links[w->next_link];

		if (l->stream == INFER_NONE)
			continue;
		l->next = w->links[l->stream];
		w->links[l->stream] = w->next_link;
	}
}

int infer_walk_calls(struct infer_walk *w)
{
	struct infer_view *v = w->view;
	int r = 0;

	infer_find_optional_syncs(w);
	for (uint32_t i = 0; i < v->n_calls && r == 0; i++) {
		const struct infer_call *c = &v->calls[v->order[i]];
		uint32_t link = w->next_link;
		size_t n_edges = v->n_edges;

		apply_links(w, v->order[i]);
		r = infer_add_call_waits(w, v->order[i], link);
		if (r == 0)
			r = c->waits ? infer_polls(w, v->order[i], n_edges) : 0;
		if (r == 0 && c->n_ops > 0)
			r = infer_add_op_waits(w, c);
	}
	return r;
}
