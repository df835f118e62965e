/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/edge.h"

#include "base/array.h"

int infer_add_edge(struct infer_view *v, const struct infer_edge *e)
{
	if (array_reserve(&v->edges, v->n_edges + 1, &v->edges_cap) < 0)
		return -ENOMEM;
	v->edges[v->n_edges++] = *e;
	return 0;
}

int infer_add_op_edge(struct infer_view *v, uint32_t from_op, uint32_t to_op,
		      enum fmt_edge_kind kind, enum infer_rule rule, int64_t lag_ns)
{
	v->ops[to_op].waits = 1;
	return infer_add_edge(v, &(struct infer_edge){.from = v->ops[from_op].event,
						      .to = v->ops[to_op].event,
						      .from_op = from_op,
						      .to_op = to_op,
						      .lag_ns = lag_ns,
						      .kind = (uint8_t)kind,
						      .rule = (uint8_t)rule});
}
