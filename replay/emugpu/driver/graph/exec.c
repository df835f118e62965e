/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs that can be launched: a copy whose nodes are in an order in which they may run. A launch
 * is one op of its stream; within it, each node starts when all that it waits for have ended. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/graph/graph.h"

#define MAGIC 0x45786563u

struct step {
	struct emu_op op;	       /* owned */
	const struct emu_node *source; /* the graph's node, which may be gone by now */
	uint32_t first_dep, n_deps;    /* steps */
	int64_t end_ns;
};

struct emu_exec {
	uint32_t magic;
	int refs;
	unsigned long long flags;
	pthread_mutex_t lock; /* one launch at a time, as CUDA has it */
	struct step *steps;
	size_t n_steps, steps_cap;
	uint32_t *deps;
	size_t n_deps, deps_cap;
};

static struct emu_exec *exec_of(CUgraphExec handle)
{
	struct emu_exec *x = (struct emu_exec *)handle;

	return x && x->magic == MAGIC ? x : NULL;
}

static void exec_drop(struct emu_exec *x)
{
	if (!x || __atomic_sub_fetch(&x->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (size_t i = 0; i < x->n_steps; i++)
		emu_op_done(&x->steps[i].op);
	free(x->steps);
	free(x->deps);
	free(x);
}

static int add_step(struct emu_exec *x, const struct emu_node *n)
{
	if (array_reserve(&x->steps, x->n_steps + 1, &x->steps_cap) < 0)
		return -ENOMEM;
	struct step *s = &x->steps[x->n_steps];

	*s = (struct step){.source = n, .first_dep = (uint32_t)x->n_deps};
	int r = emu_op_copy(&n->op, &s->op);

	if (r < 0)
		return r;
	/* Within a graph there is no launch to wait for. */
	s->op.issued_ns = MOMENT_NEVER;
	x->n_steps++;
	return 0;
}

static int add_dep(struct emu_exec *x, uint32_t step)
{
	if (array_reserve(&x->deps, x->n_deps + 1, &x->deps_cap) < 0)
		return -ENOMEM;
	x->deps[x->n_deps++] = step;
	x->steps[x->n_steps - 1].n_deps++;
	return 0;
}

/* Appends the nodes of `g`. What waits for nothing there waits for step `before`, unless that is
 * UINT32_MAX. A child graph is followed by its node, which waits for all of it. */
static int flatten(struct emu_exec *x, struct emu_graph *g, uint32_t before)
{
	scoped(free_ptr) struct emu_node **order = NULL;
	int r = emu_graph_order(g, &order);

	for (size_t i = 0; r == 0 && i < g->n_nodes; i++) {
		struct emu_node *n = order[i];
		uint32_t first = (uint32_t)x->n_steps, entry = before;

		if (n->child) {
			/* An empty step collects what the child waits for. */
			struct emu_node opening = {.op = {.type = &emu_empty_type}};

			r = add_step(x, &opening);
			for (size_t k = 0; r == 0 && k < n->n_deps; k++)
				r = add_dep(x, (uint32_t)n->deps[k]->mark);
			if (r == 0 && before != UINT32_MAX)
				r = add_dep(x, before);
			x->steps[first].source = NULL;
			entry = first;
			if (r == 0)
				r = flatten(x, n->child, entry);
		}
		uint32_t last = (uint32_t)x->n_steps;

		if (r == 0)
			r = add_step(x, n);
		for (size_t k = 0; r == 0 && !n->child && k < n->n_deps; k++)
			r = add_dep(x, (uint32_t)n->deps[k]->mark);
		if (r == 0 && !n->child && n->n_deps == 0 && before != UINT32_MAX)
			r = add_dep(x, before);
		for (uint32_t k = first; r == 0 && n->child && k < last; k++)
			r = add_dep(x, k);
		n->mark = (int)last;
	}
	return r;
}

static CUresult instantiate(struct emu_graph *g, unsigned long long flags, struct emu_exec **ret)
{
	struct emu_exec *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->magic = MAGIC;
	x->refs = 1;
	x->flags = flags;
	pthread_mutex_init(&x->lock, NULL);
	r = flatten(x, g, UINT32_MAX);
	if (r < 0) {
		exec_drop(x);
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	}
	*ret = x;
	return CUDA_SUCCESS;
}

/* ---- the launch as an op ---- */

static int graph_blocks(const struct emu_op *op)
{
	const struct emu_exec *x = op->graph;

	for (size_t i = 0; i < x->n_steps; i++) {
		const struct emu_op *o = &x->steps[i].op;

		if (o->type->blocks && o->type->blocks(o))
			return 1;
	}
	return 0;
}

static void graph_release(struct emu_op *op)
{
	exec_drop(take(op->graph));
}

static int64_t graph_run(struct emu_op *op, struct emu_lane *lane, int64_t ready_ns)
{
	struct emu_exec *x = op->graph;
	int64_t end = ready_ns;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->n_steps; i++) {
		struct step *s = &x->steps[i];
		struct emu_lane own = *lane;

		own.tail_ns = ready_ns;
		for (uint32_t k = 0; k < s->n_deps; k++)
			own.tail_ns = moment_wait(own.tail_ns,
						  x->steps[x->deps[s->first_dep + k]].end_ns, 0);
		emu_op_run(&s->op, &own);
		s->end_ns = own.tail_ns;
		end = moment_wait(end, s->end_ns, 0);
	}
	pthread_mutex_unlock(&x->lock);
	return end;
}

static const struct emu_op_type graph_type = {
	.name = "graph",
	.node = CU_GRAPH_NODE_TYPE_GRAPH,
	.blocks = graph_blocks,
	.release = graph_release,
	.run = graph_run,
};

/* ---- the public functions ---- */

EMU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph,
					     unsigned long long flags)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_graph *g = emu_graph_of(graph);

	(void)self;
	if (!g || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	return instantiate(g, flags, (struct emu_exec **)ret);
}

