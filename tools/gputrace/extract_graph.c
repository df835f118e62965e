/* SPDX-License-Identifier: Apache-2.0 */

/* The nodes of a graph of which one is extracted: its inputs are known before the graph only. */
#include "tools/gputrace/extract_launch_impl.h"

#include "base/array.h"
#include "formats/trace/json.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NODES 1024 /* as REPRO_NODES of tools/repro */

/* The description of a graph in the version that was launched. */
struct graph {
	const char *nodes, *calls;
	size_t nodes_len, calls_len;
	int64_t node; /* that is extracted */
};

/* False: not recorded. */
static bool find_graph(const struct extract_search *s, const struct rex_args *op, struct graph *ret)
{
	const char *at = fmt_fact_value(fmt_trace_names(s->trace), s->rank, FMT_FACT_GRAPHS);
	const char *end = at ? at + strlen(at) : NULL, *graph;
	int64_t number = 0, version = 0;
	size_t len;

	rex_args_int(op, "graph", NULL, &number);
	rex_args_int(op, "graph.version", NULL, &version);
	rex_args_int(op, "graph.node", NULL, &ret->node);
	while (at && fmt_json_element(&at, end, &graph, &len))
		if (fmt_json_member_i64(graph, len, "graph", 0) == number &&
		    fmt_json_member_i64(graph, len, "version", 0) == version)
			return fmt_json_member(graph, len, "calls", &ret->calls, &ret->calls_len) &&
			       fmt_json_member(graph, len, "nodes", &ret->nodes, &ret->nodes_len);
	return false;
}

uint64_t extract_graph_call(struct extract_search *s, const struct rex_args *op)
{
	struct graph g = {0};
	int64_t n = 0, call = 0;
	const char *item;
	size_t len;

	if (!find_graph(s, op, &g))
		return 0;
	for (const char *at = g.calls; fmt_json_element(&at, g.calls + g.calls_len, &item, &len);)
		if (n++ == g.node)
			fmt_json_integer(item, len, &call);
	s->ret->in_graph = n > 1;
	return (uint64_t)call;
}

static bool is_kind(const char *node, size_t len, const char *kind)
{
	const char *text;
	size_t n = fmt_json_member_text(node, len, "kind", &text);

	return n == strlen(kind) && memcmp(text, kind, n) == 0;
}

static bool uses_memory(const char *node, size_t len)
{
	static const char *const others[] = {"host", "empty", "event_wait", "event_record"};
	const char *enabled;
	size_t n;

	if (fmt_json_member(node, len, "enabled", &enabled, &n) && *enabled == 'f')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (is_kind(node, len, others[i]))
			return false;
	return true;
}

/* Returns whether the nodes before which this one must not run have lower numbers. */
static bool is_in_order(const char *node, size_t len, int64_t number)
{
	const char *after, *item;
	size_t after_len, item_len;
	int64_t other;

	if (!fmt_json_member(node, len, "after", &after, &after_len))
		return true;
	for (const char *at = after; fmt_json_element(&at, after + after_len, &item, &item_len);)
		if (!fmt_json_integer(item, item_len, &other) || other >= number)
			return false;
	return true;
}

static uint64_t number_of(const struct rex_call *c, const char *key)
{
	int64_t value = 0;

	rex_args_int(&c->args, key, NULL, &value);
	return (uint64_t)value;
}

/* Reads a captured fill of consecutive bytes, or a copy to the device. False: another node. */
static bool read_memory(const struct rex_call *c, struct extract_memory *ret)
{
	static const struct {
		const char *begin, *value;
		unsigned width;
	} sets[] = {{"cuMemsetD8", "uc", 1}, {"cuMemsetD16", "us", 2}, {"cuMemsetD32", "ui", 4}};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (strncmp(c->api->name, sets[i].begin, strlen(sets[i].begin)) == 0) {
			*ret = (struct extract_memory){.to = number_of(c, "dstDevice"),
						       .value = number_of(c, sets[i].value),
						       .n = number_of(c, "N"),
						       .width = sets[i].width};
			return true;
		}
	if (strncmp(c->api->name, "cuMemcpyDtoDAsync", 17) != 0 &&
	    strncmp(c->api->name, "cuMemcpyHtoDAsync", 17) != 0)
		return false;
	*ret = (struct extract_memory){.to = number_of(c, "dstDevice"),
				       .from = number_of(c, "srcDevice") ?: number_of(c, "srcHost"),
				       .n = number_of(c, "ByteCount")};
	return true;
}

static const struct rex_call *call_of(const struct rex_process *p, int64_t correlation)
{
	for (size_t i = 0; i < p->n_calls; i++)
		if (p->calls[i].correlation == (uint64_t)correlation)
			return &p->calls[i];
	return NULL;
}

/* Frees the image if an earlier node has the same one. */
static void share_image(struct extract_launch *all, size_t number)
{
	struct extract_launch *node = &all->nodes[number];

	for (size_t i = 0; i <= number && node->image; i++) {
		const struct extract_launch *other = i == 0 ? all : &all->nodes[i - 1];

		if (!other->image || other->image_bytes != node->image_bytes ||
		    memcmp(other->image, node->image, node->image_bytes) != 0)
			continue;
		free(node->image);
		node->image = NULL;
		node->image_of = i;
	}
}

/* Reads one node. 0; 1: it cannot be extracted; -ENOMEM. */
static int add_node(struct extract_search *s, int64_t correlation)
{
	struct extract_launch *all = s->ret, *node;
	struct extract_search one = *s;
	int r;

	if (array_reserve(&all->nodes, all->n_nodes + 1, &all->nodes_cap) < 0)
		return -ENOMEM;
	node = &all->nodes[all->n_nodes++];
	memset(node, 0, sizeof(*node));
	one.call = call_of(&s->process, correlation);
	one.ret = node;
	if (!one.call)
		return 1;
	if (read_memory(one.call, &node->memory))
		return 0;
	r = extract_kernel(&one);
	share_image(all, all->n_nodes - 1);
	return r == -ENOMEM ? r : r < 0;
}

int extract_graph_nodes(struct extract_search *s, const struct rex_args *op)
{
	const char *at, *calls, *node, *item;
	int64_t number = 0, call = 0;
	struct graph g = {0};
	size_t len, item_len;
	int r = find_graph(s, op, &g) ? 0 : 1;

	calls = g.calls;
	for (at = g.nodes; r == 0 && fmt_json_element(&at, g.nodes + g.nodes_len, &node, &len);
	     number++) {
		if (!fmt_json_element(&calls, g.calls + g.calls_len, &item, &item_len) ||
		    !fmt_json_integer(item, item_len, &call) || !is_in_order(node, len, number))
			r = 1;
		else if (number == g.node)
			s->ret->n_before = s->ret->n_nodes;
		else if (uses_memory(node, len))
			r = s->ret->n_nodes < MOST_NODES ? add_node(s, call) : 1;
	}
	s->ret->has_nodes = r == 0;
	return r < 0 ? r : 0;
}
