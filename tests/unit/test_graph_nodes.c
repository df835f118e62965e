/* SPDX-License-Identifier: Apache-2.0 */

/* Graph nodes as the driver reports them, and graph launches with a time for each node. */
#include "base/array.h"
#include "tests/unit/reported_graph.h"
#include "tests/unit/test.h"

/* Checks an operation, printed as "NUMBER/TRACK AFTER start". */
static void ck_op(const struct recording *m, const struct rec_event *e, const char *wanted)
{
	int64_t after = argument(m, e, "graph.after");
	char text[80];

	snprintf(text, sizeof(text), "%lld/%lld %s +%lld", (long long)argument(m, e, "graph.node"),
		 (long long)m->process->tracks[e->track].number,
		 after > 0 ? fmt_string(m->names, (fmt_str)after, NULL) : "-",
		 (long long)e->duration_ns);
	ck_assert_str_eq(text, wanted);
}

static void ck_ops(const struct recording *m, const char *const *wanted, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < m->process->n_events; i++)
		if (FMT_IS_OP(m->process->events[i].kind)) {
			ck_assert_uint_lt(found, n);
			ck_op(m, &m->process->events[i], wanted[found++]);
		}
	ck_assert_uint_eq(found, n);
}

/* Records one launch of a graph, with the times of its first `n_times` operations. */
static void record_launch(struct recording *m, const struct reported_node *nodes, uint32_t n,
			  uint32_t n_times)
{
	uint64_t id;

	begin_with_graph(m);
	instantiate(m, nodes, n);
	id = ring_call(&m->ring, "cuGraphLaunch", EXEC, STREAM);
	ring_node_times(&m->ring, id, n_times, 2000000);
	ring_look(&m->ring);
}

/* A fork with two nodes and an empty node between them on one side, then a join. */
static const struct reported_node fork_and_join[] = {
	{KERNEL_NODE, 0, 0, 0, 1},
	{KERNEL_NODE, 1, 1, 1 << 0, 2},
	{EMPTY_NODE, CAP_NODE_WHOLE, 2, 1 << 1, 0},
	{KERNEL_NODE, 2, 3, 1 << 2, 3},
	{SET_NODE, 3, 4, 1 << 0, 0},
	{KERNEL_NODE, 4, 5, 1 << 3 | 1 << 4, 4},
	{KERNEL_NODE, 5, 6, 1 << 0, 5},
};

TEST(each_node_is_an_operation)
{
	static const char *const wanted[] = {
		"0/1 - +2000",	 "1/1 - +2000",	       "3/1 - +2000",	   "4/100001 [0] +2000",
		"5/1 [4] +2000", "6/200001 [0] +2000", "7/1 [4, 6] +2000",
	};
	scoped(recording_end) struct recording m;

	record_launch(&m, fork_and_join, ARRAY_SIZE(fork_and_join), 7);
	ck_ops(&m, wanted, ARRAY_SIZE(wanted));
	ck_assert_int_eq(m.process->counts.graphs_whole, 0);
	ck_assert_uint_eq(m.process->times.waits.n, 0);
}

/* A disabled node has no operation; its dependents wait for its dependencies. */
TEST(a_disabled_node_has_no_operation)
{
	static const char *const wanted[] = {
		"0/1 - +2000",	 "3/1 - +2000",	       "4/100001 [0] +2000",
		"5/1 [4] +2000", "6/200001 [0] +2000", "7/1 [4, 6] +2000",
	};
	scoped(recording_end) struct recording m;
	uint64_t id;

	begin_with_graph(&m);
	instantiate(&m, fork_and_join, ARRAY_SIZE(fork_and_join));
	ring_call(&m.ring, "cuGraphNodeSetEnabled", EXEC, 0xa01, 0);
	id = ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_node_times(&m.ring, id, 7, 2000000);
	ring_look(&m.ring);
	ck_ops(&m, wanted, ARRAY_SIZE(wanted));
	ck_assert_uint_eq(m.process->times.waits.n, 0);
	ck_assert_uint_eq(m.process->counts.graph_changes, 0);
}

/* Times that arrive before the launch was processed, and times of a launch without any. */
TEST(times_come_early_or_never)
{
	scoped(recording_end) struct recording m;
	uint64_t id;

	begin_with_graph(&m);
	instantiate(&m, fork_and_join, ARRAY_SIZE(fork_and_join));
	id = ring_id(&m.ring);
	ring_node_times(&m.ring, id, 7, 2000000);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_uint_eq(m.process->counts.ops, 14);
	for (size_t i = 0, op = 0; i < m.process->n_events; i++)
		if (FMT_IS_OP(m.process->events[i].kind))
			ck_assert_int_eq(m.process->events[i].duration_ns,
					 op++ < 7 ? 2000 : REC_NO_TIME);
}

/* A chain has one last node, so no record of its end is needed. */
TEST(the_end_of_a_chain_is_its_last_node)
{
	static const struct reported_node chain[] = {
		{SET_NODE, 0, 0, 0, 0},
		{HOST_NODE, CAP_NODE_WHOLE, 1, 1 << 0, 0},
		{KERNEL_NODE, 1, 2, 1 << 1, 1},
	};
	static const char *const wanted[] = {"0/1 - +2000", "2/1 - +2000"};
	scoped(recording_end) struct recording m;

	record_launch(&m, chain, ARRAY_SIZE(chain), 2);
	ck_ops(&m, wanted, ARRAY_SIZE(wanted));
	ck_assert_uint_eq(m.process->times.waits.n, 0);
}