EMU_API CUresult cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph graph,
					      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult r =
		p ? cuGraphInstantiateWithFlags(ret, graph, p->flags) : CUDA_ERROR_INVALID_VALUE;

	if (p) {
		p->result_out = r ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
		p->hErrNode_out = NULL;
	}
	return r;
}

EMU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	EMU_ENTER(EMU_CALL_LAUNCH);
	struct emu_op op = {.type = &graph_type, .graph = exec_of(exec)};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	if (!op.graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture)
		return emu_capture_spoil(s);
	__atomic_add_fetch(&op.graph->refs, 1, __ATOMIC_RELAXED);
	return emu_submit(self, s, &op);
}

EMU_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	EMU_ENTER(EMU_CALL_LAUNCH);
	struct emu_stream *s;

	return exec_of(exec) ? emu_stream_of(self, stream, &s) : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct emu_exec *x = exec_of(exec);

	if (!x)
		return CUDA_ERROR_INVALID_VALUE;
	x->magic = 0;
	exec_drop(x);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *ret)
{
	struct emu_exec *x = exec_of(exec);

	if (!x || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = x->flags;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_exec *x = exec_of(exec);
	struct emu_op op;

	for (size_t i = 0; x && i < x->n_steps; i++) {
		struct step *s = &x->steps[i];

		if ((CUgraphNode)s->source != node || s->op.type != &emu_kernel_type)
			continue;
		CUresult r = emu_kernel_op_of(p, &op);

		if (r)
			return r;
		pthread_mutex_lock(&x->lock);
		emu_op_done(&s->op);
		s->op = op;
		s->op.issued_ns = MOMENT_NEVER;
		pthread_mutex_unlock(&x->lock);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* The graph must have the same nodes in the same order, as one captured again has. */
EMU_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
				      CUgraphExecUpdateResultInfo *ret)
{
	struct emu_exec *x = exec_of(exec), *now = NULL;
	struct emu_graph *g = emu_graph_of(graph);
	CUresult r = x && g ? instantiate(g, x->flags, &now) : CUDA_ERROR_INVALID_VALUE;
	int same;

	if (r)
		return r;
	same = now->n_steps == x->n_steps && now->n_deps == x->n_deps;
	for (size_t i = 0; same && i < x->n_steps; i++)
		same = now->steps[i].op.type == x->steps[i].op.type;
	if (same) {
		struct step *steps = x->steps;
		uint32_t *deps = x->deps;

		pthread_mutex_lock(&x->lock);
		x->steps = now->steps;
		x->deps = now->deps;
		pthread_mutex_unlock(&x->lock);
		now->steps = steps;
		now->deps = deps;
	}
	exec_drop(now);
	if (ret)
		*ret = (CUgraphExecUpdateResultInfo){
			.result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS
				       : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
	return same ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
