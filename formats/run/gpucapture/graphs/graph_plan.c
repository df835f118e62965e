/* SPDX-License-Identifier: Apache-2.0 */

/* Assigns the operations of a launch to branches of its stream. An operation waits for the previous
 * one of its branch; other dependencies are listed. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"

#define MOST_BRANCHES 64
#define MOST_LISTED                                                                                \
	256 /* listed dependencies of an operation; further ones show only in its times */

void rec_graph_plan_free(struct rec_graph_plan *p)
{
	if (p)
		free(p->nodes);
	free(p);
}

/* By node, unless stated otherwise. */
struct planning {
	struct fmt_names *names;
	const struct rec_graph *g;
	uint32_t *order;    /* nodes, by their place */
	uint32_t *first;    /* its edges are edges[first ..] */
	uint32_t *branch;   /* REC_NONE: not an operation */
	uint32_t *position; /* on its branch, from 1 */
	uint32_t *seen;	    /* MOST_BRANCHES entries per node: the operation of each branch that it
			       waits for */
	uint32_t tails[MOST_BRANCHES], lengths[MOST_BRANCHES], n_branches;
	uint32_t *list; /* dependencies of one operation */
	uint32_t n_list;
	uint32_t *marks, mark; /* nodes visited while making the list */
	uint32_t *stack;
};

static void planning_done(struct planning *p)
{
	free(p->order);
	free(p->first);
	free(p->branch);
	free(p->position);
	free(p->seen);
	free(p->list);
	free(p->marks);
	free(p->stack);
}

static bool is_op(const struct rec_graph_node *n)
{
	return rec_graph_has_times(n) && !n->is.disabled;
}

static int begin(struct planning *p)
{
	size_t n = p->g->n_nodes + 1;
	size_t edge = 0;

	p->order = malloc(n * sizeof(*p->order));
	p->first = calloc(n, sizeof(*p->first));
	p->branch = malloc(n * sizeof(*p->branch));
	p->position = calloc(n, sizeof(*p->position));
	p->seen = calloc(n, MOST_BRANCHES * sizeof(*p->seen));
	p->list = malloc((MOST_LISTED + 1) * sizeof(*p->list));
	p->marks = calloc(n, sizeof(*p->marks));
	p->stack = malloc(n * sizeof(*p->stack));
	if (!p->stack || !p->order || !p->first || !p->branch || !p->position || !p->seen ||
	    !p->list || !p->marks)
		return -ENOMEM;
	memset(p->order, 0xff, n * sizeof(*p->order));
	memset(p->branch, 0xff, n * sizeof(*p->branch));
	for (uint32_t i = 0; i < p->g->n_nodes; i++) {
		while (edge < p->g->n_edges && p->g->edges[edge].to < i)
			edge++;
		p->first[i] = (uint32_t)edge;
		if (p->g->nodes[i].place < p->g->n_nodes)
			p->order[p->g->nodes[i].place] = i;
	}
	return 0;
}

/* Lists the operations that the node waits for, also through nodes without an operation. All of
 * them precede the node in node order. */
static void list_preds(struct planning *p, uint32_t node)
{
	const struct rec_graph *g = p->g;
	uint32_t depth = 1;

	p->stack[0] = node;
	while (depth > 0) {
		uint32_t to = p->stack[--depth];

		for (size_t e = p->first[to]; e < g->n_edges && g->edges[e].to == to; e++) {
			uint32_t from = g->edges[e].from;

			if (p->marks[from] == p->mark || g->nodes[from].place >= g->nodes[to].place)
				continue;
			p->marks[from] = p->mark;
			if (!is_op(&g->nodes[from]))
				p->stack[depth++] = from;
			else if (p->branch[from] != REC_NONE && p->n_list < MOST_LISTED)
				p->list[p->n_list++] = from;
		}
	}
}

/* Returns true if the node waits for the whole branch. */
static bool waits_for_branch(const struct planning *p, uint32_t node, uint32_t branch)
{
	return p->seen[(size_t)node * MOST_BRANCHES + branch] == p->lengths[branch];
}

static bool is_root(const struct planning *p, uint32_t node)
{
	uint32_t e = p->first[node];

	return e >= p->g->n_edges || p->g->edges[e].to != node;
}

/* Chooses a branch whose end the node waits for, preferably that of a direct dependency. */
static uint32_t choose(struct planning *p, uint32_t node)
{
	for (uint32_t i = 0; i < p->n_list; i++)
		if (p->tails[p->branch[p->list[i]]] == p->list[i])
			return p->branch[p->list[i]];
	for (uint32_t b = 0; b < p->n_branches; b++)
		if (p->lengths[b] > 0 && waits_for_branch(p, node, b))
			return b;
	if (p->lengths[0] == 0)
		return 0;
	if (p->n_branches < MOST_BRANCHES)
		return p->n_branches++;
	return MOST_BRANCHES - 1;
}

