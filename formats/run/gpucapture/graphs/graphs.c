/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/graphs/graphs.h"

#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"

static void free_graphs(struct rec_graphs *g)
{
	for (size_t i = 0; g && i < g->n; i++) {
		rec_graph_clear(&g->graphs[i]);
	}
	if (g) {
		free(g->graphs);
		free(g->waiting);
		free(g->execs);
		free(g->collectives);
		free(g->messages);
	}
	free(g);
}

void rec_graph_clear(struct rec_graph *g)
{
	free(take(g->nodes));
	free(take(g->edges));
	g->n_nodes = g->nodes_cap = g->n_edges = g->edges_cap = 0;
	g->held = 0;
}

static struct rec_graphs *graphs_of(const struct rec_call *c)
{
	if (!c->process->graphs) {
		c->process->graphs = calloc(1, sizeof(*c->process->graphs));
		c->process->free_graphs = free_graphs;
	}
	return c->process->graphs;
}

struct rec_graph *rec_graph_new(struct rec_graphs *all, uint32_t number)
{
	if (array_reserve(&all->graphs, all->n + 1, &all->cap) < 0)
		return NULL;
	all->graphs[all->n] = (struct rec_graph){.number = number};
	return &all->graphs[all->n++];
}

/* Returns the graph of the handle; NULL if out of memory. */
struct rec_graph *rec_graph_get(struct rec_call *c, uint64_t handle)
{
	struct rec_graphs *all = graphs_of(c);
	const struct rec_object *t =
		rec_handles_get(c->process->handles, API_MEANING_GRAPH, handle);

	if (!all || !t)
		return NULL;
	for (size_t i = all->n; i-- > 0;)
		if (all->graphs[i].number == t->number && !all->graphs[i].is_version)
			return &all->graphs[i];
	return rec_graph_new(all, t->number);
}

int rec_graph_add_edge(struct rec_graph *g, uint32_t from, uint32_t to)
{
	if (array_reserve(&g->edges, g->n_edges + 1, &g->edges_cap) < 0)
		return -ENOMEM;
	g->edges[g->n_edges++] = (struct rec_graph_edge){from, to};
	return 0;
}

int rec_graph_add_node(struct rec_graph *g, const struct rec_node *node, uint64_t handle)
{
	if (g->n_nodes >= UINT32_MAX || array_reserve(&g->nodes, g->n_nodes + 1, &g->nodes_cap) < 0)
		return -ENOMEM;
	g->nodes[g->n_nodes++] = (struct rec_graph_node){.node = *node, .handle = handle};
	return 0;
}

/* ---- captured */

static int add_waiting(struct rec_graphs *all, const struct rec_object *t, uint32_t node)
{
	for (size_t i = 0; i < all->n_waiting; i++)
		if (all->waiting[i].handle == t->handle && all->waiting[i].kind == t->kind &&
		    all->waiting[i].node == node)
			return 0;
	if (array_reserve(&all->waiting, all->n_waiting + 1, &all->waiting_cap) < 0)
		return -ENOMEM;
	all->waiting[all->n_waiting++] = (struct rec_graph_capture_dep){t->handle, t->kind, node};
	return 0;
}

static void drop_waiting(struct rec_graphs *all, const struct rec_object *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->n_waiting; i++)
		if (all->waiting[i].handle != t->handle || all->waiting[i].kind != t->kind)
			all->waiting[kept++] = all->waiting[i];
	all->n_waiting = kept;
}

/* Returns the graph that the stream or event is captured into. */
static struct rec_graph *captured_into(const struct rec_call *c, const struct rec_object *t)
{
	struct rec_graphs *all = graphs_of(c);

	return all && t->capturing > 0 && t->capturing <= all->n ? &all->graphs[t->capturing - 1]
								 : NULL;
}

