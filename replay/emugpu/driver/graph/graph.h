/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs: ops and what they wait for; and streams that are being captured into one.
 *
 * A graph is used by one thread at a time, as CUDA has it; an executable one is launched by any.
 */
#pragma once

#include "replay/emugpu/driver/capture.h"

struct emu_node {
	uint32_t magic;
	uint64_t id, origin; /* of none before it; of the one that it was cloned from, or 0 */
	struct emu_graph *graph;
	struct emu_op op;	 /* owns its arguments */
	struct emu_graph *child; /* of a child graph node; owned */
	struct emu_node **deps;
	size_t n_deps, deps_cap;
	int mark; /* of whoever walks the graph */
};

struct emu_graph {
	uint32_t magic;
	struct emu_context *context;
	struct emu_node **nodes; /* in the order in which they were added; owned */
	size_t n_nodes, nodes_cap;
	struct emu_user_object **objects;
	size_t n_objects, objects_cap;
	int is_child; /* of a node */
};

/* NULL when it is none. */
struct emu_graph *emu_graph_of(CUgraph g);
struct emu_node *emu_node_of(CUgraphNode n);

int emu_graph_new(struct emu_context *c, struct emu_graph **ret);
void emu_graph_free(struct emu_graph *g);
/* Gives up the objects of the program's that the graph keeps (userobject.c). */
void emu_graph_drop_objects(struct emu_graph *g);

/* Adds a node that waits for `deps`; what `op` owns passes on in any case. */
CUresult emu_graph_add(struct emu_graph *g, struct emu_op *op, struct emu_node *const *deps,
		       size_t n_deps, struct emu_node **ret);
/* -> CUDA_ERROR_NOT_SUPPORTED where it allocates or frees memory. */
CUresult emu_graph_clone(const struct emu_graph *g, struct emu_graph **ret);

/* A copy of an op with arguments of its own. 0 or -ENOMEM, -EINVAL: its arguments are of unknown
 * size. */
int emu_op_copy(const struct emu_op *from, struct emu_op *to);

/* What a node of each kind does, by its parameters; -> an error for what cannot be. */
CUresult emu_kernel_op_of(const CUDA_KERNEL_NODE_PARAMS *p, struct emu_op *ret);
CUresult emu_copy_op_of(const CUDA_MEMCPY3D *p, CUcontext context, struct emu_op *ret);
CUresult emu_set_op_of(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context, struct emu_op *ret);
CUresult emu_host_op_of(const CUDA_HOST_NODE_PARAMS *p, struct emu_op *ret);
CUresult emu_event_op_of(const struct emu_op_type *type, CUevent event, struct emu_op *ret);

/* What the executable graph does from its next launch on in place of that node, which keeps its
 * kind; `op` passes on in any case. */
CUresult emu_exec_change(CUgraphExec exec, CUgraphNode node, struct emu_op *op);

/* Numbers all nodes so that each comes after what it waits for; -EINVAL: there is a circle. */
int emu_graph_order(struct emu_graph *g, struct emu_node ***ret);

extern const struct emu_op_type emu_empty_type, emu_child_type, emu_event_record_type,
	emu_event_wait_type;

/* ---- capture ---- */

enum emu_capture_state { EMU_CAPTURE_ACTIVE, EMU_CAPTURE_INVALID };

struct emu_capture {
	uint64_t id;
	struct emu_graph *graph;
	int owns_graph;
	struct emu_stream *origin;
	struct emu_thread *thread; /* that began it */
	int mode;		   /* CUstreamCaptureMode */
	enum emu_capture_state state;
	struct emu_capture *next; /* of all that are going on */
};
