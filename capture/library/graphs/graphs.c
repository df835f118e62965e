/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/graphs/graphs.h"

#include "capture/library/call/chain.h"
#include "capture/library/device/stream_ref.h"
#include "capture/library/find/cu.h"
#include "capture/library/graphs/graph.h"
#include "capture/library/ring/process.h"

#include <errno.h>

static bool is_touched; /* relaxed: publishes no other data */

void cap_graphs_touched(void)
{
	__atomic_store_n(&is_touched, true, __ATOMIC_RELAXED);
}

static void record_graph(const struct cap_call *call, void *handle)
{
	scoped(cap_graph_done) struct cap_graph graph = {0};

	if (cap_graph_read(handle, &graph) == 0)
		cap_graph_put(&graph, call->id);
}

void cap_graphs_record(const struct cap_call *call, void *graph)
{
	int kept = errno, mode;

	if (!call || !graph || !__atomic_load_n(&is_touched, __ATOMIC_RELAXED) ||
	    cap_cu_load_graphs() < 0)
		return;
	mode = cap_chain_enter();
	record_graph(call, graph);
	cap_chain_leave(mode);
	errno = kept;
}

/* ---- launches within another call */

/* Returns the node that the next operation of a stream in capture waits for; NULL: none, or
 * several. */
static const void *last_node(void *stream)
{
	void *const *nodes = NULL;
	const void *edges;
	int status = 0;
	size_t n = 0;

	if (cap_cu_load_graphs() < 0 ||
	    cap_cu.cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, &nodes, &edges, &n) ||
	    n != 1)
		return NULL;
	return nodes[0];
}

static void after_launch(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	struct cap_stream_ref ref;
	const void *node;

	if (!call || c->depth == 0 || c->result != 0 ||
	    __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0)
		return;
	cap_stream_ref_from_call(c, call, &ref);
	if (!ref.context || !cap_stream_ref_is_capturing(&ref))
		return;
	node = last_node(ref.stream);
	if (node)
		cap_graph_put_captured(node, c->id);
}

static int start_graphs(void)
{
	return cap_control()->device_times ? cap_cu_load() : -ENOTSUP;
}

const struct cap_hook cap_graphs = {
	.classes = 1ull << API_CLASS_LAUNCH,
	.launches = CAP_LAUNCH_CAPTURED,
	.start = start_graphs,
	.after = after_launch,
};