/* Two roots start together, the first on the launch stream itself. */
TEST(roots_start_together)
{
	static const struct reported_node both[] = {
		{HOST_NODE, CAP_NODE_WHOLE, 0, 0, 0},
		{KERNEL_NODE, 0, 1, 1 << 0, 1},
		{KERNEL_NODE, 1, 2, 0, 2},
		{KERNEL_NODE, 2, 3, 0, 3},
	};
	static const char *const wanted[] = {"1/200001 [] +2000", "2/1 - +2000",
					     "3/100001 [] +2000", "4/1 [3, 1] +2000"};
	scoped(recording_end) struct recording m;

	record_launch(&m, both, ARRAY_SIZE(both), 4);
	ck_ops(&m, wanted, ARRAY_SIZE(wanted));
}

static struct rec_graph_id launched(struct recording *m)
{
	ring_look(&m->ring);
	return rec_graph_exec_version(m->process, 1);
}

/* A graph is what the driver reports at each instantiation or update. Nodes whose creation was not
 * recorded have handles; an identical report is the same version. */
TEST(the_last_report_defines_a_graph)
{
	struct reported_node nodes[] = {{KERNEL_NODE, CAP_NODE_UNTIMED, 0, 0, 4},
					{SET_NODE, CAP_NODE_UNTIMED, 1, 1, 0}};
	const struct kernel kernel = {.f = KERNEL, .grid = {6, 1, 1}, .block = {32, 1, 1}};
	scoped(recording_end) struct recording m;

	begin_with_graph(&m);
	instantiate(&m, nodes, 2);
	ck_assert_uint_eq(launched(&m).version, 0);
	nodes[0].grid = 5;
	ring_graph(&m, nodes, 2);
	ring_call(&m.ring, "cuGraphExecUpdate_v2", EXEC, GRAPH, 0);
	ck_assert_uint_eq(launched(&m).version, 1);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &kernel, sizeof(kernel));
	ring_call(&m.ring, "cuGraphExecKernelNodeSetParams_v2", EXEC, 0xa00, 0x100);
	ck_assert_uint_eq(launched(&m).version, 2);
	nodes[0].grid = 4;
	ring_graph(&m, nodes, 2);
	ring_call(&m.ring, "cuGraphExecUpdate_v2", EXEC, GRAPH, 0);
	ck_assert_uint_eq(launched(&m).version, 0);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_uint_eq(m.process->counts.ops, 1);
	ck_assert_uint_eq(m.process->counts.graph_changes, 0);
	ck_assert_uint_eq(m.process->counts.graphs_whole, 0);
}

/* Ways in which reported nodes do not fit their graph. */
static const struct {
	const char *what;
	struct reported_node nodes[3];
	uint32_t n, ops;
	uint64_t whole;
} rows[] = {
	{"requested, and refused",
	 {{KERNEL_NODE, CAP_NODE_WHOLE, 0, 0, 1}, {EMPTY_NODE, CAP_NODE_WHOLE, 1, 1, 0}},
	 2,
	 1,
	 1},
	{"only nodes without duration", {{EMPTY_NODE, CAP_NODE_WHOLE, 0, 0, 0}}, 1, 1, 0},
	{"a place twice", {{KERNEL_NODE, 0, 0, 0, 1}, {KERNEL_NODE, 1, 0, 1, 1}}, 2, 1, 0},
	{"invalid node index",
	 {{KERNEL_NODE, 0, 9, 0, 1}, {KERNEL_NODE, 1, 7, 1, 1}, {KERNEL_NODE, 2, 1, 3, 1}},
	 3,
	 1,
	 0},
	{"no such operation", {{KERNEL_NODE, 7, 0, 0, 1}, {KERNEL_NODE, 0, 1, 0, 1}}, 2, 1, 0},
	{"no such node", {{KERNEL_NODE, 0, 0, 1 << 7, 1}, {KERNEL_NODE, 1, 1, 3, 1}}, 2, 2, 0},
};

TEST_ROWS(inconsistent_nodes, rows)
{
	scoped(recording_end) struct recording m;

	begin_with_graph(&m);
	instantiate(&m, row->nodes, row->n);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_msg(m.process->counts.ops == row->ops, "%s: %llu", row->what,
		      (unsigned long long)m.process->counts.ops);
	ck_assert_msg(m.process->counts.graphs_whole == row->whole, "%s", row->what);
}

/* If the ring had no space for some nodes, the graph is reconstructed from calls. If the nodes were
 * reported twice, the last report counts. */
TEST(incomplete_and_repeated_reports)
{
	struct reported_node nodes[] = {{KERNEL_NODE, 0, 0, 0, 4}, {KERNEL_NODE, 1, 1, 1, 4}};
	scoped(recording_end) struct recording m;

	begin_with_graph(&m);
	ring_node(&m.ring, &nodes[0], 0, 2);
	instantiate(&m, NULL, 0);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_uint_eq(m.process->counts.ops, 1);
	ring_graph(&m, nodes, 2);
	nodes[0].op = nodes[1].op = CAP_NODE_WHOLE;
	instantiate(&m, nodes, 2);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_uint_eq(m.process->counts.ops, 2);
	ck_assert_uint_eq(m.process->counts.graphs_whole, 1);
}
