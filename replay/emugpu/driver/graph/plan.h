/* SPDX-License-Identifier: Apache-2.0 */

/* Plans: the nodes of a graph in topological order, as they are executed. Each node starts when all
 * its dependencies have ended. */
#pragma once

#include "base/scope.h"
#include "replay/emugpu/driver/graph/graph.h"

struct emu_step {
	struct emu_op op;	       /* owned */
	const struct emu_node *source; /* the graph's node, which may have been destroyed */
	uint32_t first_dep, n_deps;    /* steps */
	int disabled;
	int64_t end_ns;
};

struct emu_plan {
	int refs;
	pthread_mutex_t lock; /* launches run sequentially, as in CUDA */
	struct emu_step *steps;
	size_t n_steps, steps_cap;
	uint32_t *deps;
	size_t n_deps, deps_cap;
};

CUresult emu_plan_of(struct emu_graph *g, struct emu_plan **ret);
/* Returns a copy that no launch uses; NULL if out of memory. */
struct emu_plan *emu_plan_copy(const struct emu_plan *of);
void emu_plan_drop(struct emu_plan *x);
define_cleanup(emu_plan_dropp, struct emu_plan *, emu_plan_drop);

/* The state of one step of a launched graph, from the launch until the step runs. */
union emu_ticket {
	uint64_t turn;		 /* a kernel: of `issue` */
	struct emu_point *point; /* an event record: reached by the step */
	struct emu_dep dep;	 /* an event wait */
};

/* The launch of a plan. */
extern const struct emu_op_type emu_launch_type;

/* Makes the op of a conditional node with `n` empty graphs, which are also returned. The handle
 * must be valid. */
CUresult emu_conditional_op(struct emu_context *c, const CUDA_CONDITIONAL_NODE_PARAMS *p,
			    struct emu_op *ret, struct emu_graph ***ret_graphs);
