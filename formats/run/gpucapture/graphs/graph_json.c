/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs as the fact of a trace. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/text.h"
#include "formats/trace/json.h"

static void put_string(struct fmt_json *j, const struct rec_process *p, const char *key, fmt_str s)
{
	size_t len;
	const char *text = fmt_string(p->names, s, &len);

	if (s)
		fmt_json_bytes(j, key, text, len);
}

/* Node `i`; its edges are from *edge on. */
static void put_node(struct fmt_json *j, const struct rec_process *p, const struct rec_graph *g,
		     size_t i, size_t *edge)
{
	const struct rec_node *node = &g->nodes[i].node;
	size_t len;
	const char *text;

	fmt_json_open(j, NULL, '{');
	fmt_json_str(j, "kind", node->kind);
	put_string(j, p, "name", node->name);
	if (node->grid) {
		text = fmt_string(p->names, node->grid, &len);
		fmt_json_verbatim(j, "grid", text, len);
		text = fmt_string(p->names, node->block, &len);
		fmt_json_verbatim(j, "block", text, len);
	}
	if (node->bytes >= 0)
		fmt_json_i64(j, "bytes", node->bytes);
	if (node->disabled)
		fmt_json_verbatim(j, "enabled", "false", 5);
	if (node->collective)
		put_string(j, p, "collective", p->graphs->collectives[node->collective - 1].op);
	fmt_json_open(j, "after", '[');
	for (; *edge < g->n_edges && g->edges[*edge].to == i; ++*edge)
		fmt_json_u64(j, NULL, g->edges[*edge].from);
	fmt_json_close(j, ']');
	fmt_json_close(j, '}');
}

/* For each node, the call that set its parameters, and its handle. */
static void put_calls(struct fmt_json *j, const struct rec_graph *g)
{
	fmt_json_open(j, "calls", '[');
	for (size_t k = 0; k < g->n_nodes; k++)
		fmt_json_u64(j, NULL, g->nodes[k].node.call);
	fmt_json_close(j, ']');
	fmt_json_open(j, "handles", '[');
	for (size_t k = 0; k < g->n_nodes; k++)
		fmt_json_u64(j, NULL, g->nodes[k].handle);
	fmt_json_close(j, ']');
}

/* Returns true for a version, and for a graph without versions. */
static bool is_shown(const struct rec_graph *g)
{
	return g->number != 0 && (g->is_version || !g->instantiated);
}

void rec_graphs_json(const struct rec_process *p, struct text *out)
{
	struct fmt_json j = {.text = out};
	size_t n = 0;

	for (size_t i = 0; p->graphs && i < p->graphs->n; i++)
		n += is_shown(&p->graphs->graphs[i]);
	if (n == 0)
		return;
	fmt_json_open(&j, NULL, '[');
	for (size_t i = 0; i < p->graphs->n; i++) {
		struct rec_graph *g = &p->graphs->graphs[i];
		size_t edge = 0;

		if (!is_shown(g))
			continue;
		rec_graph_sort_edges(g);
		fmt_json_open(&j, NULL, '{');
		fmt_json_u64(&j, "graph", g->number);
		if (g->version > 0)
			fmt_json_u64(&j, "version", g->version);
		fmt_json_open(&j, "nodes", '[');
		for (size_t k = 0; k < g->n_nodes; k++)
			put_node(&j, p, g, k, &edge);
		fmt_json_close(&j, ']');
		put_calls(&j, g);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, ']');
	out->len -= !out->error; /* the line's end */
}
