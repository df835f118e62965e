/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs. A launch is one op of its stream, which keeps its plan: later changes are made
 * in a copy. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/graph/plan.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/handle.h"

#define MAGIC 0x45786563u

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

/* Ensures that no launch uses the plan, by copying it if needed. */
static int own_plan(struct emu_exec *x)
{
	struct emu_plan *own;

	if (__atomic_load_n(&x->plan->refs, __ATOMIC_ACQUIRE) == 1)
		return 0;
	own = emu_plan_copy(x->plan);
	if (!own)
		return -ENOMEM;
	emu_plan_drop(x->plan);
	x->plan = own;
	return 0;
}

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
	r = emu_plan_of(g, &x->plan);
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

/* Calls `issue` of the host kernels that have it, and makes the points of event records, for which
 * later calls may wait. A wait is for the record that precedes it in the order of the steps, which
 * run in this order. Returns 0 or -ENOMEM. */
static int issue_kernels(const struct emu_plan *x, union emu_ticket **ret)
{
	for (size_t i = 0; i < x->n_steps; i++) {
		const struct emu_op *op = &x->steps[i].op;
		int records = op->type == &emu_event_record_type;
		int waits = op->type == &emu_event_wait_type;

		if (x->steps[i].disabled || (!records && !waits && !emu_kernel_issue(op, NULL)))
			continue;
		if (!*ret)
			*ret = calloc(x->n_steps, sizeof(**ret));
		if (!*ret)
			return -ENOMEM;
		if (waits)
			(*ret)[i].dep = emu_event_dep(op->event);
		else if (!records)
			emu_kernel_issue(op, &(*ret)[i].turn);
		else if (!((*ret)[i].point = emu_event_expect(op->event)))
			return -ENOMEM;
	}
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
	struct emu_op op = {.type = &emu_launch_type, .graph = {.plan = x ? x->plan : NULL}};
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
	if (r)
		return r;
	__atomic_add_fetch(&op.graph.plan->refs, 1, __ATOMIC_RELAXED);
	if (issue_kernels(op.graph.plan, &op.graph.tickets) < 0) {
		emu_op_done(&op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
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
	emu_plan_drop(x->plan);
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

static struct emu_step *step_of(struct emu_exec *x, CUgraphNode node)
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
static struct emu_step *own_step_of(struct emu_exec *x, CUgraphNode node)
{
	return step_of(x, node) && own_plan(x) == 0 ? step_of(x, node) : NULL;
}

CUresult emu_exec_change(CUgraphExec exec, CUgraphNode node, struct emu_op *op)
{
	struct emu_exec *x = exec_of(exec);
	struct emu_step *s = own_step_of(x, node);

	if (!s || s->op.type != op->type) {
		emu_op_done(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_op_done(&s->op);
	s->op = *op;
	s->op.issued_ns = MOMENT_NEVER;
	return CUDA_SUCCESS;
}

static int can_be_disabled(const struct emu_step *s)
{
	return s->op.type == &emu_kernel_type || s->op.type == &emu_copy_type ||
	       s->op.type == &emu_set_type;
}

EMU_API CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	struct emu_step *s = own_step_of(exec_of(exec), node);

	if (!s || !can_be_disabled(s))
		return CUDA_ERROR_INVALID_VALUE;
	s->disabled = !enabled;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *ret)
{
	const struct emu_step *s = step_of(exec_of(exec), node);

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
	scoped(emu_plan_dropp) struct emu_plan *now = NULL;
	struct emu_graph *g = emu_graph_of(graph);
	struct emu_step *s = own_step_of(exec_of(exec), node);
	CUresult r = s && g && s->op.type == &emu_child_type ? emu_plan_of(g, &now)
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
	scoped(emu_plan_dropp) struct emu_plan *now = NULL;
	struct emu_exec *x = exec_of(exec);
	struct emu_graph *g = emu_graph_of(graph);
	CUresult r = x && g ? emu_plan_of(g, &now) : CUDA_ERROR_INVALID_VALUE;
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
	emu_plan_drop(x->plan);
	x->plan = take(now);
	return CUDA_SUCCESS;
}
