/* SPDX-License-Identifier: Apache-2.0 */

/* thread-handover: threads of a process that alternate, such as the main thread of a training and
 * the thread of its backward pass. A thread that made no calls while another did, and
 * continues when the other one stops, waited for it. The time between is the host's own time. */
#include "formats/run/infer/walk.h"

#include "base/scope.h"

/* Limit of threads that launch: more threads do not alternate in pairs. */
#define MOST_THREADS 64

struct turn {
	uint32_t last; /* last call of the thread, or INFER_NONE */
};

/* Returns the call of another thread after which `call` continued, or INFER_NONE. */
static uint32_t find_hand_over(const struct infer_view *v, const struct turn *turns,
			       const uint8_t *launches, uint32_t call)
{
	const struct infer_call *c = &v->calls[call];
	uint32_t best = INFER_NONE;

	for (uint32_t t = 0; t < v->n_threads; t++) {
		const struct infer_call *last;

		if (t == c->thread || !launches[t] || turns[t].last == INFER_NONE)
			continue;
		last = &v->calls[turns[t].last];
		if (last->end_ns > c->start_ns)
			continue;
		if (c->prev != INFER_NONE && last->end_ns <= v->calls[c->prev].end_ns)
			continue;
		if (best == INFER_NONE || last->end_ns > v->calls[best].end_ns)
			best = turns[t].last;
	}
	return best;
}

int infer_add_hand_overs(struct infer_view *v)
{
	scoped(free_ptr) struct turn *turns = malloc((v->n_threads + (size_t)1) * sizeof(*turns));
	scoped(free_ptr) uint8_t *launches = calloc(v->n_threads + (size_t)1, 1);
	uint32_t n = 0;
	int r = 0;

	if (!turns || !launches)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_calls; i++)
		if (v->calls[i].n_ops > 0 && !launches[v->calls[i].thread]) {
			launches[v->calls[i].thread] = 1;
			n++;
		}
	if (n < 2 || n > MOST_THREADS)
		return 0;
	memset(turns, 0xff, v->n_threads * sizeof(*turns));
	for (uint32_t i = 0; i < v->n_calls && r == 0; i++) {
		uint32_t call = v->order[i], from;
		const struct infer_call *c = &v->calls[call];

		if (c->nested || !launches[c->thread])
			continue;
		from = find_hand_over(v, turns, launches, call);
		turns[c->thread].last = call;
		if (from != INFER_NONE)
			r = infer_add_edge(v, &(struct infer_edge){
						      .from = v->calls[from].event,
						      .to = infer_outermost_event(v, c->event),
						      .from_op = INFER_NONE,
						      .to_op = INFER_NONE,
						      .lag_ns = c->start_ns - v->calls[from].end_ns,
						      .kind = FMT_EDGE_START,
						      .rule = INFER_HAND_OVER});
	}
	return r;
}
