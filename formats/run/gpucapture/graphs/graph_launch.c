/* SPDX-License-Identifier: Apache-2.0 */

/* The operations of a launch of an executable graph: one for each node, if nodes have times; else a
 * single one. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"
#include "formats/run/gpucapture/graphs/op.h"
#include "formats/run/gpucapture/process/times.h"

/* The launched graph and the version with its nodes. */
struct launch {
	struct rec_call *call;
	uint64_t stream; /* handle */
	uint32_t exec;	 /* its number; 0: its creation was not recorded */
	struct rec_graph_id is;
};

static struct rec_object *stream_of(const struct launch *l)
{
	return rec_call_stream_of(l->call, l->stream);
}

/* Returns the number of collectives in a launch whose nodes have no times. */
static uint64_t n_collectives(const struct launch *l)
{
	const struct rec_graphs *all = l->call->process->graphs;
	struct rec_graph *g = all && all->n_collectives > 0 ? rec_graph_version(all, &l->is) : NULL;

	return g ? rec_graph_n_collectives(all, g) : 0;
}

static int launch_whole(const struct launch *l)
{
	struct rec_call *c = l->call;
	struct rec_op o = {.kind = FMT_KERNEL, .category = "graph"};
	struct rec_object *stream = rec_call_stream(c);
	uint64_t n = n_collectives(l);

	if (!stream)
		return -ENOMEM;
	n = stream->capturing ? 0 : n;
	o.exec = l->exec;
	o.error = fmt_names_string(c->process->names, "CUDA graph", 10, &o.name);
	rec_op_add_arg(c, &o, "graph.id", FMT_INT, 0, l->exec);
	rec_op_add_arg(c, &o, "graph", FMT_INT, 0, l->is.graph);
	if (l->is.version > 0)
		rec_op_add_arg(c, &o, "graph.version", FMT_INT, 0, l->is.version);
	if (n > 0)
		rec_op_add_arg(c, &o, "graph.collectives", FMT_INT, 0, (int64_t)n);
	c->process->counts.graph_collectives += n;
	c->process->counts.launched_collectives += n;
	return rec_op_add(c, stream, &o);
}

/* Of kernels, copies, fills, host functions and children. */
static void describe(struct rec_call *c, const struct rec_node *node, struct rec_op *ret)
{
	static const struct {
		const char *kind, *category, *name;
		enum fmt_kind op;
	} kinds[] = {
		{"kernel", "kernel", "kernel", FMT_KERNEL},
		{"memcpy", "gpu_memcpy", "Memcpy", FMT_MEMCPY},
		{"memset", "gpu_memset", "Memset (Device)", FMT_MEMSET},
		{"host", FMT_HOST_FUNCTION, "Host function", FMT_KERNEL},
		{"graph", "graph", "CUDA graph", FMT_KERNEL},
	};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(kinds) && strcmp(kinds[i].kind, node->kind) != 0)
		i++;
	*ret = (struct rec_op){
		.kind = kinds[i].op, .category = kinds[i].category, .name = node->name};
	if (!ret->name)
		ret->error = fmt_names_string(c->process->names, kinds[i].name,
					      strlen(kinds[i].name), &ret->name);
	if (node->symbol)
		rec_op_add_arg(c, ret, FMT_KEY_SYMBOL, FMT_STRING, 0, node->symbol);
	if (node->grid) {
		rec_op_add_arg(c, ret, "grid", FMT_JSON, 0, node->grid);
		rec_op_add_arg(c, ret, "block", FMT_JSON, 0, node->block);
		rec_op_add_arg(c, ret, "shared memory", FMT_INT, 0, node->shared_bytes);
	}
	if (node->bytes >= 0)
		rec_op_add_arg(c, ret, "bytes", FMT_INT, 1, node->bytes);
}

static int add(const struct launch *l, struct rec_op *o, int64_t node, fmt_str after)
{
	struct rec_call *c = l->call;
	struct rec_object *stream = stream_of(l);

	rec_op_add_arg(c, o, "graph.id", FMT_INT, 1, l->exec);
	rec_op_add_arg(c, o, "graph", FMT_INT, 1, l->is.graph);
	if (l->is.version > 0)
		rec_op_add_arg(c, o, "graph.version", FMT_INT, 1, l->is.version);
	rec_op_add_arg(c, o, "graph.node", FMT_INT, 1, node);
	if (after)
		rec_op_add_arg(c, o, "graph.after", FMT_JSON, 0, after);
	return stream ? rec_op_add(c, stream, o) : -ENOMEM;
}

/* Adds the end of the launch, which waits for all branches. */
static int add_end(const struct launch *l, const struct rec_graph *g)
{
	struct rec_op o = {.kind = FMT_KERNEL, .category = "graph", .index = g->plan->n_ops};

	if (!g->plan->after)
		return rec_times_ignore(l->call->process, l->call->record->id, o.index);
	o.error = fmt_names_string(l->call->process->names, "CUDA graph ends", 15, &o.name);
	return add(l, &o, (int64_t)g->n_nodes, g->plan->after);
}

static int launch_nodes(const struct launch *l, const struct rec_graph *g)
{
	struct rec_process *p = l->call->process;
	const struct rec_thread *t = l->call->thread;
	int r = 0;

	for (uint32_t i = 0; i < g->plan->n && r == 0; i++) {
		const struct rec_graph_plan_node *n = &g->plan->nodes[i];
		struct rec_op o;

		if (n->node == REC_NONE) {
			r = rec_times_ignore(p, l->call->record->id, i);
			continue;
		}
		describe(l->call, &g->nodes[n->node].is, &o);
		o.index = i;
		o.branch = n->branch;
		r = add(l, &o, n->node, n->after);
		if (r < 0 || !g->nodes[n->node].is.collective)
			continue;
		p->counts.launched_collectives++;
		r = rec_graph_apply_collective(l->call, &g->nodes[n->node].is,
					       &t->launched[t->n_launched - 1]);
	}
	return r == 0 && g->plan->has_end ? add_end(l, g) : r;
}

int rec_graph_add_launch(struct rec_call *c)
{
	uint64_t exec = (uint64_t)rec_call_value(c, "hGraphExec", rec_call_value(c, "hGraph", 0));
	const struct rec_object *t =
		rec_handles_find(c->process->handles, API_MEANING_GRAPH_EXEC, exec);
	const struct rec_graph_exec *e = t ? rec_graph_find_exec(c->process, t->number) : NULL;
	const struct launch l = {.call = c,
				 .stream = (uint64_t)rec_call_value(c, "hStream", 0),
				 .exec = t ? t->number : 0,
				 .is = e ? e->is : (struct rec_graph_id){0}};
	struct rec_graph *g = e && e->timed ? rec_graph_version(c->process->graphs, &e->is) : NULL;
	int r = 0;

	const struct rec_object *stream = stream_of(&l);

	if (!stream)
		return -ENOMEM;
	if (!g || stream->capturing) /* a child graph */
		return launch_whole(&l);
	if (!g->plan)
		r = rec_graph_plan_new(c->process->names, g, &g->plan);
	return r < 0 ? r : launch_nodes(&l, g);
}
