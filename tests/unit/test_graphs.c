/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/reported_graph.h"
#include "tests/unit/test.h"

enum { OTHER = 0x2200, FORKED = 0x4100, JOINED = 0x4200 };

static void begin_with_other_stream(struct recording *m)
{
	recording_begin(m, 0);
	ring_out(&m->ring, 0, OTHER);
	ring_call(&m->ring, "cuStreamCreate", 0x100, 1);
}

/* Compares the graphs without the calls and handles of their nodes. */
static void ck_graphs(struct recording *m, const char *wanted)
{
	scoped(text_done) struct text t = {0};
	char *calls;

	ring_look(&m->ring);
	rec_graphs_json(m->process, &t);
	text_char(&t, 0);
	while ((calls = strstr(t.data, ", \"calls\": "))) {
		const char *end = strchr(calls, '}');

		memmove(calls, end, strlen(end) + 1);
	}
	ck_assert_str_eq(t.data, wanted);
}

/* A fork, work on both branches, and a join. */
static void capture_fork_and_join(struct recording *m, int32_t result)
{
	struct made_ring *r = &m->ring;
	const uint64_t end[] = {STREAM, 0x100};

	ring_call(r, "cuStreamBeginCapture_v2", STREAM, 0);
	ring_launch(r, KERNEL, STREAM);
	ring_call(r, "cuEventRecord", FORKED, STREAM);
	ring_call(r, "cuStreamWaitEvent", OTHER, FORKED, 0);
	ring_call(r, "cuMemsetD32Async", 0x100, 0, 16, OTHER);
	ring_launch(r, KERNEL, STREAM);
	ring_call(r, "cuEventRecord", JOINED, OTHER);
	ring_call(r, "cuStreamWaitEvent", STREAM, JOINED, 0);
	ring_call(r, "cuLaunchHostFunc", STREAM, 0x1, 0x2);
	if (result == 0)
		ring_out(r, 1, GRAPH);
	ring_call_at(r, "cuStreamEndCapture", 0, result, end, 2);
}

#define NODE(name)                                                                                 \
	"{\"kind\": \"kernel\", \"name\": \"" name                                                 \
	"\", \"grid\": [4, 1, 1], \"block\": [32, 1, 1], "

TEST(captures_record_nodes_and_dependencies)
{
	scoped(recording_end) struct recording m;

	begin_with_other_stream(&m);
	capture_fork_and_join(&m, 0);
	ck_graphs(&m, "[{\"graph\": 1, \"nodes\": [" NODE(
			      "step") "\"after\": []}, "
				      "{\"kind\": \"memset\", \"name\": \"Memset (Device)\", "
				      "\"bytes\": 64, \"after\": [0]}, " NODE(
					      "step") "\"after\": [0]}, {\"kind\": \"host\", "
						      "\"after\": [1, 2]}]}]");
	ck_assert_uint_eq(m.process->counts.ops, 0);

	/* Both streams no longer capture. */
	ring_launch(&m.ring, KERNEL, STREAM);
	ring_launch(&m.ring, KERNEL, OTHER);
	ring_look(&m.ring);
	ck_assert_uint_eq(m.process->counts.ops, 2);
}

TEST(a_failed_capture_ends)
{
	scoped(recording_end) struct recording m;

	begin_with_other_stream(&m);
	capture_fork_and_join(&m, 901);
	ring_launch(&m.ring, KERNEL, STREAM);
	ring_launch(&m.ring, KERNEL, OTHER);
	ck_graphs(&m, "");
	ck_assert_uint_eq(m.process->counts.ops, 2);
}

#define SET "{\"kind\": \"memset\", \"name\": \"Memset (Device)\", "

static void add_empty(struct recording *m, uint64_t node, const uint64_t *after, uint64_t n)
{
	ring_out(&m->ring, 0, node);
	if (n > 0)
		ring_blob(&m->ring, 2, CAP_BLOB_BEFORE, after, (uint32_t)(8 * n));
	ring_call(&m->ring, "cuGraphAddEmptyNode", 0x100, GRAPH, 0x200, n);
}

