/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs as the driver reports them, in hand-written rings. */
#pragma once

#include "formats/run/gpucapture/graphs/graphs.h"
#include "tests/unit/rings.h"

enum {
	GRAPH = 0x6000,
	EXEC = 0x7000,
	KERNEL_NODE = 0,
	SET_NODE = 2,
	HOST_NODE = 3,
	CHILD_NODE = 4,
	EMPTY_NODE = 5
};

/* CUDA_KERNEL_NODE_PARAMS. */
struct kernel {
	uint64_t f;
	uint32_t grid[3], block[3], shared, spare;
	uint64_t params, extra, kern, ctx;
};

/* A node of the next call's graph. Bit i of `after`: the node waits for node i. A kernel node is
 * identified by its grid. */
struct reported_node {
	uint8_t kind;
	uint32_t after, grid;
};

static inline void ring_node(struct made_ring *m, const struct reported_node *t, uint32_t node,
			     uint32_t n_nodes)
{
	const struct kernel kernel = {
		.f = KERNEL, .grid = {t->grid, 1, 1}, .block = {32, 1, 1}, .shared = 8};
	_Alignas(8) uint8_t room[sizeof(struct cap_node_record) + 256] = {0};
	struct cap_node_record *r = (void *)room;

	*r = (struct cap_node_record){
		.node = node, .n_nodes = n_nodes, .id = ring_id(m), .handle = 0xa00 + node};
	for (uint32_t i = 0; i < 32; i++)
		if (t->after >> i & 1)
			r->deps[r->n_deps++] = i;
	if (t->kind == KERNEL_NODE) {
		r->params_len = sizeof(kernel);
		memcpy(r->deps + r->n_deps, &kernel, sizeof(kernel));
	}
	r->head = (struct cap_record){
		.bytes = (uint32_t)(sizeof(*r) + 4 * r->n_deps + r->params_len + 7) & ~7u,
		.kind = CAP_NODE,
		.flags = t->kind};
	ring_put(m, room);
}

static inline void ring_graph(struct recording *m, const struct reported_node *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ring_node(&m->ring, &nodes[i], i, n);
}

static inline void begin_with_graph(struct recording *m)
{
	recording_begin(m, 0);
	ring_out(&m->ring, 0, GRAPH);
	ring_call(&m->ring, "cuGraphCreate", 0x100, 0);
}

static inline void instantiate(struct recording *m, const struct reported_node *nodes, uint32_t n)
{
	ring_graph(m, nodes, n);
	ring_out(&m->ring, 0, EXEC);
	ring_call(&m->ring, "cuGraphInstantiateWithFlags", 0x100, GRAPH, 0);
}

static inline int64_t argument(const struct recording *m, const struct rec_event *e,
			       const char *key)
{
	const struct fmt_template *s = fmt_template(m->names, e->template);
	int64_t value;
	uint32_t at;

	if (fmt_template_const(m->names, s, key, &value))
		return value;
	return fmt_template_varying(m->names, s, key, &at) ? m->process->values[e->first_value + at]
							   : -1;
}
