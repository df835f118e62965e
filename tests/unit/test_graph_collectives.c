/* SPDX-License-Identifier: Apache-2.0 */

/* Collectives captured into CUDA graphs, and their operations at each launch of the graph. */
#include "base/array.h"
#include "tests/unit/reported_graph.h"
#include "tests/unit/test.h"

/* Puts the node handle that the next call's kernel launch received; 0: the capture library did not
 * query the node. */
static void captured_as(struct made_ring *m, uint64_t handle)
{
	struct cap_node_record r = {.head = {.bytes = sizeof(r), .kind = CAP_NODE},
				    .op = CAP_NODE_UNTIMED,
				    .id = ring_id(m),
				    .handle = handle};

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

/* Checks the process's collectives, printed as "all_reduce 1024 ...", in order. */
static void ck_collectives(const struct recording *m, const char *wanted)
{
	char text[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < m->process->nccl.n_collectives; i++) {
		const struct rec_collective *c = &m->process->nccl.collectives[i];
		const struct rec_event *e = &m->process->events[c->event];

		ck_assert_int_eq(e->kind, FMT_COLLECTIVE);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %lld", i > 0 ? ", " : "",
				      fmt_string(m->names, c->op, NULL), (long long)c->bytes);
		for (uint32_t k = 0; k < c->n_messages; k++) {
			const struct fmt_message *p =
				&m->process->nccl.messages[c->first_message + k];

			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s%u",
					      p->receives ? "<" : ">", p->peer);
		}
	}
	ck_assert_str_eq(text, wanted);
}

static const char in_order[] = "all_reduce 1024, send_recv 256 >1 <1, all_reduce 256";

/* Node descriptions in the driver's order: reversed, or in capture order. */
static const struct reported_node backwards[] = {
	{KERNEL_NODE, 0, 0, 0, 1},
	{KERNEL_NODE, 3, 3, 1 << 2, 8},
	{KERNEL_NODE, 2, 2, 1 << 3, 8},
	{KERNEL_NODE, 1, 1, 1 << 0, 8},
};
static const struct reported_node as_captured[] = {
	{KERNEL_NODE, 0, 0, 0, 1},
	{KERNEL_NODE, 1, 1, 1 << 0, 8},
	{KERNEL_NODE, 2, 2, 1 << 1, 8},
	{KERNEL_NODE, 3, 3, 1 << 2, 8},
};

TEST(each_launch_has_the_collectives)
{
	static const struct {
		const struct reported_node *nodes;
		bool handles;
	} ways[] = {{backwards, true}, {as_captured, false}};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		scoped(recording_end) struct recording m;
		char twice[128];
		uint64_t id;

		capture_collectives(&m, ways[i].handles);
		instantiate(&m, ways[i].nodes, 4);
		for (int launch = 0; launch < 2; launch++) {
			id = ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
			ring_node_times(&m.ring, id, 4, 2000000 + 100000 * launch);
		}
		ring_look(&m.ring);
		snprintf(twice, sizeof(twice), "%s, %s", in_order, in_order);
		ck_collectives(&m, twice);
		ck_assert_uint_eq(m.process->counts.lost_collectives, 0);
		ck_assert_uint_eq(m.process->counts.launched_collectives, 6);
		ck_assert_uint_eq(m.process->counts.graph_collectives, 0);
	}
}

/* In the trace, ranks are matched in pairs at each launch, and collectives are still nodes of their
 * graphs. */
