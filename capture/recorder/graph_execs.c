/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs that are changed without another instantiation. */
#include "capture/recorder/graphs_impl.h"

#include "base/array.h"

/* Of one graph; a program has a few that it changes between, or as many as it launches. */
#define MOST_VERSIONS 1024

static struct rec_graph_exec *find_exec(const struct rec_process *p, uint32_t number)
{
	for (size_t i = p->graphs ? p->graphs->n_execs : 0; i-- > 0;)
		if (p->graphs->execs[i].number == number)
			return &p->graphs->execs[i];
	return NULL;
}

struct rec_graph_id rec_graph_of_exec(const struct rec_process *p, uint32_t exec)
{
	const struct rec_graph_exec *e = find_exec(p, exec);

	return e ? e->is : (struct rec_graph_id){0};
}

static struct rec_graph *find_version(struct rec_graphs *all, const struct rec_graph_id *id)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->graphs[i].number == id->graph && all->graphs[i].version == id->version)
			return &all->graphs[i];
	return NULL;
}

static bool are_same(const struct rec_node *a, const struct rec_node *b)
{
	return strcmp(a->kind, b->kind) == 0 && a->name == b->name && a->grid == b->grid &&
	       a->block == b->block && a->bytes == b->bytes && a->disabled == b->disabled;
}

/* Whether `g` is `like` but for that node. */
static bool is_like(const struct rec_graph *g, const struct rec_graph *like, uint32_t node,
		    const struct rec_node *changed)
{
	if (g->number != like->number || g->n_nodes != like->n_nodes)
		return false;
	for (size_t i = 0; i < g->n_nodes; i++)
		if (!are_same(&g->nodes[i].is, i == node ? changed : &like->nodes[i].is))
			return false;
	return true;
}

/* The version of graph `at` with that node: one that there was, or a new one. -E2BIG: too many. */
static int version_with(struct rec_graphs *all, size_t at, uint32_t node,
			const struct rec_node *changed, uint32_t *ret)
{
	uint32_t last = 0;
	struct rec_graph *made;
	int r;

	for (size_t i = 0; i < all->n; i++) {
		if (is_like(&all->graphs[i], &all->graphs[at], node, changed)) {
			*ret = all->graphs[i].version;
			return 0;
		}
		if (all->graphs[i].number == all->graphs[at].number &&
		    all->graphs[i].version > last)
			last = all->graphs[i].version;
	}
	if (last == MOST_VERSIONS)
		return -E2BIG;
	made = rec_graph_new(all, all->graphs[at].number);
	if (!made)
		return -ENOMEM;
	r = rec_graph_copy(&all->graphs[at], made, true);
	if (r < 0)
		return r;
	made->nodes[node].is = *changed;
	*ret = made->version = last + 1;
	return 0;
}

/* The node as it is from now on; false where what is changed of it is not told by its kind. */
static bool change(struct rec_call *c, struct rec_node *node)
{
	static const char *const kinds[] = {"kernel", "memcpy", "memset"};

	if (rec_is(c, "cuGraphNodeSetEnabled")) {
		node->disabled = rec_value(c, "isEnabled", 1) == 0;
		return true;
	}
	rec_graph_describe(c, node);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(node->kind, kinds[i]) == 0)
			return true;
	return false;
}

int rec_graph_change_exec(struct rec_call *c)
{
	struct rec_process *p = c->process;
	const struct rec_thing *t = rec_handles_find(p->things, API_MEANING_GRAPH_EXEC,
						     (uint64_t)rec_value(c, "hGraphExec", 0));
	struct rec_graph_exec *e = t ? find_exec(p, t->number) : NULL;
	struct rec_graph *g = e ? find_version(p->graphs, &e->is) : NULL;
	struct rec_node node;
	uint32_t at;
	int r;

	if (!g || !rec_graph_find_node(g, (uint64_t)rec_value(c, "hNode", 0), &at)) {
		p->counts.graph_changes++;
		return 0;
	}
	node = g->nodes[at].is;
	if (!change(c, &node)) {
		p->counts.graph_changes++;
		return 0;
	}
	r = version_with(p->graphs, (size_t)(g - p->graphs->graphs), at, &node, &e->is.version);
	p->counts.graph_changes += r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}
