/* SPDX-License-Identifier: Apache-2.0 */

/* poll: a loop of cudaEventQuery or cudaStreamQuery ends when the operation does, like one call of
 * cudaEventSynchronize or cudaStreamSynchronize. The view contains such a loop as one call. In the
 * emulated run, the other calls of the loop take no time behind the first one. */
#include "formats/run/infer/walk.h"

/* Of a loop in a recording without results of calls. PyTorch's allocators query events, too, but
 * not as often. */
#define MOST_PAUSE_NS (10 * INFER_US) /* between two queries */
#define LEAST_POLLS 8
#define LEAST_NS (20 * INFER_US) /* PyTorch queries ready events in shorter bursts */

static bool asks_again(const struct infer_view *v, const struct infer_call *a,
		       const struct infer_call *b)
{
	static const char *const handles[] = {"hEvent", "hStream"};
	const struct fmt_event *events = v->rank->events;
	int64_t x, y;

	for (size_t i = 0; b->api == INFER_API_POLL && i < 2; i++)
		if (infer_event_arg(v, a->event, handles[i], &x) &&
		    infer_event_arg(v, b->event, handles[i], &y) && x != y)
			return false;
	return b->api == INFER_API_POLL &&
	       fmt_template(v->names, events[a->event].template)->name ==
		       fmt_template(v->names, events[b->event].template)->name;
}

/* Returns the number of calls in the loop that begins with the first of n calls; 1: not a loop. If
 * the recording has results of calls, all but the last query must have answered "not ready". */
static uint32_t loop_of(const struct infer_view *v, const struct infer_call *c, uint32_t n)
{
	uint32_t k = 0;
	int64_t result;

	if (infer_event_arg(v, c->event, "result", &result)) {
		while (result != 0 && k + 1 < n && asks_again(v, &c[k], &c[k + 1]))
			infer_event_arg(v, c[++k].event, "result", &result);
		return result == 0 ? k + 1 : 1;
	}
	while (k + 1 < n && asks_again(v, &c[k], &c[k + 1]) &&
	       c[k + 1].start_ns - c[k].end_ns <= MOST_PAUSE_NS)
		k++;
	return k + 1 >= LEAST_POLLS && c[k].start_ns - c->start_ns >= LEAST_NS ? k + 1 : 1;
}

void infer_merge_polls(struct infer_view *v, uint32_t first, uint32_t end)
{
	for (uint32_t i = first, n; i < end; i += n) {
		struct infer_call *c = &v->calls[i];

		n = c->api == INFER_API_POLL ? loop_of(v, c, end - i) : 1;
		if (n == 1)
			continue;
		c->n_polls = n;
		c->end_ns = c[n - 1].end_ns;
	}
}

int infer_polls(struct infer_walk *w, uint32_t call, size_t first_edge)
{
	struct infer_view *v = w->view;
	const struct infer_call *c = &v->calls[call];
	size_t n = v->n_edges;
	int r = 0;

	for (uint32_t i = 1; i < c->n_polls && r == 0; i++) {
		struct infer_edge after = {.from = c[i - 1].event,
					   .to = c[i].event,
					   .from_op = INFER_NONE,
					   .to_op = INFER_NONE,
					   .kind = FMT_EDGE_START,
					   .rule = INFER_POLL};

		r = infer_add_edge(v, &after);
		for (size_t k = first_edge; k < n && r == 0; k++) {
			struct infer_edge e = v->edges[k];

			e.to = c[i].event;
			e.lag_ns = 0;
			e.rule = INFER_POLL;
			r = infer_add_edge(v, &e);
		}
	}
	return r;
}