TEST(ranks_are_matched_at_each_launch)
{
	static const int64_t seqs[] = {0, 1, 2, 3, 4, 5};
	scoped(written_done) struct written w = {0};
	scoped(recording_end) struct recording m;
	struct rec_process *p[1];
	size_t seen = 0;
	uint64_t id;

	capture_collectives(&m, true);
	instantiate(&m, backwards, 4);
	for (int launch = 0; launch < 2; launch++) {
		id = ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
		ring_node_times(&m.ring, id, 4, 2000000 + 100000 * launch);
	}
	ring_look(&m.ring);
	p[0] = m.process;
	write_trace(p, 1, m.names, &w);
	ck_assert_uint_eq(w.result.collectives, 6);
	ck_assert_uint_eq(w.result.unmatched, 0);
	for (uint32_t k = 0; k < fmt_trace_rank(w.trace, 0)->n_slices; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
		const struct fmt_names *n = fmt_trace_names(w.trace);

		ck_assert_int_eq(fmt_slice_load(w.trace, 0, k, FMT_WANT_ALL, &s, NULL), 0);
		for (size_t i = 0; i < s->n_events; i++) {
			const struct fmt_event *e = &s->events[i];
			const struct fmt_template *template = fmt_template(n, e->template);
			uint32_t at;

			if (template->kind != FMT_COLLECTIVE)
				continue;
			ck_assert_uint_lt(seen, ARRAY_SIZE(seqs));
			ck_assert_int_eq(s->values[e->first_value + FMT_COLLECTIVE_SEQ],
					 seqs[seen]);
			ck_assert(fmt_template_varying(n, template, "graph.node", &at));
			ck_assert_int_eq(s->values[e->first_value + at], 3 - seen % 3);
			seen++;
		}
	}
	ck_assert_uint_eq(seen, 6);
}

/* If a graph launch is recorded as one operation, its collectives have no times and are counted. */
TEST(a_launch_recorded_as_one_operation)
{
	scoped(recording_end) struct recording m;
	const struct rec_event *e = NULL;

	capture_collectives(&m, false);
	instantiate(&m, NULL, 0);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_call(&m.ring, "cuGraphNodeSetEnabled", EXEC, 0xa03, 0);
	ring_look(&m.ring);
	ck_collectives(&m, "");
	ck_assert_uint_eq(m.process->counts.graph_collectives, 3);
	for (size_t i = 0; i < m.process->n_events; i++)
		if (FMT_IS_OP(m.process->events[i].kind))
			e = &m.process->events[i];
	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(argument(&m, e, "graph.collectives"), 3);
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

/* A graph within a graph within a third, launched as one operation or node by node. */
TEST(child_graphs)
{
	static const struct reported_node nodes[] = {
		{EMPTY_NODE, CAP_NODE_WHOLE, 0, 0, 0},
		{CHILD_NODE, CAP_NODE_WHOLE, 6, 1 << 2, 0},
		{CHILD_NODE, CAP_NODE_WHOLE, 5, 1 << 6, 0},
		{KERNEL_NODE, 0, 1, 1 << 0, 1},
		{KERNEL_NODE, 1, 2, 1 << 3, 8},
		{KERNEL_NODE, 2, 3, 1 << 4, 8},
		{KERNEL_NODE, 3, 4, 1 << 5, 8},
	};

	for (int is_told = 0; is_told < 2; is_told++) {
		scoped(recording_end) struct recording m;
		uint64_t id;

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
		id = ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
		ring_node_times(&m.ring, id, 4, 2000000);
		ring_look(&m.ring);
		ck_collectives(&m, is_told ? in_order : "");
		ck_assert_uint_eq(m.process->counts.lost_collectives, 0);
		ck_assert_uint_eq(m.process->counts.launched_collectives, 3);
		ck_assert_uint_eq(m.process->counts.graph_collectives, is_told ? 0 : 3);
	}
}

/* The driver reports nodes that do not include the collective's. */
static const struct {
	const char *what;
	struct reported_node nodes[4];
	uint32_t n;
	uint64_t lost;
} rows[] = {
	{"gone", {{KERNEL_NODE, 0, 0, 0, 1}}, 1, 3},
	{"others",
	 {{SET_NODE, 0, 0, 0, 0}, {SET_NODE, 1, 1, 1, 0}, {KERNEL_NODE, 2, 2, 2, 1}},
	 3,
	 2},
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
