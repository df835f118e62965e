/* SPDX-License-Identifier: Apache-2.0 */

/* Graph nodes as the driver reports them. */
#include "tests/unit/reported_graph.h"
#include "tests/unit/test.h"

static struct rec_graph_id launched(struct recording *m)
{
	ring_look(&m->ring);
	return rec_graph_exec_version(m->process, 1);
}

/* A graph is what the driver reports at each instantiation or update. Nodes whose creation was not
 * recorded have handles; an identical report is the same version. */
TEST(the_last_report_defines_a_graph)
{
	struct reported_node nodes[] = {{KERNEL_NODE, 0, 4}, {SET_NODE, 1, 0}};
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
}

/* Returns the edges of the first graph, as JSON: "[], [0]". */
static void ck_edges(const struct recording *m, const char *wanted)
{
	scoped(text_done) struct text t = {0}, edges = {0};
	const char *at;

	rec_graphs_json(m->process, &t);
	text_char(&t, 0);
	for (at = strstr(t.data, "\"after\": "); at; at = strstr(at + 1, "\"after\": ")) {
		if (edges.len > 0)
			text_str(&edges, ", ");
		text_bytes(&edges, at + 9, strcspn(at + 9, "]") + 1);
	}
	text_char(&edges, 0);
	ck_assert_str_eq(edges.data, wanted);
}

/* If the ring had no space for some nodes, the graph is reconstructed from calls. If the nodes were
 * reported twice, the last report counts. Invalid dependencies are dropped. */
TEST(incomplete_and_repeated_reports)
{
	struct reported_node nodes[] = {{KERNEL_NODE, 0, 4}, {KERNEL_NODE, 0, 4}};
	scoped(recording_end) struct recording m;

	begin_with_graph(&m);
	ring_node(&m.ring, &nodes[0], 0, 2);
	instantiate(&m, NULL, 0);
	ring_look(&m.ring);
	ck_edges(&m, "");
	ring_graph(&m, nodes, 2);
	nodes[1].after = 1 | 1 << 7;
	instantiate(&m, nodes, 2);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m.ring);
	ck_assert_uint_eq(m.process->counts.ops, 1);
	ck_edges(&m, "[], [0]");
}
