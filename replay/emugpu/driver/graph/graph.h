/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs: ops and their dependencies; stream captures into graphs.
 *
 * A graph is used by one thread at a time, as in CUDA; an executable graph can be launched by any
 * thread. */
#pragma once

#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/stream.h"

struct emu_node {
	uint32_t magic;
	uint64_t id, origin; /* unique id; id of the node that it was cloned from, or 0 */
	struct emu_graph *graph;
	struct emu_op op;	 /* owns its arguments */
	struct emu_graph *child; /* of a child graph node; owned */
	struct emu_node **deps;
	size_t n_deps, deps_cap;
	int mark; /* for traversals */
};

struct emu_graph {
	uint32_t magic;
	struct emu_context *context;
	struct emu_node **nodes; /* in order of creation; owned */
	size_t n_nodes, nodes_cap;
	struct emu_user_object **objects;
	size_t n_objects, objects_cap;
};

/* Return NULL for an invalid handle. */
struct emu_graph *emu_graph_of(CUgraph g);
struct emu_node *emu_node_of(CUgraphNode n);

/* Returns NULL if the handle is invalid, or the node's type is another. */
struct emu_node *emu_node_of_type(CUgraphNode handle, const struct emu_op_type *type);

/* Add a node, and change it in a graph and in an executable graph. `params` is the parameter struct
 * of the public functions for that type of node; of an event node, the event. */
CUresult emu_node_add(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
		      const struct emu_op_type *type, const void *params, CUcontext context);
CUresult emu_node_set(CUgraphNode handle, const struct emu_op_type *type, const void *params);
CUresult emu_node_exec_set(CUgraphExec exec, CUgraphNode node, const struct emu_op_type *type,
			   const void *params, CUcontext context);

int emu_graph_new(struct emu_context *c, struct emu_graph **ret);
void emu_graph_free(struct emu_graph *g);
/* Releases the user objects of the graph (userobject.c). */
void emu_graph_drop_objects(struct emu_graph *g);

/* Adds a node that waits for `deps`. Takes ownership of the data of `op`, also on failure. */
CUresult emu_graph_add(struct emu_graph *g, struct emu_op *op, struct emu_node *const *deps,
		       size_t n_deps, struct emu_node **ret);
/* Returns CUDA_ERROR_NOT_SUPPORTED if the graph allocates or frees memory, or has conditional
 * nodes. */
CUresult emu_graph_clone(const struct emu_graph *g, struct emu_graph **ret);

/* Copies an op with its arguments. Returns 0, -ENOMEM, or -EINVAL if the size of the arguments is
 * unknown. */
int emu_op_copy(const struct emu_op *from, struct emu_op *to);

/* Replaces the op of a node, from the next launch. The kind must be the same. Takes ownership of
 * the data of `op`, also on failure. */
CUresult emu_exec_change(CUgraphExec exec, CUgraphNode node, struct emu_op *op);

/* Lists the edges, or those from `first` or to `second`. `from`, `to` and `data` have space for *n
 * edges each, or are NULL; sets *n to the number of edges. */
CUresult emu_graph_edges(struct emu_graph *g, const struct emu_node *first,
			 const struct emu_node *second, CUgraphNode *from, CUgraphNode *to,
			 CUgraphEdgeData *data, size_t *n);

/* Sorts the nodes topologically; -EINVAL if there is a cycle. */
int emu_graph_order(struct emu_graph *g, struct emu_node ***ret);

extern const struct emu_op_type emu_empty_type, emu_child_type, emu_conditional_type,
	emu_event_record_type, emu_event_wait_type;

/* ---- capture ---- */

enum emu_capture_state { EMU_CAPTURE_ACTIVE, EMU_CAPTURE_INVALID };

struct emu_capture {
	uint64_t id;
	struct emu_graph *graph;
	int owns_graph;
	struct emu_stream *origin;
	struct emu_thread *thread; /* the thread that began it */
	int mode;		   /* CUstreamCaptureMode */
	enum emu_capture_state state;
	struct emu_capture *next; /* in the list of captures in progress */
};
