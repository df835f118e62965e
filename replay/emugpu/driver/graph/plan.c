/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/graph/plan.h"
#include "base/array.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/graph/condition.h"

void emu_plan_drop(struct emu_plan *x)
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
static int step_copy(struct emu_step *s, const struct emu_op *op)
{
	int r = emu_op_copy(op, &s->op);

	/* Nodes of a graph have no launch latency. */
	s->op.issued_ns = MOMENT_NEVER;
	return r;
}

static int conditional_step(struct emu_step *s, const struct emu_op *op);

static int add_step(struct emu_plan *x, const struct emu_node *n)
{
	if (array_reserve(&x->steps, x->n_steps + 1, &x->steps_cap) < 0)
		return -ENOMEM;
	struct emu_step *s = &x->steps[x->n_steps];

	*s = (struct emu_step){.source = n, .first_dep = (uint32_t)x->n_deps};
	int r = n->op.type == &emu_conditional_type ? conditional_step(s, &n->op)
						    : step_copy(s, &n->op);

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
static int append_graph(struct emu_plan *x, struct emu_graph *g, uint32_t before)
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
				r = append_graph(x, n->child, entry);
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

CUresult emu_plan_of(struct emu_graph *g, struct emu_plan **ret)
{
	scoped(emu_plan_dropp) struct emu_plan *x = plan_new();
	int r = x ? append_graph(x, g, UINT32_MAX) : -ENOMEM;

	if (r < 0)
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	*ret = take(x);
	return CUDA_SUCCESS;
}

struct emu_plan *emu_plan_copy(const struct emu_plan *of)
{
	scoped(emu_plan_dropp) struct emu_plan *x = plan_new();

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

/* ---- running ---- */

static int plan_blocks(const struct emu_plan *x)
{
	for (size_t i = 0; i < x->n_steps; i++) {
		const struct emu_op *o = &x->steps[i].op;

		if (o->type->blocks && o->type->blocks(o))
			return 1;
	}
	return 0;
}

/* `tickets` may be NULL. */
static int64_t plan_run(struct emu_plan *x, const struct emu_op *launch, union emu_ticket *tickets,
			struct emu_track *track, int64_t ready_ns)
{
	int64_t end = ready_ns;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->n_steps; i++) {
		struct emu_step *s = &x->steps[i];
		struct emu_track own = *track;

		own.tail_ns = ready_ns;
		for (uint32_t k = 0; k < s->n_deps; k++)
			own.tail_ns = moment_wait(own.tail_ns,
						  x->steps[x->deps[s->first_dep + k]].end_ns, 0);
		if (tickets && s->op.type == &emu_kernel_type)
			s->op.kernel.ticket = tickets[i].turn;
		s->op.correlation = launch->correlation;
		if (tickets && s->op.type == &emu_event_record_type)
			emu_point_reach(take(tickets[i].point), own.tail_ns);
		else if (tickets && s->op.type == &emu_event_wait_type)
			own.tail_ns = moment_wait(own.tail_ns, emu_dep_wait(&tickets[i].dep), 0);
		else if (!s->disabled)
			emu_op_run(&s->op, &own);
		s->end_ns = own.tail_ns;
		end = moment_wait(end, s->end_ns, 0);
	}
	pthread_mutex_unlock(&x->lock);
	return end;
}

/* ---- conditional nodes ---- */

struct emu_bodies {
	int refs;
	CUgraphConditionalHandle handle;
	CUgraphConditionalNodeType kind;
	unsigned n;
	struct emu_graph **graphs; /* of a node; owned */
	struct emu_plan **plans;   /* of a step; owned */
};

static void drop_bodies(struct emu_op *op)
{
	struct emu_bodies *b = op->bodies;

	if (__atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (unsigned i = 0; i < b->n; i++) {
		if (b->graphs && b->graphs[i])
			emu_graph_free(b->graphs[i]);
		if (b->plans)
			emu_plan_drop(b->plans[i]);
	}
	free(b->graphs);
	free(b->plans);
	free(b);
}

static void retain_bodies(struct emu_op *op)
{
	__atomic_add_fetch(&op->bodies->refs, 1, __ATOMIC_RELAXED);
}

static int conditional_blocks(const struct emu_op *op)
{
	for (unsigned i = 0; i < op->bodies->n; i++)
		if (plan_blocks(op->bodies->plans[i]))
			return 1;
	return 0;
}

/* Returns 1 if a kernel of the plan has no host kernel: it does not set conditions. */
static int has_unknown_kernel(const struct emu_plan *x)
{
	for (size_t i = 0; i < x->n_steps; i++) {
		const struct emu_op *op = &x->steps[i].op;

		if (op->type == &emu_kernel_type && !emu_kernel_computes(op))
			return 1;
		for (unsigned k = 0; op->type == &emu_conditional_type && k < op->bodies->n; k++)
			if (has_unknown_kernel(op->bodies->plans[k]))
				return 1;
	}
	return 0;
}

static int64_t loop_run(const struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_plan *body = op->bodies->plans[0];
	struct emu_condition now = emu_condition_get(op->bodies->handle);

	while (now.value != 0) {
		uint64_t n_set = now.n_set;

		ready_ns = plan_run(body, op, NULL, track, ready_ns);
		now = emu_condition_get(op->bodies->handle);
		/* An unknown kernel may have ended the loop. */
		if (now.n_set == n_set && has_unknown_kernel(body))
			break;
	}
	return ready_ns;
}

static int64_t conditional_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	const struct emu_bodies *b = op->bodies;
	unsigned at = emu_condition_get(b->handle).value;

	if (b->kind == CU_GRAPH_COND_TYPE_WHILE)
		return loop_run(op, track, ready_ns);
	if (b->kind == CU_GRAPH_COND_TYPE_IF)
		at = at ? 0 : 1;
	return at < b->n ? plan_run(b->plans[at], op, NULL, track, ready_ns) : ready_ns;
}

const struct emu_op_type emu_conditional_type = {
	.name = "conditional",
	.node = CU_GRAPH_NODE_TYPE_CONDITIONAL,
	.light = 1,
	.blocks = conditional_blocks,
	.release = drop_bodies,
	.retain = retain_bodies,
	.run = conditional_run,
};

static struct emu_bodies *bodies_new(CUgraphConditionalHandle handle,
				     CUgraphConditionalNodeType kind, unsigned n)
{
	struct emu_bodies *b = calloc(1, sizeof(*b));

	if (b)
		*b = (struct emu_bodies){1, handle, kind, n, NULL, NULL};
	return b;
}

CUresult emu_conditional_op(struct emu_context *c, const CUDA_CONDITIONAL_NODE_PARAMS *p,
			    struct emu_op *ret, struct emu_graph ***ret_graphs)
{
	struct emu_bodies *b = bodies_new(p->handle, p->type, p->size);
	int r = b ? 0 : -ENOMEM;

	if (r < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = (struct emu_op){.type = &emu_conditional_type, .bodies = b};
	b->graphs = calloc(b->n, sizeof(struct emu_graph *));
	for (unsigned i = 0; r == 0 && i < b->n; i++)
		r = b->graphs ? emu_graph_new(c, &b->graphs[i]) : -ENOMEM;
	if (r < 0)
		drop_bodies(ret);
	*ret_graphs = b->graphs;
	return r < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static int has_issuing_kernel(const struct emu_plan *x)
{
	for (size_t i = 0; i < x->n_steps; i++)
		if (emu_kernel_issue(&x->steps[i].op, NULL))
			return 1;
	return 0;
}

/* Makes the step of a conditional node, with plans of its graphs. */
static int conditional_step(struct emu_step *s, const struct emu_op *op)
{
	const struct emu_bodies *of = op->bodies;
	struct emu_bodies *b = bodies_new(of->handle, of->kind, of->n);
	int r = b ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	b->plans = calloc(b->n, sizeof(struct emu_plan *));
	for (unsigned i = 0; r == 0 && i < b->n; i++) {
		CUresult made = b->plans ? emu_plan_of(of->graphs[i], &b->plans[i])
					 : CUDA_ERROR_OUT_OF_MEMORY;

		r = made == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : made ? -EINVAL : 0;
		if (r == 0 && has_issuing_kernel(b->plans[i])) {
			emu_refuse_use("libcuda.so.1", "conditional node (with collectives)");
			r = -EINVAL;
		}
	}
	s->op = (struct emu_op){
		.type = &emu_conditional_type, .bodies = b, .issued_ns = MOMENT_NEVER};
	if (r < 0)
		drop_bodies(&s->op);
	return r;
}

/* Sets the conditions to the values that launches begin with. */
static void reset_conditions(const struct emu_plan *x)
{
	for (size_t i = 0; i < x->n_steps; i++) {
		const struct emu_op *op = &x->steps[i].op;

		if (op->type != &emu_conditional_type)
			continue;
		emu_condition_reset(op->bodies->handle);
		for (unsigned k = 0; k < op->bodies->n; k++)
			reset_conditions(op->bodies->plans[k]);
	}
}

/* ---- the launch as an op ---- */

static int launch_blocks(const struct emu_op *op)
{
	return plan_blocks(op->graph.plan);
}

static void launch_release(struct emu_op *op)
{
	const struct emu_plan *x = op->graph.plan;

	/* After a launch that did not run, the tickets still have points. */
	for (size_t i = 0; op->graph.tickets && i < x->n_steps; i++) {
		union emu_ticket *t = &op->graph.tickets[i];

		if (x->steps[i].op.type == &emu_event_record_type && t->point)
			emu_point_reach(t->point, 0);
		else if (x->steps[i].op.type == &emu_event_wait_type)
			emu_point_drop(t->dep.point);
	}
	emu_plan_drop(take(op->graph.plan));
	free(take(op->graph.tickets));
}

static int64_t launch_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	reset_conditions(op->graph.plan);
	return plan_run(op->graph.plan, op, op->graph.tickets, track, ready_ns);
}

const struct emu_op_type emu_launch_type = {
	.name = "graph",
	.node = CU_GRAPH_NODE_TYPE_GRAPH,
	.blocks = launch_blocks,
	.release = launch_release,
	.run = launch_run,
};
