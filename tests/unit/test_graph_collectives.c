/* SPDX-License-Identifier: Apache-2.0 */

/* Collectives captured into CUDA graphs. */
#include "base/array.h"
#include "tests/unit/reported_graph.h"
#include "tests/unit/test.h"

/* Puts the node handle that the next call's kernel launch received; 0: the capture library did not
 * query the node. */
static void captured_as(struct made_ring *m, uint64_t handle)
{
	struct cap_node_record r = {
		.head = {.bytes = sizeof(r), .kind = CAP_NODE}, .id = ring_id(m), .handle = handle};

	if (handle)
		ring_put(m, &r);
}

static void begin_capture(struct recording *m)
{
	recording_begin(m, 0);
	join_comm(&m->ring, 2, 0);
	ring_call(&m->ring, "cuStreamBeginCapture_v2", STREAM, 0);
}

static void end_capture(struct recording *m)
{
	ring_out(&m->ring, 1, GRAPH);
	ring_call(&m->ring, "cuStreamEndCapture", STREAM, 0x100);
}

/* A NCCL call with the kernel launch inside it. */
static void captured_call(struct made_ring *m, uint64_t handle, const char *call,
			  const uint64_t *words, uint32_t n)
{
	const uint64_t launch[] = {KERNEL, 8, 1, 1, 512, 1, 1, 0, STREAM, 0, 0};
	uint64_t outer = m->ordinal++, next;

	captured_as(m, handle);
	ring_call_at(m, "cuLaunchKernel", 1, 0, launch, 11);
	next = m->ordinal;
	m->ordinal = outer;
	ring_call_at(m, call, 0, 0, words, n);
	m->ordinal = next;
}

static void all_reduce(struct made_ring *m, uint64_t handle, uint64_t count)
{
	const uint64_t words[] = {0x10000, 0x10000, count, 7, 0, COMM, STREAM};

	captured_call(m, handle, "ncclAllReduce", words, 7);
}

/* Exchange with rank 1 in both directions. */
static void exchange(struct made_ring *m, uint64_t handle)
{
	ring_call_at(m, "ncclGroupStart", 0, 0, NULL, 0);
	exchange_calls(m, 2, "ncclSend");
	exchange_calls(m, 2, "ncclRecv");
	captured_call(m, handle, "ncclGroupEnd", NULL, 0);
}

/* A kernel, an all-reduce, a send and receive, an all-reduce. */
static void capture_collectives(struct recording *m, bool handles)
{
	begin_capture(m);
	ring_launch(&m->ring, KERNEL, STREAM);
	all_reduce(&m->ring, handles ? 0xa03 : 0, 256);
	exchange(&m->ring, handles ? 0xa02 : 0);
	all_reduce(&m->ring, handles ? 0xa01 : 0, 64);
	end_capture(m);
}

/* Node descriptions in the driver's order: reversed, or in capture order. */
static const struct reported_node backwards[] = {
	{KERNEL_NODE, 0, 1},
	{KERNEL_NODE, 1 << 2, 8},
	{KERNEL_NODE, 1 << 3, 8},
	{KERNEL_NODE, 1 << 0, 8},
};
static const struct reported_node as_captured[] = {
	{KERNEL_NODE, 0, 1},
	{KERNEL_NODE, 1 << 0, 8},
	{KERNEL_NODE, 1 << 1, 8},
	{KERNEL_NODE, 1 << 2, 8},
};

/* Checks the collectives of the first graph's nodes; "-": the node has none. */
static void ck_collectives(struct recording *m, const char *wanted)
{
	scoped(text_done) struct text t = {0}, names = {0};

	rec_graphs_json(m->process, &t);
	text_char(&t, 0);
	*strstr(t.data, "\"calls\"") = 0;
	for (char *node = t.data; (node = strstr(node, "\"kind\"")); node++) {
		const char *at = strstr(node, "\"collective\": \""), *next = strchr(node, '}');

		if (at && at < next)
			text_bytes(&names, at + 15, strcspn(at + 15, "\""));
		else
			text_char(&names, '-');
		text_char(&names, ' ');
	}
	text_char(&names, 0);
	ck_assert_str_eq(names.data, wanted);
}