/* Names the dependencies of an operation that its branch does not imply. */
static int name_list(struct planning *p, uint32_t behind, fmt_str *ret)
{
	scoped(text_done) struct text json = {0};
	bool more = false;

	text_char(&json, '[');
	for (uint32_t i = 0; i < p->n_list; i++) {
		if (p->list[i] == behind)
			continue;
		if (more)
			text_str(&json, ", ");
		text_u64(&json, p->list[i]);
		more = true;
	}
	text_char(&json, ']');
	return json.error ? json.error : fmt_names_string(p->names, json.data, json.len, ret);
}

static int assign_branch(struct planning *p, uint32_t node, struct rec_graph_plan_node *ret)
{
	uint32_t *seen = p->seen + (size_t)node * MOST_BRANCHES, b, behind;
	bool listed;

	b = choose(p, node);
	behind = p->lengths[b] > 0 ? p->tails[b] : REC_NONE;
	listed = p->n_list > 1 || (p->n_list == 1 && p->list[0] != behind);
	p->branch[node] = b;
	p->tails[b] = node;
	seen[b] = p->position[node] = ++p->lengths[b];
	*ret = (struct rec_graph_plan_node){.node = node, .branch = b};
	if (!listed && (b == 0 || behind != REC_NONE))
		return 0;
	return name_list(p, behind, &ret->after);
}

/* Finds the last operation of each branch that the node waits for. */
static void find_last_ops(struct planning *p, uint32_t node)
{
	uint32_t *seen = p->seen + (size_t)node * MOST_BRANCHES;

	p->n_list = 0;
	p->mark++;
	list_preds(p, node);
	for (uint32_t i = 0; i < p->n_list; i++)
		for (uint32_t b = 0; b < p->n_branches; b++) {
			uint32_t at = p->seen[(size_t)p->list[i] * MOST_BRANCHES + b];

			seen[b] = at > seen[b] ? at : seen[b];
		}
}

static int assign_all(struct planning *p, struct rec_graph_plan *plan, bool roots)
{
	int r = 0;

	for (uint32_t k = 0; k < p->g->n_nodes && r == 0; k++) {
		uint32_t node = p->order[k];
		const struct rec_graph_node *n = node == REC_NONE ? NULL : &p->g->nodes[node];

		if (!n || !is_op(n) || n->op >= plan->n_ops || is_root(p, node) != roots)
			continue;
		find_last_ops(p, node);
		r = assign_branch(p, node, &plan->nodes[n->op]);
	}
	return r;
}

/* Lists the ends of all branches except the first. */
static int find_end(struct planning *p, struct rec_graph_plan *plan)
{
	p->n_list = 0;
	for (uint32_t b = 1; b < p->n_branches; b++)
		p->list[p->n_list++] = p->tails[b];
	return p->n_list > 0 && plan->has_end ? name_list(p, REC_NONE, &plan->after) : 0;
}

static bool is_chain(const struct planning *p)
{
	for (uint32_t k = 1; k < p->g->n_nodes; k++) {
		const struct rec_graph *g = p->g;
		uint32_t node = p->order[k], e = node == REC_NONE ? 0 : p->first[node];

		if (node == REC_NONE || e >= g->n_edges || g->edges[e].to != node ||
		    g->edges[e].from != p->order[k - 1] ||
		    (e + 1 < g->n_edges && g->edges[e + 1].to == node))
			return false;
	}
	return true;
}

static int plan(struct planning *p, struct rec_graph_plan *ret)
{
	int r = begin(p);

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->g->n_nodes; i++)
		ret->n_ops += rec_graph_has_times(&p->g->nodes[i]);
	ret->nodes = malloc((ret->n_ops + (size_t)1) * sizeof(*ret->nodes));
	if (!ret->nodes)
		return -ENOMEM;
	ret->n = ret->n_ops;
	for (size_t i = 0; i < ret->n; i++)
		ret->nodes[i] = (struct rec_graph_plan_node){.node = REC_NONE};
	ret->has_end = !is_chain(p);
	p->n_branches = 1;
	/* Operations without dependencies come first; the first one is on the stream itself. */
	r = assign_all(p, ret, true);
	if (r == 0)
		r = assign_all(p, ret, false);
	return r < 0 ? r : find_end(p, ret);
}

int rec_graph_plan_new(struct fmt_names *names, const struct rec_graph *g,
		       struct rec_graph_plan **ret)
{
	scoped(planning_done) struct planning p = {.names = names, .g = g};
	struct rec_graph_plan *made = calloc(1, sizeof(*made));
	int r = made ? plan(&p, made) : -ENOMEM;

	if (r < 0)
		rec_graph_plan_free(made);
	else
		*ret = made;
	return r;
}