/* CUDA_MEMSET_NODE_PARAMS. */
struct set {
	uint64_t dst, pitch;
	uint32_t value, element;
	uint64_t width, height;
};

static void add_memset(struct recording *m, uint64_t node, const struct set *set)
{
	ring_out(&m->ring, 0, node);
	ring_blob(&m->ring, 4, CAP_BLOB_BEFORE, set, sizeof(*set));
	ring_call(&m->ring, "cuGraphAddMemsetNode", 0x100, GRAPH, 0, 0, 0x300, CONTEXT);
}

TEST(nodes_are_added_by_hand)
{
	scoped(recording_end) struct recording m;
	const uint64_t a = 0xa0, b = 0xb0, c = 0xc0, both[] = {a, b};
	const struct set set = {0x100, 0, 7, 4, 25, 2};
	const struct kernel kernel = {.f = KERNEL, .grid = {4, 1, 1}, .block = {32, 1, 1}};

	begin_with_graph(&m);
	add_empty(&m, a, NULL, 0);
	add_memset(&m, b, &set);
	ring_out(&m.ring, 0, c);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, both, sizeof(both));
	ring_blob(&m.ring, 4, CAP_BLOB_BEFORE, &kernel, sizeof(kernel));
	ring_call(&m.ring, "cuGraphAddKernelNode_v2", 0x100, GRAPH, 0x200, 2, 0x300);
	ring_blob(&m.ring, 1, CAP_BLOB_BEFORE, &a, 8);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &b, 8);
	ring_call(&m.ring, "cuGraphAddDependencies", GRAPH, 0x200, 0x300, 1);
	ring_blob(&m.ring, 1, CAP_BLOB_BEFORE, &a, 8);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &c, 8);
	ring_call(&m.ring, "cuGraphRemoveDependencies", GRAPH, 0x200, 0x300, 1);
	instantiate(&m, NULL, 0);
	ring_call(&m.ring, "cuGraphLaunch", EXEC, STREAM);
	ck_graphs(&m, "[{\"graph\": 1, \"nodes\": [{\"kind\": \"empty\", \"after\": []}, "
		      "" SET "\"bytes\": 200, \"after\": [0]}, " NODE("step") "\"after\": [1]}]}]");
	ck_assert_uint_eq(m.process->counts.ops, 1);
	ck_assert_uint_eq(rec_graph_exec_version(m.process, 1).graph, 1);
	ck_assert_uint_eq(rec_graph_exec_version(m.process, 2).graph, 0);
}

TEST(clones_have_the_same_nodes)
{
	scoped(recording_end) struct recording m;

	begin_with_graph(&m);
	add_empty(&m, 0xa0, NULL, 0);
	add_empty(&m, 0xb0, (const uint64_t[]){0xa0, 0xdead}, 2);
	ring_out(&m.ring, 0, GRAPH + 16);
	ring_call(&m.ring, "cuGraphClone", 0x100, GRAPH);
	ck_graphs(&m,
		  "[{\"graph\": 1, \"nodes\": [{\"kind\": \"empty\", \"after\": []}, {\"kind\": "
		  "\"empty\", \"after\": [0]}]}, "
		  "{\"graph\": 2, \"nodes\": [{\"kind\": \"empty\", \"after\": []}, {\"kind\": "
		  "\"empty\", \"after\": [0]}]}]");
}

TEST(changed_nodes)
{
	scoped(recording_end) struct recording m;
	struct set set = {0x100, 0, 7, 4, 25, 2};

	begin_with_graph(&m);
	add_memset(&m, 0xa0, &set);
	set.width = 30;
	ring_blob(&m.ring, 1, CAP_BLOB_BEFORE, &set, sizeof(set));
	ring_call(&m.ring, "cuGraphMemsetNodeSetParams", 0xa0, 0x300);
	ck_graphs(&m, "[{\"graph\": 1, \"nodes\": [" SET "\"bytes\": 240, "
		      "\"after\": []}]}]");
}