/* A launch is one operation: its collectives have no times, and are counted. */
TEST(a_launch_counts_its_collectives)
{
	static const struct {
		const struct reported_node *nodes;
		bool handles;
	} ways[] = {{NULL, false}, {backwards, true}, {as_captured, false}};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		scoped(recording_end) struct recording m;
		const struct rec_event *e = NULL;

		capture_collectives(&m, ways[i].handles);
		instantiate(&m, ways[i].nodes, ways[i].nodes ? 4 : 0);
		ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
		ring_call(&m.ring, "cuGraphNodeSetEnabled", EXEC, 0xa03, 0);
		ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
		ring_look(&m.ring);
		ck_assert_uint_eq(m.process->nccl.n_collectives, 0);
		ck_assert_uint_eq(m.process->counts.lost_collectives, 0);
		ck_assert_uint_eq(m.process->counts.graph_collectives, ways[i].nodes ? 5 : 6);
		ck_collectives(&m, "- all_reduce send_recv all_reduce ");
		for (size_t k = 0; k < m.process->n_events && !e; k++)
			if (FMT_IS_OP(m.process->events[k].kind))
				e = &m.process->events[k];
		ck_assert_ptr_nonnull(e);
		ck_assert_int_eq(argument(&m, e, "graph.collectives"), 3);
	}
}

/* Updating an executable graph makes a new version; an identical update does not. */
TEST(updated_graphs)
{
	scoped(recording_end) struct recording m;
	struct rec_graph_id is;

	capture_collectives(&m, false);
	instantiate(&m, NULL, 0);
	for (uint64_t count = 256; count > 64; count /= 2) {
		ring_call(&m.ring, "cuStreamBeginCapture_v2", STREAM, 0);
		ring_launch(&m.ring, KERNEL, STREAM);
		all_reduce(&m.ring, 0, count);
		exchange(&m.ring, 0);
		all_reduce(&m.ring, 0, 64);
		ring_out(&m.ring, 1, GRAPH + count);
		ring_call(&m.ring, "cuStreamEndCapture", STREAM, 0x100);
		ring_call(&m.ring, "cuGraphExecUpdate_v2", EXEC, GRAPH + count, 0);
	}
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	is = rec_graph_exec_version(m.process, 1);
	ck_assert_uint_eq(is.graph, 3);
	ck_assert_uint_eq(m.process->counts.graph_collectives, 3);
}

/* A graph within a graph within a third, as recorded or as reported. */
TEST(child_graphs)
{
	static const struct reported_node nodes[] = {
		{EMPTY_NODE, 0, 0},	  {CHILD_NODE, 1 << 2, 0},  {CHILD_NODE, 1 << 6, 0},
		{KERNEL_NODE, 1 << 0, 1}, {KERNEL_NODE, 1 << 3, 8}, {KERNEL_NODE, 1 << 4, 8},
		{KERNEL_NODE, 1 << 5, 8},
	};

	for (int is_told = 0; is_told < 2; is_told++) {
		scoped(recording_end) struct recording m;

		capture_collectives(&m, true);
		ring_out(&m.ring, 0, GRAPH + 1);
		ring_call(&m.ring, "cuGraphCreate", 0x100, 0);
		ring_out(&m.ring, 0, 0xb00);
		ring_call(&m.ring, "cuGraphAddChildGraphNode", 0x100, GRAPH + 1, 0, 0, GRAPH);
		ring_call(&m.ring, "cuGraphDestroy", GRAPH);
		ring_out(&m.ring, 0, GRAPH);
		ring_call(&m.ring, "cuGraphCreate", 0x100, 0);
		ring_out(&m.ring, 0, 0xb01);
		ring_call(&m.ring, "cuGraphAddEmptyNode", 0x100, GRAPH, 0, 0);
		ring_out(&m.ring, 0, 0xb02);
		ring_call(&m.ring, "cuGraphAddChildGraphNode", 0x100, GRAPH, 0, 0, GRAPH + 1);
		instantiate(&m, nodes, is_told ? ARRAY_SIZE(nodes) : 0);
		ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
		ring_look(&m.ring);
		ck_assert_uint_eq(m.process->counts.lost_collectives, 0);
		ck_assert_uint_eq(m.process->counts.graph_collectives, 3);
	}
}

/* The driver reports nodes that do not include the collective's. */
static const struct {
	const char *what;
	struct reported_node nodes[4];
	uint32_t n;
	uint64_t lost;
} rows[] = {
	{"gone", {{KERNEL_NODE, 0, 1}}, 1, 3},
	{"others", {{SET_NODE, 0, 0}, {SET_NODE, 1, 0}, {KERNEL_NODE, 2, 1}}, 3, 2},
};

TEST_ROWS(unknown_nodes, rows)
{
	scoped(recording_end) struct recording m;

	capture_collectives(&m, false);
	instantiate(&m, row->nodes, row->n);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_msg(m.process->counts.lost_collectives == row->lost, "%s: %llu", row->what,
		      (unsigned long long)m.process->counts.lost_collectives);
}
