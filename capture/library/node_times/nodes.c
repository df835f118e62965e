/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/node_times/nodes.h"

#include "base/scope.h"
#include "capture/library/call/chain.h"
#include "capture/library/find/cu.h"
#include "capture/library/graphs/graphs.h"
#include "capture/library/times/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Any thread may instantiate graphs. Atomic; relaxed, since each publishes no other data. */
static struct {
	bool is_on;	  /* cap_nodes_start() */
	bool no_children; /* the driver cannot change events in child graphs of executable graphs */
} self;

static bool load_flag(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static void set_flag(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELAXED);
}

/* The device itself may change the parameters of the node. */
static bool is_device_updatable(const struct cap_graph_node *node)
{
	uint32_t value[16] = {0};

	return node->type == CU_NODE_KERNEL &&
	       cap_cu.cuGraphKernelNodeGetAttribute(node->handle, CU_DEVICE_UPDATABLE_NODE,
						    value) == 0 &&
	       value[0] != 0;
}

static int clone_with_events(struct cap_instance *i, void *graph, uint64_t flags)
{
	struct cap_exec *x = i->exec = calloc(1, sizeof(*x));
	struct cap_timed_context *context;
	int r;

	if (!x)
		return -ENOMEM;
	x->refs = 1;
	cap_cu.cuCtxGetCurrent(&x->context);
	context = x->context ? cap_streams_get_context(x->context) : NULL;
	x->clock = context ? &context->clock : NULL;
	if (!x->clock || !i->order || flags & CU_GRAPH_DEVICE_LAUNCH)
		return -ENOTSUP;
	for (uint32_t k = 0; k < i->graph.n; k++)
		if (is_device_updatable(&i->graph.nodes[k]))
			return -ENOTSUP;
	r = cap_instance_steps(i, x);
	if (r == 0 && (x->n_ops == 0 || (x->in_child > 0 && load_flag(&self.no_children))))
		r = -ENOTSUP;
	if (r == 0)
		x->now = cap_node_events_new(x);
	if (r == 0)
		r = x->now ? cap_instance_clone(i, graph, x, x->now) : -ENOMEM;
	return r < 0 ? r : cap_instance_pairs(i, x);
}

/* Records the structure of the graph that the call instantiates. `x` NULL: without times. */
static int record_graph(const struct cap_instance *i, const struct cap_exec *x)
{
	scoped(free_ptr) uint32_t *ops = NULL;
	int r = x ? cap_instance_ops(i, x, &ops) : 0;

	if (r == 0 && !i->order)
		r = -EINVAL;
	return r < 0 ? r : cap_graph_put(&i->graph, i->call->id, ops, CAP_NODE_WHOLE, i->order);
}

static void forget_exec(struct cap_instance *i)
{
	cap_exec_free(take(i->exec));
	if (i->clone)
		cap_cu.cuGraphDestroy(take(i->clone));
}

static uint64_t instantiate_clone(struct cap_instance *i, uint64_t graph, uint64_t flags)
{
	if (cap_instance_read(i, (void *)graph) < 0)
		return graph;
	if (clone_with_events(i, (void *)graph, flags) == 0 && record_graph(i, i->exec) == 0)
		return (uintptr_t)i->clone;
	forget_exec(i);
	record_graph(i, NULL);
	return graph;
}

uint64_t cap_before_instantiate(struct cap_instance *i, const struct cap_call *call, uint64_t graph,
				uint64_t flags)
{
	int kept = errno, mode;

	*i = (struct cap_instance){.call = call};
	if (!call || !graph)
		return graph;
	if (!load_flag(&self.is_on)) {
		cap_graphs_record(call, (void *)graph);
		return graph;
	}
	mode = cap_chain_enter();
	graph = instantiate_clone(i, graph, flags);
	cap_chain_leave(mode);
	errno = kept;
	return graph;
}

static void begin_exec(struct cap_instance *i, void *handle)
{
	struct cap_exec *x = take(i->exec);

	x->handle = handle;
	x->clone = take(i->clone);
	x->leaves = take(i->leaves);
	cap_exec_add(x);
}

/* The documentation does not specify if an event in a child graph can be exchanged. Tries with the
 * same event; if the driver fails, graphs with child graphs are instantiated unchanged. */
static bool refuses_children(const struct cap_instance *i, void *exec)
{
	uint32_t event = i->exec->in_child;

	if (event == 0 || cap_cu.cuGraphExecEventRecordNodeSetEvent(
				  exec, i->leaves[event], i->exec->now->events[event]) == 0)
		return false;
	set_flag(&self.no_children);
	cap_cu.cuGraphExecDestroy(exec);
	return true;
}