/* Returns the graph version of the last launch. */
static int64_t last_launched_version(struct recording *m)
{
	const struct rec_process *p = m->process;
	int64_t version = 0;

	ring_call(&m->ring, "cuGraphLaunch", EXEC, STREAM);
	ring_look(&m->ring);
	fmt_template_const(m->names, fmt_template(m->names, p->events[p->n_events - 1].template),
			   "graph.version", &version);
	return version;
}

static void set_width(struct recording *m, struct set *set, uint64_t width)
{
	set->width = width;
	ring_blob(&m->ring, 2, CAP_BLOB_BEFORE, set, sizeof(*set));
	ring_call(&m->ring, "cuGraphExecMemsetNodeSetParams", EXEC, 0xa0, 0x300, CONTEXT);
}

/* Changing an executable graph does not change its source graph; each launch refers to the version
 * launched. */
TEST(changed_executable_graphs)
{
	scoped(recording_end) struct recording m;
	struct set set = {0x100, 0, 7, 4, 25, 2};

	begin_with_graph(&m);
	add_memset(&m, 0xa0, &set);
	add_empty(&m, 0xb0, NULL, 0);
	instantiate(&m, NULL, 0);
	ck_assert_int_eq(last_launched_version(&m), 0);
	set_width(&m, &set, 40);
	ck_assert_int_eq(last_launched_version(&m), 1);
	set_width(&m, &set, 25);
	ck_assert_int_eq(last_launched_version(&m), 0);
	set_width(&m, &set, 40);
	ring_call(&m.ring, "cuGraphNodeSetEnabled", EXEC, 0xb0, 0);
	ck_assert_int_eq(last_launched_version(&m), 2);
	ck_assert_uint_eq(m.process->counts.graph_changes, 0);
	/* A change that cannot be applied: to an unknown node. */
	set_width(&m, &set, 41);
	ring_call(&m.ring, "cuGraphNodeSetEnabled", EXEC, 0xdead, 0);
	ck_assert_int_eq(last_launched_version(&m), 3);
	ck_assert_uint_eq(m.process->counts.graph_changes, 1);
	ck_graphs(&m, "[{\"graph\": 1, \"nodes\": ["
		      "" SET "\"bytes\": 200, \"after\": []}, "
		      "{\"kind\": \"empty\", \"after\": []}]}, "
		      "{\"graph\": 1, \"version\": 1, \"nodes\": ["
		      "" SET "\"bytes\": 320, \"after\": []}, "
		      "{\"kind\": \"empty\", \"after\": []}]}, "
		      "{\"graph\": 1, \"version\": 2, \"nodes\": ["
		      "" SET "\"bytes\": 320, \"after\": []}, "
		      "{\"kind\": \"empty\", \"enabled\": false, \"after\": []}]}, "
		      "{\"graph\": 1, \"version\": 3, \"nodes\": ["
		      "" SET "\"bytes\": 328, \"after\": []}, "
		      "{\"kind\": \"empty\", \"enabled\": false, \"after\": []}]}]");
}

static void capture_info(struct recording *m)
{
	ring_out(&m->ring, 3, GRAPH);
	ring_call(&m->ring, "cuStreamGetCaptureInfo_v2", STREAM, 0x1, 0x2, 0x3, 0x4, 0x5);
}

static void update(struct recording *m, uint64_t node, uint32_t flags)
{
	ring_blob(&m->ring, 1, CAP_BLOB_BEFORE, &node, sizeof(node));
	ring_call(&m->ring, "cuStreamUpdateCaptureDependencies", STREAM, 0x200, 1, flags);
}

/* A node added by hand during a capture: the stream continues after it, first beside its earlier
 * dependencies, then instead of them. */
