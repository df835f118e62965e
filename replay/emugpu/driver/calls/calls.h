/* SPDX-License-Identifier: Apache-2.0 */

/* Macros and functions for the expressions of forward.txt. */
#pragma once

#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/memory/transfer.h"

#include <string.h>

/* Executes the statements with the object that a handle stands for, if it is valid: context c (the
 * current one for NULL), stream s, device d, function f, module m, graph g, or node n. */
#define OF_CONTEXT(context, ...)                                                                   \
	OF_CHECKED(struct emu_context *c, emu_context_of(self, context, &c), __VA_ARGS__)
#define OF_STREAM(stream, ...)                                                                     \
	OF_CHECKED(struct emu_stream *s, emu_stream_of(self, stream, &s), __VA_ARGS__)
#define OF_DEVICE(device, ...)                                                                     \
	OF(struct emu_device, d, emu_device(device), CUDA_ERROR_INVALID_DEVICE, __VA_ARGS__)
#define OF_FUNCTION(function, ...)                                                                 \
	OF(struct emu_function, f, emu_function_of((CUfunction)(function)),                        \
	   CUDA_ERROR_INVALID_HANDLE, __VA_ARGS__)
#define OF_MODULE(module, ...)                                                                     \
	OF(struct emu_module, m, emu_module_of(module), CUDA_ERROR_INVALID_HANDLE, __VA_ARGS__)
#define OF_GRAPH(graph, ...)                                                                       \
	OF(struct emu_graph, g, emu_graph_of(graph), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)
#define OF_NODE(type, ret, ...)                                                                    \
	OF(const struct emu_node, n, (ret) ? emu_node_of_type(hNode, &type) : NULL,                \
	   CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

#define OF(type, name, lookup, error, ...)                                                         \
	({                                                                                         \
		type *name = (lookup);                                                             \
		if (name) {                                                                        \
			__VA_ARGS__;                                                               \
		}                                                                                  \
		name ? CUDA_SUCCESS : (error);                                                     \
	})
#define OF_CHECKED(declaration, lookup, ...)                                                       \
	({                                                                                         \
		EMU_ENTER(EMU_CALL_FREE);                                                          \
		declaration;                                                                       \
		CUresult r = (lookup);                                                             \
		if (!r) {                                                                          \
			__VA_ARGS__;                                                               \
		}                                                                                  \
		r;                                                                                 \
	})

/* Nodes of a type: `params` is the parameter struct of the public functions for it. */
#define ADD(type, params, context)                                                                 \
	emu_node_add(phGraphNode, hGraph, dependencies, numDependencies, &type, params, context)
#define CHANGE(type, params) emu_node_set(hNode, &type, params)
#define EXEC_CHANGE(type, params, context)                                                         \
	emu_node_exec_set(hGraphExec, hNode, &type, params, context)

/* The edges from or to the node n of the parameter `hNode`. */
#define OF_EDGES(first, second, from, to, count)                                                   \
	({                                                                                         \
		const struct emu_node *n = emu_node_of(hNode);                                     \
		n ? emu_graph_edges(n->graph, first, second, from, to, edgeData, count)            \
		  : CUDA_ERROR_INVALID_VALUE;                                                      \
	})