/* Returns the handle of a captured node, if the capture library queried it. */
static uint64_t reported_handle(const struct rec_call *c)
{
	for (size_t part = 0; part < ARRAY_SIZE(c->records); part++)
		for (size_t at = 0; at < c->records[part].bytes;) {
			const struct cap_node_record *r = (const void *)(c->records[part].at + at);

			at += r->head.bytes;
			if (r->head.kind == CAP_NODE && r->id == c->record->id)
				return r->handle;
		}
	return 0;
}

int rec_graph_add_captured(struct rec_call *c, const struct rec_object *stream,
			   const struct rec_node *node, struct rec_graph_node_ref *ret)
{
	struct rec_graph *g = captured_into(c, stream);
	struct rec_graphs *all = c->process->graphs;
	int r = g ? rec_graph_add_node(g, node, reported_handle(c)) : 0;

	rec_call_keep_in_prologue(c);
	if (!g || r < 0)
		return r;
	rec_graph_set_source(c, &g->nodes[g->n_nodes - 1].node);
	for (size_t i = 0; i < all->n_waiting && r == 0; i++)
		if (all->waiting[i].handle == stream->handle &&
		    all->waiting[i].kind == stream->kind)
			r = rec_graph_add_edge(g, all->waiting[i].node, (uint32_t)g->n_nodes - 1);
	drop_waiting(all, stream);
	if (ret)
		*ret = (struct rec_graph_node_ref){(uint32_t)(g - all->graphs),
						   (uint32_t)g->n_nodes - 1};
	return r < 0 ? r : add_waiting(all, stream, (uint32_t)g->n_nodes - 1);
}

int rec_graph_add_wait(struct rec_call *c, const struct rec_object *from,
		       const struct rec_object *to)
{
	struct rec_graphs *all = graphs_of(c);
	int r = 0;

	rec_call_keep_in_prologue(c);
	if (!all)
		return -ENOMEM;
	if (to->kind == 1 + API_MEANING_EVENT)
		drop_waiting(all, to);
	for (size_t i = 0, n = all->n_waiting; i < n && r == 0; i++)
		if (all->waiting[i].handle == from->handle && all->waiting[i].kind == from->kind)
			r = add_waiting(all, to, all->waiting[i].node);
	return r;
}

/* Makes the stream wait for the nodes that the call lists. With `anew` drops its other
 * dependencies, unless a listed node is unknown: it may be one of them. */
static int wait_for_listed(struct rec_call *c, const struct rec_object *stream, bool anew)
{
	const struct rec_graph *g = captured_into(c, stream);
	struct rec_graphs *all = c->process->graphs;
	uint32_t node;
	int known, r = 0;

	for (size_t i = 0; anew && rec_graph_node_at(c, g, "dependencies", i, &node, &known); i++)
		anew = known;
	if (anew)
		drop_waiting(all, stream);
	for (size_t i = 0; r == 0 && rec_graph_node_at(c, g, "dependencies", i, &node, &known); i++)
		r = known ? add_waiting(all, stream, node) : 0;
	return r;
}

enum { SET_DEPENDENCIES = 1 };

static int update_dependencies(struct rec_call *c)
{
	const struct rec_object *stream = rec_call_stream(c);

	if (!stream || !stream->capturing)
		return stream ? 0 : -ENOMEM;
	return wait_for_listed(c, stream, rec_call_value(c, "flags", 0) & SET_DEPENDENCIES);
}

/* The graph can be added to by hand before its capture ends. */
static int capture_info(struct rec_call *c)
{
	const struct rec_object *stream = rec_call_stream(c), *made;
	struct rec_graph *g = stream ? captured_into(c, stream) : NULL;
	uint64_t handle;

	if (!g || g->number != 0 ||
	    !rec_blob_number(rec_call_blob(c, "graph_out", CAP_BLOB_AFTER), 0, 8, &handle) ||
	    !handle)
		return stream ? 0 : -ENOMEM;
	made = rec_handles_find(c->process->handles, API_MEANING_GRAPH, handle);
	if (!made)
		made = rec_handles_add(c->process->handles, API_MEANING_GRAPH, handle);
	g->number = made ? made->number : 0;
	return made ? 0 : -ENOMEM;
}