TEST(nodes_added_during_a_capture)
{
	scoped(recording_end) struct recording m;

	begin_with_other_stream(&m);
	ring_call(&m.ring, "cuStreamBeginCapture_v2", STREAM, 0);
	ring_launch(&m.ring, KERNEL, STREAM);
	capture_info(&m);
	add_empty(&m, 0xa0, NULL, 0);
	update(&m, 0xa0, 0);
	ring_launch(&m.ring, KERNEL, STREAM);
	add_empty(&m, 0xb0, NULL, 0);
	update(&m, 0xb0, 1);
	ring_launch(&m.ring, KERNEL, STREAM);
	ring_out(&m.ring, 1, GRAPH);
	ring_call(&m.ring, "cuStreamEndCapture", STREAM, 0x100);
	ck_graphs(&m, "[{\"graph\": 1, \"nodes\": [" NODE(
			      "step") "\"after\": []}, "
				      "{\"kind\": \"empty\", \"after\": []}, " NODE(
					      "step") "\"after\": [0, 1]}, "
						      "{\"kind\": \"empty\", \"after\": []}, " NODE(
							      "step") "\"after\": [3]}]}]");
	ck_assert_uint_eq(rec_handles_unknown(m.process->handles), 0);
}

/* Nodes added to a failed capture do not make a graph. A capture into an existing graph begins
 * after the given nodes. */
TEST(captures_into_an_existing_graph)
{
	scoped(recording_end) struct recording m;
	const uint64_t end[] = {STREAM, 0x100}, a = 0xa0;

	begin_with_other_stream(&m);
	ring_call(&m.ring, "cuStreamBeginCapture_v2", STREAM, 0);
	capture_info(&m);
	ring_call_at(&m.ring, "cuStreamEndCapture", 0, 901, end, 2);
	ck_graphs(&m, "");
	ring_out(&m.ring, 0, GRAPH + 16);
	ring_call(&m.ring, "cuGraphCreate", 0x100, 0);
	ring_out(&m.ring, 0, a);
	ring_call(&m.ring, "cuGraphAddEmptyNode", 0x100, GRAPH + 16, 0, 0);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &a, sizeof(a));
	ring_call(&m.ring, "cuStreamBeginCaptureToGraph", STREAM, GRAPH + 16, 0x200, 0, 1, 0);
	ring_launch(&m.ring, KERNEL, STREAM);
	ring_out(&m.ring, 1, GRAPH + 16);
	ring_call(&m.ring, "cuStreamEndCapture", STREAM, 0x100);
	ring_out(&m.ring, 0, EXEC);
	ring_call(&m.ring, "cuGraphInstantiateWithFlags", 0x100, GRAPH + 16, 0);
	ck_graphs(&m, "[{\"graph\": 2, \"nodes\": [{\"kind\": \"empty\", \"after\": []}, " NODE(
			      "step") "\"after\": [0]}]}]");
	ck_assert_uint_eq(rec_graph_exec_version(m.process, 1).graph, 2);
}

/* A change of an argument alone, such as the value of a fill, makes a version too; nodes name the
 * calls. */
TEST(nodes_name_the_calls_that_say_what_they_do)
{
	scoped(recording_end) struct recording m;
	scoped(text_done) struct text t = {0}, wanted = {0};
	struct set set = {0x100, 0, 7, 4, 25, 2};
	uint64_t made, changed;

	begin_with_graph(&m);
	made = 1 + ring_id(&m.ring);
	add_memset(&m, 0xa0, &set);
	instantiate(&m, NULL, 0);
	set.value = 8;
	changed = 1 + ring_id(&m.ring);
	set_width(&m, &set, 25);
	ck_assert_int_eq(last_launched_version(&m), 1);
	set.value = 7;
	set_width(&m, &set, 25);
	ck_assert_int_eq(last_launched_version(&m), 0);
	rec_graphs_json(m.process, &t);
	text_char(&t, 0);
	text_printf(&wanted, "\"calls\": [%llu], \"handles\": [160]}, ", (unsigned long long)made);
	ck_assert_ptr_nonnull(strstr(t.data, wanted.data));
	wanted.len = 0;
	text_printf(&wanted, "\"calls\": [%llu], \"handles\": [160]}]",
		    (unsigned long long)changed);
	ck_assert_ptr_nonnull(strstr(t.data, wanted.data));
}
