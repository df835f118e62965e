/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs that are changed without a new instantiation. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"

/* Per graph. Programs alternate between a few versions, or make a new one for each launch. */
#define MOST_VERSIONS 1024

struct rec_graph_exec *rec_graph_find_exec(const struct rec_process *p, uint32_t number)
{
	for (size_t i = p->graphs ? p->graphs->n_execs : 0; i-- > 0;)
		if (p->graphs->execs[i].number == number)
			return &p->graphs->execs[i];
	return NULL;
}

struct rec_graph_id rec_graph_exec_version(const struct rec_process *p, uint32_t exec)
{
	const struct rec_graph_exec *e = rec_graph_find_exec(p, exec);

	return e ? e->current : (struct rec_graph_id){0};
}

struct rec_graph *rec_graph_version(const struct rec_graphs *all, const struct rec_graph_id *id)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->graphs[i].is_version && all->graphs[i].number == id->graph &&
		    all->graphs[i].version == id->version)
			return &all->graphs[i];
	return NULL;
}

static bool are_same(const struct rec_node *a, const struct rec_node *b)
{
	return strcmp(a->kind, b->kind) == 0 && a->name == b->name && a->grid == b->grid &&
	       a->block == b->block && a->shared_bytes == b->shared_bytes && a->bytes == b->bytes &&
	       a->disabled == b->disabled && a->collective == b->collective &&
	       a->content == b->content;
}

/* Returns true if version `g` equals `like` after replacing its node `changed` by `is`; `changed`
 * may be NULL. */
static bool is_like(const struct rec_graph *g, const struct rec_graph *like,
		    const struct rec_graph_node *changed, const struct rec_node *is)
{
	if (!g->is_version || g->number != like->number || g->n_nodes != like->n_nodes ||
	    g->n_edges != like->n_edges)
		return false;
	for (size_t i = 0; i < g->n_nodes; i++)
		if (!are_same(&g->nodes[i].node,
			      &like->nodes[i] == changed ? is : &like->nodes[i].node))
			return false;
	return g->n_edges == 0 ||
	       memcmp(g->edges, like->edges, g->n_edges * sizeof(*g->edges)) == 0;
}

/* Returns the version of graph `at` in which node `changed`, unless NULL, is replaced by `is`. */
static int version_with(struct rec_graphs *all, size_t at, const struct rec_graph_node *changed,
			const struct rec_node *is, uint32_t *ret)
{
	size_t node = changed ? (size_t)(changed - all->graphs[at].nodes) : 0;
	uint32_t next = 0;
	struct rec_graph *made;
	int r;

	rec_graph_sort_edges(&all->graphs[at]);
	for (size_t i = 0; i < all->n; i++) {
		if (is_like(&all->graphs[i], &all->graphs[at], changed, is)) {
			*ret = all->graphs[i].version;
			return 0;
		}
		if (all->graphs[i].is_version && all->graphs[i].number == all->graphs[at].number &&
		    all->graphs[i].version >= next)
			next = all->graphs[i].version + 1;
	}
	if (next > MOST_VERSIONS)
		return -E2BIG;
	made = rec_graph_new(all, all->graphs[at].number);
	if (!made)
		return -ENOMEM;
	r = rec_graph_copy(&all->graphs[at], made, true);
	if (r < 0)
		return r;
	if (changed)
		made->nodes[node].node = *is;
	made->is_version = true;
	*ret = made->version = next;
	return 0;
}

int rec_graph_add_version(struct rec_graphs *all, size_t graph, uint32_t *ret_version)
{
	all->graphs[graph].instantiated = true;
	return version_with(all, graph, NULL, NULL, ret_version);
}

/* Updates the node from the call. Returns false if the node is a child graph. */
static bool update_node(struct rec_call *c, struct rec_node *node)
{
	if (rec_call_is(c, "cuGraphNodeSetEnabled")) {
		node->disabled = rec_call_value(c, "isEnabled", 1) == 0;
		return true;
	}
	rec_graph_read_params(c, node);
	rec_graph_set_source(c, node);
	return strcmp(node->kind, "graph") != 0;
}

/* Finds a node of the executable graph's current version, given the node of the original one. */
static int find_node(const struct rec_graphs *all, const struct rec_graph_exec *e,
		     const struct rec_graph *now, uint64_t handle, uint32_t *ret)
{
	const struct rec_graph *made = rec_graph_version(all, &e->made);

	return made && rec_graph_find_node(made, handle, ret) && *ret < now->n_nodes;
}

int rec_graph_change_exec(struct rec_call *c)
{
	struct rec_process *p = c->process;
	const struct rec_object *t = rec_handles_find(p->handles, API_MEANING_GRAPH_EXEC,
						      (uint64_t)rec_call_value(c, "hGraphExec", 0));
	struct rec_graph_exec *e = t ? rec_graph_find_exec(p, t->number) : NULL;
	struct rec_graph *g = e ? rec_graph_version(p->graphs, &e->current) : NULL;
	struct rec_node node;
	uint32_t at;
	int r;

	if (!g || !find_node(p->graphs, e, g, (uint64_t)rec_call_value(c, "hNode", 0), &at)) {
		p->counts.graph_changes++;
		return 0;
	}
	node = g->nodes[at].node;
	if (!update_node(c, &node)) {
		p->counts.graph_changes++;
		return 0;
	}
	r = version_with(p->graphs, (size_t)(g - p->graphs->graphs), &g->nodes[at], &node,
			 &e->current.version);
	p->counts.graph_changes += r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

static int by_target(const void *a, const void *b)
{
	const struct rec_graph_edge *x = a, *y = b;

	return array_order(x->to, y->to) ?: array_order(x->from, y->from);
}

void rec_graph_sort_edges(struct rec_graph *g)
{
	if (g->n_edges > 0)
		qsort(g->edges, g->n_edges, sizeof(*g->edges), by_target);
}
