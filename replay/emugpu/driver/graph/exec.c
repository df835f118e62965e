/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs: a copy of the nodes, in topological order. A launch is one op of its stream;
 * within it, each node starts when all its dependencies have ended. A launch keeps its plan: later
 * changes are made in a copy. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/handle.h"

#define MAGIC 0x45786563u

struct step {
	struct emu_op op;	       /* owned */
	const struct emu_node *source; /* the graph's node, which may have been destroyed */
	uint32_t first_dep, n_deps;    /* steps */
	int disabled;
	int64_t end_ns;
};

struct emu_plan {
	int refs;
	pthread_mutex_t lock; /* launches run sequentially, as in CUDA */
	struct step *steps;
	size_t n_steps, steps_cap;
	uint32_t *deps;
	size_t n_deps, deps_cap;
};

struct emu_exec {
	uint32_t magic;
	unsigned long long flags;
	struct emu_plan *plan;
	size_t asked; /* index of the last lookup; programs look up nodes in order */
};

static struct emu_exec *exec_of(CUgraphExec handle)
{
	struct emu_exec *x = (struct emu_exec *)handle;

	return x && emu_is_alive(x->magic, MAGIC, "executable graph") ? x : NULL;
}

static void plan_drop(struct emu_plan *x)
{
	if (!x || __atomic_sub_fetch(&x->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (size_t i = 0; i < x->n_steps; i++)
		emu_op_done(&x->steps[i].op);
	pthread_mutex_destroy(&x->lock);
	free(x->steps);
	free(x->deps);
	free(x);
}

define_cleanup(plan_dropp, struct emu_plan *, plan_drop);

static struct emu_plan *plan_new(void)
{
	struct emu_plan *x = calloc(1, sizeof(*x));

	if (x) {
		x->refs = 1;
		pthread_mutex_init(&x->lock, NULL);
	}
	return x;
}

/* Replaces the op of a step. */
static int step_copy(struct step *s, const struct emu_op *op)
{
	int r = emu_op_copy(op, &s->op);

	/* Nodes of a graph have no launch latency. */
	s->op.issued_ns = MOMENT_NEVER;
	return r;
}

static int add_step(struct emu_plan *x, const struct emu_node *n)
{
	if (array_reserve(&x->steps, x->n_steps + 1, &x->steps_cap) < 0)
		return -ENOMEM;
	struct step *s = &x->steps[x->n_steps];

	*s = (struct step){.source = n, .first_dep = (uint32_t)x->n_deps};
	int r = step_copy(s, &n->op);

	x->n_steps += r == 0;
	return r;
}

static int add_dep(struct emu_plan *x, uint32_t step)
{
	if (array_reserve(&x->deps, x->n_deps + 1, &x->deps_cap) < 0)
		return -ENOMEM;
	x->deps[x->n_deps++] = step;
	x->steps[x->n_steps - 1].n_deps++;
	return 0;
}

/* Appends the nodes of `g`. Its root nodes wait for step `before`, unless that is UINT32_MAX. A
 * child graph is followed by its node, which waits for the whole child graph. */
static int flatten(struct emu_plan *x, struct emu_graph *g, uint32_t before)
{
	scoped(free_ptr) struct emu_node **order = NULL;
	int r = emu_graph_order(g, &order);

	for (size_t i = 0; r == 0 && i < g->n_nodes; i++) {
		struct emu_node *n = order[i];
		uint32_t first = (uint32_t)x->n_steps, entry = before;

		if (n->child) {
			/* An empty step that waits for the dependencies of the child. */
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

static CUresult plan_of(struct emu_graph *g, struct emu_plan **ret)
{
	scoped(plan_dropp) struct emu_plan *x = plan_new();
	int r = x ? flatten(x, g, UINT32_MAX) : -ENOMEM;

	if (r < 0)
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	*ret = take(x);
	return CUDA_SUCCESS;
}

/* Returns a copy of `of` that no launch uses. */
static struct emu_plan *plan_copy(const struct emu_plan *of)
{
	scoped(plan_dropp) struct emu_plan *x = plan_new();

	if (!x || array_reserve(&x->steps, of->n_steps, &x->steps_cap) < 0 ||
	    array_reserve(&x->deps, of->n_deps, &x->deps_cap) < 0)
		return NULL;
	for (; x->n_steps < of->n_steps; x->n_steps++) {
		x->steps[x->n_steps] = of->steps[x->n_steps];
		if (step_copy(&x->steps[x->n_steps], &of->steps[x->n_steps].op) < 0)
			return NULL;
	}
	if (of->n_deps)
		memcpy(x->deps, of->deps, of->n_deps * sizeof(*x->deps));
	x->n_deps = of->n_deps;
	return take(x);
}

/* Ensures that no launch uses the plan, by copying it if needed. */
static int own_plan(struct emu_exec *x)
{
	struct emu_plan *own;

	if (__atomic_load_n(&x->plan->refs, __ATOMIC_ACQUIRE) == 1)
		return 0;
	own = plan_copy(x->plan);
	if (!own)
		return -ENOMEM;
	plan_drop(x->plan);
	x->plan = own;
	return 0;
}

/* ---- the launch as an op ---- */

static int graph_blocks(const struct emu_op *op)
{
	const struct emu_plan *x = op->graph.plan;

	for (size_t i = 0; i < x->n_steps; i++) {
		const struct emu_op *o = &x->steps[i].op;

		if (o->type->blocks && o->type->blocks(o))
			return 1;
	}
	return 0;
}

static void graph_release(struct emu_op *op)
{
	plan_drop(take(op->graph.plan));
	free(take(op->graph.tickets));
}

static int64_t graph_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_plan *x = op->graph.plan;
	int64_t end = ready_ns;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->n_steps; i++) {
		struct step *s = &x->steps[i];
		struct emu_track own = *track;

		own.tail_ns = ready_ns;
		for (uint32_t k = 0; k < s->n_deps; k++)
			own.tail_ns = moment_wait(own.tail_ns,
						  x->steps[x->deps[s->first_dep + k]].end_ns, 0);
		if (op->graph.tickets && s->op.type == &emu_kernel_type)
			s->op.kernel.ticket = op->graph.tickets[i];
		s->op.correlation = op->correlation;
		if (!s->disabled)
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
	struct emu_exec *x;
	CUresult r;

	(void)self;
	if (!g || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	x = calloc(1, sizeof(*x));
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*x = (struct emu_exec){.magic = MAGIC, .flags = flags};
	r = plan_of(g, &x->plan);
	if (r)
		free(x);
	else
		*ret = (CUgraphExec)x;
	return r;
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

/* Calls `issue` of the host kernels that have it. Returns 0 or -ENOMEM. */
static int issue(struct emu_plan *x, uint64_t **ret)
{
	uint64_t *turns = NULL;

	for (size_t i = 0; i < x->n_steps; i++) {
		if (x->steps[i].disabled || !emu_kernel_issue(&x->steps[i].op, NULL))
			continue;
		if (!turns)
			turns = calloc(x->n_steps, sizeof(*turns));
		if (!turns)
			return -ENOMEM;
		emu_kernel_issue(&x->steps[i].op, &turns[i]);
	}
	*ret = turns;
	return 0;
}

static void free_memory(const struct emu_plan *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		emu_graph_memory_free_allocated(&x->steps[i].op);
}

/* Applies the steps that allocate and free memory. After a failure, nothing is allocated. */
static CUresult submit_memory(const struct emu_plan *x, int auto_free)
{
	if (auto_free)
		free_memory(x, x->n_steps);
	for (size_t i = 0; i < x->n_steps; i++)
		if (emu_graph_memory_is_allocated(&x->steps[i].op))
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < x->n_steps; i++)
		if (emu_graph_memory_submit(&x->steps[i].op) < 0) {
			free_memory(x, i);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	EMU_ENTER(EMU_CALL_LAUNCH);
	struct emu_exec *x = exec_of(exec);
	struct emu_op op = {.type = &graph_type, .graph = {.plan = x ? x->plan : NULL}};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	if (!op.graph.plan)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture)
		return emu_capture_invalidate(s);
	r = submit_memory(x->plan,
			  x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH ? 1 : 0);
	if (!r && issue(op.graph.plan, &op.graph.tickets) < 0)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r)
		return r;
	__atomic_add_fetch(&op.graph.plan->refs, 1, __ATOMIC_RELAXED);
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
	plan_drop(x->plan);
	free(x);
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

static struct step *step_of(struct emu_exec *x, CUgraphNode node)
{
	for (size_t i = 0; x && node && i < x->plan->n_steps; i++) {
		size_t at = (x->asked + i) % x->plan->n_steps;

		if ((CUgraphNode)x->plan->steps[at].source != node)
			continue;
		x->asked = at;
		return &x->plan->steps[at];
	}
	return NULL;
}

/* As step_of(), for a step that is to be changed. Also returns NULL if out of memory. */
static struct step *own_step_of(struct emu_exec *x, CUgraphNode node)
{
	return step_of(x, node) && own_plan(x) == 0 ? step_of(x, node) : NULL;
}

CUresult emu_exec_change(CUgraphExec exec, CUgraphNode node, struct emu_op *op)
{
	struct emu_exec *x = exec_of(exec);
	struct step *s = own_step_of(x, node);

	if (!s || s->op.type != op->type) {
		emu_op_done(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_op_done(&s->op);
	s->op = *op;
	s->op.issued_ns = MOMENT_NEVER;
	return CUDA_SUCCESS;
}

static int can_be_disabled(const struct step *s)
{
	return s->op.type == &emu_kernel_type || s->op.type == &emu_copy_type ||
	       s->op.type == &emu_set_type;
}

EMU_API CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	struct step *s = own_step_of(exec_of(exec), node);

	if (!s || !can_be_disabled(s))
		return CUDA_ERROR_INVALID_VALUE;
	s->disabled = !enabled;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *ret)
{
	const struct step *s = step_of(exec_of(exec), node);

	if (!s || !ret || !can_be_disabled(s))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = !s->disabled;
	return CUDA_SUCCESS;
}

static int has_shape(const struct emu_plan *a, const struct emu_plan *b)
{
	int same = a->n_steps == b->n_steps && a->n_deps == b->n_deps;

	for (size_t i = 0; same && i < a->n_steps; i++)
		same = a->steps[i].op.type == b->steps[i].op.type;
	return same;
}

/* Updates the steps of a child, which precede the step of its node, from `graph`. It must have the
 * same nodes in the same order. */
EMU_API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    CUgraph graph)
{
	scoped(plan_dropp) struct emu_plan *now = NULL;
	struct emu_graph *g = emu_graph_of(graph);
	struct step *s = own_step_of(exec_of(exec), node);
	CUresult r = s && g && s->op.type == &emu_child_type ? plan_of(g, &now)
							     : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	if (now->n_steps > (size_t)(s - exec_of(exec)->plan->steps))
		return CUDA_ERROR_INVALID_VALUE;
	s -= now->n_steps;
	for (size_t i = 0; i < now->n_steps; i++)
		if (s[i].op.type != now->steps[i].op.type)
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < now->n_steps; i++) {
		struct emu_op was = s[i].op;

		s[i].op = now->steps[i].op;
		now->steps[i].op = was;
	}
	return CUDA_SUCCESS;
}

/* The graph must have the same nodes in the same order, as after a second capture. Steps keep the
 * nodes of the original graph as keys. */
EMU_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
				      CUgraphExecUpdateResultInfo *ret)
{
	scoped(plan_dropp) struct emu_plan *now = NULL;
	struct emu_exec *x = exec_of(exec);
	struct emu_graph *g = emu_graph_of(graph);
	CUresult r = x && g ? plan_of(g, &now) : CUDA_ERROR_INVALID_VALUE;
	int same;

	if (r)
		return r;
	same = has_shape(now, x->plan);
	if (ret)
		*ret = (CUgraphExecUpdateResultInfo){
			.result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS
				       : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
	if (!same)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; i < now->n_steps; i++) {
		now->steps[i].source = x->plan->steps[i].source;
		now->steps[i].disabled = x->plan->steps[i].disabled;
	}
	plan_drop(x->plan);
	x->plan = take(now);
	return CUDA_SUCCESS;
}
