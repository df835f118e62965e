/* SPDX-License-Identifier: Apache-2.0 */

/* Collectives in graphs: a kernel that NCCL launched on a stream in capture is the collective of
 * its NCCL call. Launches of the graph count them. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"
#include "base/scope.h"

#define LOOK_BACK                                                                                  \
	256 /* search backwards for an equal collective, since layers or iterations repeat */

static bool are_same(const struct rec_graphs *g, const struct rec_collective *a,
		     const struct rec_collective *b, const struct fmt_message *messages)
{
	if (a->comm != b->comm || a->op != b->op || a->dtype != b->dtype || a->bytes != b->bytes ||
	    a->per_rank != b->per_rank || a->parts != b->parts || a->is_message != b->is_message ||
	    a->n_messages != b->n_messages)
		return false;
	for (uint32_t i = 0; i < a->n_messages; i++) {
		const struct fmt_message *m = &g->messages[a->first_message + i];

		if (m->peer != messages[i].peer || m->receives != messages[i].receives)
			return false;
	}
	return true;
}

static int add_collective(struct rec_graphs *g, const struct rec_collective *made,
			  const struct fmt_message *messages, uint32_t *ret)
{
	struct rec_collective *c;

	for (size_t i = 0; i < g->n_collectives && i < LOOK_BACK; i++)
		if (are_same(g, &g->collectives[g->n_collectives - 1 - i], made, messages)) {
			*ret = (uint32_t)(g->n_collectives - i);
			return 0;
		}
	if (array_reserve(&g->collectives, g->n_collectives + 1, &g->collectives_cap) < 0 ||
	    array_reserve(&g->messages, g->n_messages + made->n_messages, &g->messages_cap) < 0)
		return -ENOMEM;
	c = &g->collectives[g->n_collectives++];
	*c = *made;
	c->first_message = (uint32_t)g->n_messages;
	for (uint32_t i = 0; i < made->n_messages; i++)
		g->messages[g->n_messages++] = messages[i];
	*ret = (uint32_t)g->n_collectives;
	return 0;
}

int rec_graph_set_collective(struct rec_process *p, const struct rec_graph_node_ref *at,
			     const struct rec_collective *made, const struct fmt_message *messages)
{
	struct rec_graphs *all = p->graphs;
	struct rec_graph *g = &all->graphs[at->graph];

	if (at->node >= g->n_nodes)
		return 0;
	return add_collective(all, made, messages, &g->nodes[at->node].node.collective);
}

bool rec_graph_is_kernel(const struct rec_process *p, const struct rec_graph_node_ref *at)
{
	const struct rec_graph *g = &p->graphs->graphs[at->graph];

	return at->node < g->n_nodes && strcmp(g->nodes[at->node].node.kind, "kernel") == 0;
}

/* ---- reported by the driver */

struct place {
	uint64_t handle;
	uint32_t at;
};

static int by_handle(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return array_order(x->handle, y->handle);
}

bool rec_graph_node_has_name(const struct rec_call *c, const struct rec_node *n)
{
	return strncmp(fmt_string(c->process->names, n->name, NULL), "kernel@", 7) != 0;
}

static bool may_be_same_node(const struct rec_call *c, const struct rec_node *reported,
			     const struct rec_graph_node *before)
{
	return strcmp(reported->kind, before->node.kind) == 0 &&
	       (before->handle || reported->name == before->node.name ||
		!rec_graph_node_has_name(c, reported) ||
		!rec_graph_node_has_name(c, &before->node));
}

static struct rec_graph_node *find_node(struct rec_graph *reported, const struct place *places,
					uint32_t at, uint64_t handle)
{
	const struct place of = {.handle = handle}, *found;

	if (!handle)
		return at < reported->n_nodes ? &reported->nodes[at] : NULL;
	found = bsearch(&of, places, reported->n_nodes, sizeof(of), by_handle);
	return found ? &reported->nodes[found->at] : NULL;
}

/* ---- nodes of child graphs */

#define MOST_DEEP 32

/* Appends the nodes of the graph, then those of each child graph, in the order of the driver's
 * queries; at most `most`. */
