/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes that a program adds without capture. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"
#include "formats/api/fields.h"
#include "formats/run/gpucapture/process/copy.h"
#include "formats/run/gpucapture/process/symbol.h"
#include "formats/trace/store/chunk.h"

#include <ctype.h>
#include <stdio.h>

int rec_graph_find_node(const struct rec_graph *g, uint64_t handle, uint32_t *ret)
{
	for (size_t i = g->n_nodes; i-- > 0 && handle;)
		if (g->nodes[i].handle == handle) {
			*ret = (uint32_t)i;
			return 1;
		}
	return 0;
}

/* cuGraphAddKernelNode_v2: "kernel"; cuGraphAddMemAllocNode: "mem_alloc". */
static const char *kind_of(const struct rec_call *c)
{
	static const struct {
		const char *stem, *kind;
	} kinds[] = {
		{"cuGraphAddKernelNode", "kernel"},
		{"cuGraphAddMemcpyNode", "memcpy"},
		{"cuGraphAddMemsetNode", "memset"},
		{"cuGraphAddHostNode", "host"},
		{"cuGraphAddChildGraphNode", "graph"},
		{"cuGraphAddEmptyNode", "empty"},
		{"cuGraphAddEventRecordNode", "event_record"},
		{"cuGraphAddEventWaitNode", "event_wait"},
		{"cuGraphAddMemAllocNode", "mem_alloc"},
		{"cuGraphAddMemFreeNode", "mem_free"},
		{"cuGraphAddBatchMemOpNode", "batch_mem_op"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (rec_call_is(c, kinds[i].stem))
			return kinds[i].kind;
	return "other";
}

/* Reads a field of node parameters: directly, or with the prefix used in the parameters of any
 * node. */
static uint64_t number_in(const struct api_view *v, const char *prefix, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%s", prefix, name);
	return api_number(v, path);
}

static fmt_str three_in(struct rec_call *c, const struct api_view *v, const char *prefix,
			const char *name)
{
	char key[16], text[80];
	uint64_t n[3];
	fmt_str s = 0;
	int len;

	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%s%c", name, "XYZ"[i]);
		n[i] = number_in(v, prefix, key);
	}
	len = snprintf(text, sizeof(text), "[%llu, %llu, %llu]", (unsigned long long)n[0],
		       (unsigned long long)n[1], (unsigned long long)n[2]);
	return fmt_names_string(c->process->names, text, (size_t)len, &s) < 0 ? 0 : s;
}

static void describe_node(struct rec_call *c, const struct api_view *v, const char *prefix,
			  struct rec_node *node)
{
	struct rec_copy between = {0};
	char copy[40];
	uint64_t handle;

	snprintf(copy, sizeof(copy), "%s%s", prefix, *prefix ? "copyParams." : "");
	if (strcmp(node->kind, "kernel") == 0) {
		handle = number_in(v, prefix, "func");
		node->name =
			rec_call_kernel_name(c, handle ? handle : number_in(v, prefix, "kern"));
		node->symbol = node->name;
		rec_symbol_name(&c->process->memo.symbols, c->process->names, node->symbol,
				&node->name);
		if (node->symbol == node->name)
			node->symbol = 0;
		node->grid = three_in(c, v, prefix, "gridDim");
		node->block = three_in(c, v, prefix, "blockDim");
		node->shared_bytes = (int64_t)number_in(v, prefix, "sharedMemBytes");
	} else if (strcmp(node->kind, "memcpy") == 0) {
		rec_copy_from_struct(c, v, copy, &between);
		rec_copy_name(c, &between, &node->name);
		node->bytes = between.bytes;
	} else if (strcmp(node->kind, "memset") == 0) {
		node->bytes =
			(int64_t)(number_in(v, prefix, "elementSize") *
				  number_in(v, prefix, "width") * number_in(v, prefix, "height"));
		fmt_names_string(c->process->names, "Memset (Device)", 15, &node->name);
	}
}

/* Finds the struct with the node's parameters. Returns false if the call has no such struct. */
static bool params_of(const struct rec_call *c, struct api_view *ret)
{
	static const char *const names[] = {"nodeParams", "copyParams", "memsetParams"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (rec_call_struct(c, names[i], ret))
			return true;
	return false;
}

/* cuGraphAddNode() accepts any kind of node, which its parameters contain: "BATCH_MEM_OP" is the
 * kind "batch_mem_op", whose fields have a prefix. */
static void describe_any(struct rec_call *c, const struct api_view *v, struct rec_node *node)
{
	static const char *const prefixes[][2] = {
		{"kernel", "kernel."}, {"memcpy", "memcpy."}, {"memset", "memset."}};
	const struct api_field *type = api_field(v->layout, "type");
	const char *name = type && type->arg.values ? api_value_name(type->arg.values,
								     (int64_t)api_number(v, "type"))
						    : NULL;
	char lower[40];
	size_t n = 0;
	fmt_str s;

	for (; name && name[n] && n + 1 < sizeof(lower); n++)
		lower[n] = (char)tolower((unsigned char)name[n]);
	if (n == 0 || fmt_names_string(c->process->names, lower, n, &s) < 0)
		return;
	node->kind = fmt_string(c->process->names, s, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strcmp(node->kind, prefixes[i][0]) == 0)
			describe_node(c, v, prefixes[i][1], node);
}

int rec_graph_node_at(const struct rec_call *c, const struct rec_graph *g, const char *arg,
		      size_t i, uint32_t *ret, int *known)
{
	uint64_t handle;

	if (!rec_blob_number(rec_call_blob(c, arg, CAP_BLOB_BEFORE), 8 * i, 8, &handle))
		return 0;
	*known = rec_graph_find_node(g, handle, ret);
	return 1;
}

void rec_graph_read_params(struct rec_call *c, struct rec_node *node)
{
	struct api_view v;

	if (!params_of(c, &v))
		return;
	if (strcmp(v.layout->name, "CUgraphNodeParams") == 0)
		describe_any(c, &v, node);
	else
		describe_node(c, &v, "", node);
}

void rec_graph_read_struct(struct rec_call *c, const struct api_view *v, struct rec_node *node)
{
	describe_node(c, v, "", node);
}

/* Returns the graph that the call adds as a child node. */
static uint64_t child_of(const struct rec_call *c)
{
	struct api_view v;

	return rec_call_arg(c, "childGraph") >= 0 ? (uint64_t)rec_call_value(c, "childGraph", 0)
	       : params_of(c, &v)		  ? api_number(&v, "graph.graph")
						  : 0;
}

int rec_graph_add_api_node(struct rec_call *c)
{
	struct rec_graph *g = rec_graph_get(c, (uint64_t)rec_call_value(c, "hGraph", 0));
	struct rec_node node = {.kind = kind_of(c), .bytes = -1};
	struct rec_graph_node_ref at;
	uint64_t handle = 0;
	uint32_t from;
	int known, r;

	if (!g)
		return -ENOMEM;
	rec_graph_read_params(c, &node);
	rec_graph_set_source(c, &node);
	rec_blob_number(rec_call_blob(c, "phGraphNode", CAP_BLOB_AFTER), 0, 8, &handle);
	at.graph = (uint32_t)(g - c->process->graphs->graphs);
	at.node = (uint32_t)g->n_nodes;
	r = rec_graph_add_node(g, &node, handle);
	if (r == 0 && strcmp(node.kind, "graph") == 0)
		r = rec_graph_set_child(c, &at, child_of(c));
	g = &c->process->graphs->graphs[at.graph];
	for (size_t i = 0; r == 0 && rec_graph_node_at(c, g, "dependencies", i, &from, &known); i++)
		if (known)
			r = rec_graph_add_edge(g, from, (uint32_t)g->n_nodes - 1);
	return r;
}

int rec_graph_change_edges(struct rec_call *c, int add)
{
	struct rec_graph *g = rec_graph_get(c, (uint64_t)rec_call_value(c, "hGraph", 0));
	uint32_t from, to;
	int knows_from, knows_to, r = g ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && rec_graph_node_at(c, g, "from", i, &from, &knows_from) &&
			   rec_graph_node_at(c, g, "to", i, &to, &knows_to);
	     i++) {
		if (!knows_from || !knows_to)
			continue;
		if (add)
			r = rec_graph_add_edge(g, from, to);
		for (size_t k = 0; !add && k < g->n_edges; k++)
			if (g->edges[k].from == from && g->edges[k].to == to)
				g->edges[k--] = g->edges[--g->n_edges];
	}
	return r;
}

void rec_graph_change_node(struct rec_call *c, struct rec_graph *graphs, size_t n)
{
	uint64_t handle = (uint64_t)rec_call_value(c, "hNode", 0);
	uint32_t node;

	for (size_t i = n; i-- > 0;)
		if (!graphs[i].is_version && rec_graph_find_node(&graphs[i], handle, &node)) {
			rec_graph_read_params(c, &graphs[i].nodes[node].node);
			rec_graph_set_source(c, &graphs[i].nodes[node].node);
			return;
		}
}

/* ---- the call that describes a node: its arguments are the node's parameters */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Returns false for the position of the node, and for addresses of the caller's variables. */
static bool is_parameter(const struct api_arg *a)
{
	return (a->direction == API_DIRECTION_NONE || a->direction >= API_DIRECTION_READS) &&
	       a->meaning != API_MEANING_STREAM && a->meaning != API_MEANING_GRAPH &&
	       a->meaning != API_MEANING_GRAPH_EXEC && a->meaning != API_MEANING_GRAPH_NODE &&
	       strcmp(a->name, "numDependencies") != 0;
}

static uint64_t mix_struct(uint64_t h, const struct rec_call *c, const struct api_arg *a,
			   const struct rec_blob *b)
{
	const struct api_view v = {a->layout, b->data, b->len, c->api, c->record->words};

	for (unsigned i = 0; i < v.layout->n_fields; i++) {
		const struct api_field *f = &v.layout->fields[i];
		uint64_t value;

		if (is_parameter(&f->arg) && api_field_counts(&v, f) &&
		    api_field_value(&v, f, 0, &value))
			h = mix(h, value);
	}
	return h;
}

void rec_graph_set_source(const struct rec_call *c, struct rec_node *node)
{
	uint64_t h = 1;

	for (int i = 0; i < c->api->n_args; i++)
		if (is_parameter(&c->api->args[i]))
			h = mix(h, (uint64_t)rec_call_value_at(c, i));
	for (uint32_t i = 0; i < c->n_blobs; i++) {
		const struct rec_blob *b = &c->blobs[i];
		const struct api_arg *a = b->arg < c->api->n_args ? &c->api->args[b->arg] : NULL;

		if (b->what == CAP_BLOB_PARAMS)
			h = mix(h, fmt_hash(b->data, b->len));
		else if (b->what == CAP_BLOB_BEFORE && a && a->layout)
			h = mix_struct(h, c, a, b);
	}
	node->call = c->record->id + 1;
	node->content = h;
}
