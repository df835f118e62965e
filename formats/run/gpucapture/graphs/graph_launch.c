/* SPDX-License-Identifier: Apache-2.0 */

/* The launch of an executable graph is one operation. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "formats/run/gpucapture/graphs/op.h"

int rec_graph_add_launch(struct rec_call *c)
{
	uint64_t handle = (uint64_t)rec_call_value(c, "hGraphExec", rec_call_value(c, "hGraph", 0));
	const struct rec_object *exec =
		rec_handles_find(c->process->handles, API_MEANING_GRAPH_EXEC, handle);
	const struct rec_graph_id id =
		exec ? rec_graph_exec_version(c->process, exec->number) : (struct rec_graph_id){0};
	const struct rec_graphs *all = c->process->graphs;
	struct rec_graph *g = all && all->n_collectives > 0 ? rec_graph_version(all, &id) : NULL;
	struct rec_op o = {.kind = FMT_KERNEL, .category = "graph"};
	struct rec_object *stream = rec_call_stream(c);
	uint64_t n_collectives;

	if (!stream)
		return -ENOMEM;
	n_collectives = g && !stream->capturing ? rec_graph_n_collectives(all, g) : 0;
	o.exec = exec ? exec->number : 0;
	o.error = fmt_names_string(c->process->names, "CUDA graph", 10, &o.name);
	rec_op_add_arg(c, &o, "graph.id", FMT_INT, 0, o.exec);
	rec_op_add_arg(c, &o, "graph", FMT_INT, 0, id.graph);
	if (id.version > 0)
		rec_op_add_arg(c, &o, "graph.version", FMT_INT, 0, id.version);
	if (n_collectives > 0)
		rec_op_add_arg(c, &o, "graph.collectives", FMT_INT, 0, (int64_t)n_collectives);
	c->process->counts.graph_collectives += n_collectives;
	return rec_op_add(c, stream, &o);
}