static int append_all(const struct rec_graphs *all, const struct rec_graph *g, size_t most,
		      unsigned depth, struct rec_graph *to)
{
	int r = to->n_nodes + g->n_nodes > most || depth > MOST_DEEP ? -E2BIG : 0;

	for (size_t i = 0; i < g->n_nodes && r == 0; i++)
		r = rec_graph_add_node(to, &g->nodes[i].node, g->nodes[i].handle);
	for (size_t i = 0; i < g->n_nodes && r == 0; i++)
		if (g->nodes[i].child)
			r = append_all(all, &all->graphs[g->nodes[i].child - 1], most, depth + 1,
				       to);
	return r;
}

static void graph_done(struct rec_graph *g)
{
	rec_graph_clear(g);
}

/* ---- reported */

static int copy_all(struct rec_call *c, const struct rec_graph *before, struct rec_graph *reported)
{
	scoped(free_ptr) struct place *places = calloc(reported->n_nodes + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t k = 0; k < reported->n_nodes; k++)
		places[k] = (struct place){reported->nodes[k].handle, k};
	qsort(places, reported->n_nodes, sizeof(*places), by_handle);
	for (uint32_t i = 0; i < before->n_nodes; i++) {
		const struct rec_graph_node *b = &before->nodes[i];
		struct rec_graph_node *is;

		if (b->node.collective == 0)
			continue;
		is = find_node(reported, places, i, b->handle);
		if (is && may_be_same_node(c, &is->node, b))
			is->node.collective = b->node.collective;
		else
			c->process->counts.lost_collectives++;
	}
	return 0;
}

int rec_graph_copy_collectives(struct rec_call *c, const struct rec_graph *before,
			       struct rec_graph *reported)
{
	const struct rec_graphs *all = c->process->graphs;
	scoped(graph_done) struct rec_graph whole = {0};
	int r;

	if (all->n_collectives == 0)
		return 0;
	r = append_all(all, before, before->n_nodes + reported->n_nodes, 0, &whole);
	return r == 0	     ? copy_all(c, &whole, reported)
	       : r == -E2BIG ? copy_all(c, before, reported)
			     : r;
}

int rec_graph_set_child(struct rec_call *c, const struct rec_graph_node_ref *at, uint64_t child)
{
	struct rec_graphs *all = c->process->graphs;
	const struct rec_graph *of = rec_graph_get(c, child);
	size_t from = of ? (size_t)(of - all->graphs) : 0;
	struct rec_graph *copy = of ? rec_graph_new(all, 0) : NULL;
	int r = copy ? rec_graph_copy(&all->graphs[from], copy, false) : -ENOMEM;

	if (r < 0)
		return r;
	rec_graph_n_collectives(all, copy);
	all->graphs[at->graph].nodes[at->node].child = (uint32_t)(copy - all->graphs) + 1;
	return 0;
}

void rec_graph_set_launch(struct rec_process *p, const struct rec_graph_node_ref *at, uint32_t exec)
{
	struct rec_graphs *all = p->graphs;
	const struct rec_graph_id id = rec_graph_exec_version(p, exec);
	struct rec_graph *g = rec_graph_version(all, &id);

	if (!g)
		return;
	rec_graph_n_collectives(all, g);
	all->graphs[at->graph].nodes[at->node].child = (uint32_t)(g - all->graphs) + 1;
}

/* ---- launched */

/* Counts of child graphs are already set, so there is no deeper recursion. */
uint64_t rec_graph_n_collectives(const struct rec_graphs *all, struct rec_graph *g)
{
	uint64_t n = 0;

	if (g->held > 0)
		return g->held - 1;
	for (size_t i = 0; i < g->n_nodes && n < UINT32_MAX; i++) {
		const struct rec_graph_node *node = &g->nodes[i];

		n += node->node.collective > 0 && !node->node.disabled;
		if (node->child)
			n += rec_graph_n_collectives(all, &all->graphs[node->child - 1]);
	}
	g->held = (n < UINT32_MAX ? n : UINT32_MAX) + 1;
	return g->held - 1;
}