static int begin_capture(struct rec_call *c)
{
	uint64_t handle = (uint64_t)rec_call_value(c, "hGraph", 0);
	struct rec_graphs *all = graphs_of(c);
	struct rec_object *stream = rec_call_stream(c);
	struct rec_graph *g;

	if (!all || !stream)
		return -ENOMEM;
	drop_waiting(all, stream);
	g = handle ? rec_graph_get(c, handle) : rec_graph_new(all, 0);
	stream = rec_call_stream(c);
	if (!g || !stream)
		return -ENOMEM;
	g->captured = !handle;
	stream->capturing = (uint32_t)(g - all->graphs) + 1;
	return wait_for_listed(c, stream, true);
}

struct ending {
	struct rec_graphs *all;
	uint32_t capture;
};

/* Removes a stream or event from the ended capture. */
static void leave_capture(struct rec_object *t, void *context)
{
	const struct ending *e = context;

	if (t->capturing != e->capture)
		return;
	t->capturing = 0;
	drop_waiting(e->all, t);
}

static int end_capture(struct rec_call *c)
{
	const struct rec_object *stream = rec_call_stream(c), *made;
	const struct rec_blob *b = rec_call_blob(c, "phGraph", CAP_BLOB_AFTER);
	struct ending e = {c->process->graphs, stream ? stream->capturing : 0};
	struct rec_graph *g = stream ? captured_into(c, stream) : NULL;
	uint64_t handle;

	if (!g)
		return stream ? 0 : -ENOMEM;
	if (c->record->result != 0 && g->captured) {
		g->number = 0;
	} else if (rec_blob_number(b, 0, 8, &handle) && handle && g->number == 0) {
		made = rec_handles_get(c->process->handles, API_MEANING_GRAPH, handle);
		if (!made)
			return -ENOMEM;
		g->number = made->number;
	}
	rec_handles_for_each(c->process->handles, leave_capture, &e);
	return 0;
}

/* ---- graphs of graphs */

int rec_graph_copy(const struct rec_graph *from, struct rec_graph *to, bool handles)
{
	int r = 0;

	for (size_t i = 0; i < from->n_nodes && r == 0; i++) {
		r = rec_graph_add_node(to, &from->nodes[i].node,
				       handles ? from->nodes[i].handle : 0);
		if (r == 0)
			to->nodes[i].child = from->nodes[i].child;
	}
	for (size_t i = 0; i < from->n_edges && r == 0; i++)
		r = rec_graph_add_edge(to, from->edges[i].from, from->edges[i].to);
	return r;
}

static int clone_graph(struct rec_call *c)
{
	uint64_t handle;
	const struct rec_graph *from;
	struct rec_graph *to;
	size_t at;

	if (!rec_blob_number(rec_call_blob(c, "phGraphClone", CAP_BLOB_AFTER), 0, 8, &handle))
		return 0;
	from = rec_graph_get(c, (uint64_t)rec_call_value(c, "originalGraph", 0));
	at = from ? (size_t)(from - c->process->graphs->graphs) : 0;
	to = from ? rec_graph_get(c, handle) : NULL;
	if (!to)
		return -ENOMEM;
	return rec_graph_copy(&c->process->graphs->graphs[at], to, false);
}

/* Finds or adds an executable graph; an updated one exists already. */
static struct rec_graph_exec *exec_of(struct rec_call *c, uint64_t handle)
{
	struct rec_graphs *all = graphs_of(c);
	const struct rec_object *t =
		rec_handles_get(c->process->handles, API_MEANING_GRAPH_EXEC, handle);
	struct rec_graph_exec *e = t ? rec_graph_find_exec(c->process, t->number) : NULL;

	if (e || !t || array_reserve(&all->execs, all->n_execs + 1, &all->execs_cap) < 0)
		return e;
	e = &all->execs[all->n_execs++];
	*e = (struct rec_graph_exec){.number = t->number};
	return e;
}

