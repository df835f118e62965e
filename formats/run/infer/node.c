/* SPDX-License-Identifier: Apache-2.0 */

/* graph: the nodes of one launch, which run concurrently on several streams. The recording contains
 * the dependencies of each node in addition to the previous node of its stream. A node without
 * dependencies starts with the first of all. */
#include "formats/run/infer/walk.h"

#include "base/array.h"
#include "formats/trace/json.h"

static int by_number(const void *a, const void *b)
{
	const struct infer_node *x = a, *y = b;

	return array_order(x->number, y->number);
}

int infer_collect_nodes(struct infer_walk *w, const struct infer_call *call)
{
	const struct infer_view *v = w->view;
	bool placed = false;

	w->n_nodes = 0;
	w->first_node = INFER_NONE;
	for (uint32_t i = 0; i < call->n_ops; i++)
		placed |= v->ops[v->launched[call->first_op + i]].is_placed;
	if (!placed)
		return 0;
	if (array_reserve(&w->nodes, call->n_ops, &w->nodes_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < call->n_ops; i++) {
		uint32_t op = v->launched[call->first_op + i];
		const struct infer_op *o = &v->ops[op];
		int64_t number;

		if (infer_event_arg(v, o->event, INFER_KEY_NODE, &number))
			w->nodes[w->n_nodes++] = (struct infer_node){number, op};
		if (!o->is_placed &&
		    (w->first_node == INFER_NONE || o->start_ns < v->ops[w->first_node].start_ns))
			w->first_node = op;
	}
	qsort(w->nodes, w->n_nodes, sizeof(*w->nodes), by_number);
	return 0;
}

static uint32_t node_of(const struct infer_walk *w, int64_t number)
{
	const struct infer_node of = {.number = number};
	const struct infer_node *found =
		w->n_nodes > 0 ? bsearch(&of, w->nodes, w->n_nodes, sizeof(of), by_number) : NULL;

	return found ? found->op : INFER_NONE;
}

static int waits_for(struct infer_walk *w, uint32_t from, uint32_t op, int64_t *base_ns)
{
	const struct infer_view *v = w->view;

	if (from == INFER_NONE || from == op || v->ops[from].end_ns > v->ops[op].start_ns)
		return 0;
	if (v->ops[from].end_ns > *base_ns)
		*base_ns = v->ops[from].end_ns;
	return infer_add_op_edge(w->view, from, op, FMT_EDGE_START, INFER_GRAPH, 0);
}

static int begins_with(struct infer_walk *w, uint32_t op, int64_t *base_ns)
{
	const struct infer_view *v = w->view;
	uint32_t from = w->first_node;

	if (from == INFER_NONE || from == op || v->ops[from].start_ns > v->ops[op].start_ns)
		return 0;
	if (v->ops[from].start_ns > *base_ns)
		*base_ns = v->ops[from].start_ns;
	return infer_add_op_edge(w->view, from, op, FMT_EDGE_SPAWN, INFER_GRAPH, 0);
}

int infer_add_node_waits(struct infer_walk *w, const struct infer_call *call, uint32_t op,
			 int64_t *base_ns)
{
	const struct infer_view *v = w->view;
	const char *at, *end, *element;
	int64_t value;
	size_t len;
	bool any = false;
	int r = 0;

	if (!infer_event_arg(v, v->ops[op].event, INFER_KEY_AFTER, &value) || value <= 0 ||
	    value > UINT32_MAX)
		return 0;
	at = fmt_string(v->names, (fmt_str)value, &len);
	end = at + len;
	while (r == 0 && fmt_json_element(&at, end, &element, &len)) {
		r = waits_for(w, node_of(w, strtoll(element, NULL, 10)), op, base_ns);
		any = true;
	}
	return r < 0 || any ? r : begins_with(w, op, base_ns);
}