bool cap_after_instantiate(struct cap_instance *i, int result, uint64_t ret_exec)
{
	int kept = errno, mode;
	bool again;

	if (!i->graph.nodes)
		return false;
	mode = cap_chain_enter();
	again = i->exec && (result != 0 || refuses_children(i, *(void **)ret_exec));
	if (again) {
		forget_exec(i);
		record_graph(i, NULL);
	} else if (i->exec) {
		begin_exec(i, *(void **)ret_exec);
	}
	cap_instance_done(i);
	cap_chain_leave(mode);
	errno = kept;
	return again;
}

/* Clones the graph, which has the structure of the one that the executable graph was made of. */
static int clone_for_update(struct cap_instance *i, void *graph, struct cap_exec *x)
{
	scoped(free_ptr) uint32_t *ops = NULL;
	int r = cap_instance_ops(i, x, &ops);

	if (r < 0)
		return r;
	i->events = cap_node_events_take(x);
	r = i->events ? cap_instance_clone(i, graph, x, i->events) : -ENOMEM;
	if (r == 0)
		r = cap_graph_put(&i->graph, i->call->id, ops, CAP_NODE_WHOLE, i->order);
	return r;
}

/* If the graph cannot be cloned, or has other nodes, the driver refuses the update as it would
 * without this library. */
uint64_t cap_before_update(struct cap_instance *i, const struct cap_call *call, uint64_t exec,
			   uint64_t graph)
{
	int kept = errno, mode;

	*i = (struct cap_instance){.call = call};
	if (!call || !graph)
		return graph;
	if (!load_flag(&self.is_on)) {
		cap_graphs_record(call, (void *)graph);
		return graph;
	}
	mode = cap_chain_enter();
	i->exec = cap_exec_find(exec);
	if (cap_instance_read(i, (void *)graph) == 0) {
		if (!i->exec)
			record_graph(i, NULL);
		else if (clone_for_update(i, (void *)graph, i->exec) == 0)
			graph = (uintptr_t)i->clone;
	}
	cap_chain_leave(mode);
	errno = kept;
	return graph;
}

uint64_t cap_child_graph(struct cap_instance *i, uint64_t exec, uint64_t node, uint64_t graph)
{
	const struct cap_node_pair *in;
	const struct cap_exec *x;
	int kept = errno, mode;

	*i = (struct cap_instance){0};
	x = graph ? cap_exec_find(exec) : NULL;
	if (!x)
		return graph;
	mode = cap_chain_enter();
	in = cap_exec_pair(x, node);
	if (in && cap_instance_clone_child(i, (void *)graph, x, in) == 0)
		graph = (uintptr_t)i->clone;
	cap_chain_leave(mode);
	errno = kept;
	return graph;
}

/* CUgraphNodeParams: the kind, and from the third word the members of that kind. */
uint64_t cap_node_params(struct cap_instance *i, uint64_t exec, uint64_t node, uint64_t params,
			 uint64_t copy[CAP_PARAMS_WORDS])
{
	*i = (struct cap_instance){0};
	if (!params || *(const int *)params != CU_NODE_GRAPH)
		return params;
	memcpy(copy, (const void *)params, CAP_PARAMS_WORDS * sizeof(*copy));
	copy[2] = cap_child_graph(i, exec, node, copy[2]);
	return (uintptr_t)copy;
}

void cap_child_graph_done(struct cap_instance *i)
{
	int kept = errno, mode;

	if (!i->graph.nodes && !i->clone)
		return;
	mode = cap_chain_enter();
	cap_instance_done(i);
	cap_chain_leave(mode);
	errno = kept;
}

void cap_after_update(struct cap_instance *i, int result, const uint64_t nodes[2])
{
	int kept = errno, mode;

	if (!i->graph.nodes)
		return;
	mode = cap_chain_enter();
	if (i->events)
		cap_node_events_set(i->exec, i->events, result == 0);
	for (int k = 0; k < 2 && result != 0 && i->clone; k++)
		if (nodes[k])
			*(void **)nodes[k] = cap_instance_node(i, *(void **)nodes[k]);
	cap_instance_done(i);
	cap_chain_leave(mode);
	errno = kept;
}

void cap_nodes_start(void)
{
	if (cap_cu_load_graphs() == 0)
		set_flag(&self.is_on);
}