static int instantiate_graph(struct rec_call *c, uint64_t handle, bool anew)
{
	struct rec_graphs *all = graphs_of(c);
	struct rec_graph *g = rec_graph_get(c, (uint64_t)rec_call_value(c, "hGraph", 0));
	struct rec_graph_exec *e = g ? exec_of(c, handle) : NULL;
	int r;

	if (!e)
		return -ENOMEM;
	r = rec_graph_read_report(c, g);
	if (r < 0)
		return r;
	e->current = (struct rec_graph_id){g->number, 0};
	r = rec_graph_add_version(all, (size_t)(g - all->graphs), &e->current.version);
	if (anew)
		e->made = e->current;
	c->process->counts.graph_changes += r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

/* Nodes that are not operations. */
static int captured_call(struct rec_call *c)
{
	const struct rec_node node = {
		.kind = c->api->class == API_CLASS_HOST_CALL   ? "host"
			: c->api->class == API_CLASS_MEMORY_OP ? "batch_mem_op"
			: c->api->class == API_CLASS_ALLOC     ? "mem_alloc"
							       : "mem_free",
		.bytes = c->api->class == API_CLASS_ALLOC ? rec_call_value(c, "bytesize", -1) : -1};
	const struct rec_object *stream;

	if (rec_call_arg(c, "hStream") < 0)
		return 0;
	stream = rec_call_stream(c);
	return !stream		   ? -ENOMEM
	       : stream->capturing ? rec_graph_add_captured(c, stream, &node, NULL)
				   : 0;
}

static int by_name(struct rec_call *c)
{
	uint64_t exec;

	if (rec_call_is(c, "cuGraphClone"))
		return clone_graph(c);
	if (rec_call_is(c, "cuGraphAddDependencies") || rec_call_is(c, "cuGraphRemoveDependencies"))
		return rec_graph_change_edges(c, rec_call_is(c, "cuGraphAddDependencies"));
	if (rec_call_is(c, "cuStreamUpdateCaptureDependencies"))
		return update_dependencies(c);
	if (rec_call_is(c, "cuStreamGetCaptureInfo"))
		return capture_info(c);
	if (rec_call_arg(c, "hNode") == 0 && strstr(c->name, "NodeSetParams") && c->process->graphs)
		rec_graph_change_node(c, c->process->graphs->graphs, c->process->graphs->n);
	if (strncmp(c->name, "cuGraphExec", 11) == 0 && rec_call_arg(c, "hNode") == 1)
		return rec_graph_change_exec(c);
	if (rec_call_is(c, "cuGraphNodeSetEnabled"))
		return rec_graph_change_exec(c);
	if (rec_call_is(c, "cuGraphExecUpdate"))
		return instantiate_graph(c, (uint64_t)rec_call_value(c, "hGraphExec", 0), false);
	if (strncmp(c->name, "cuGraphInstantiate", 18) == 0 &&
	    rec_blob_number(rec_call_blob(c, "phGraphExec", CAP_BLOB_AFTER), 0, 8, &exec))
		return instantiate_graph(c, exec, true);
	return 0;
}

int rec_call_update_graphs(struct rec_call *c)
{
	int32_t result = c->record->result;

	if (!c->api || c->api->library != API_LIBRARY_CUDA)
		return 0;
	if (c->api->class == API_CLASS_CAPTURE_END && api_capture_is_over(result))
		return end_capture(c);
	if (result != 0)
		return 0;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_CAPTURE_BEGIN:
		return begin_capture(c);
	case API_CLASS_GRAPH_NODE:
		return rec_graph_add_api_node(c);
	case API_CLASS_HOST_CALL:
	case API_CLASS_MEMORY_OP:
	case API_CLASS_ALLOC:
	case API_CLASS_FREE:
		return captured_call(c);
	case API_CLASS_CREATE:
	case API_CLASS_STATE:
	case API_CLASS_QUERY:
		return by_name(c);
	default:
		return 0;
	}
}
