/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/graph_memory.h"

#include "base/array.h"
#include "capture/library/call/params.h"
#include "capture/library/device/allocations.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/process.h"
#include "formats/api/api.h"

#include <pthread.h>

struct note {
	uint64_t graph;	  /* or executable graph */
	uint64_t address; /* in the allocation */
	uint64_t id;	  /* of the allocation: the address may be reused */
};

static struct {
	pthread_mutex_t lock;
	struct note *notes; /* owned */
	size_t n, cap;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock held. If out of memory, the note is missing. */
static void add_note(const struct note *note)
{
	for (size_t i = 0; i < memory.n; i++)
		if (memory.notes[i].graph == note->graph && memory.notes[i].id == note->id)
			return;
	if (array_reserve(&memory.notes, memory.n + 1, &memory.cap) == 0)
		memory.notes[memory.n++] = *note;
}

uint64_t cap_graph_of_capture(void *stream)
{
	int status = 0;
	void *graph = NULL;

	if (cap_cu_load_graphs() < 0 ||
	    cap_cu.cuStreamGetCaptureInfo_v3(stream, &status, NULL, &graph, NULL, NULL, NULL))
		return 0;
	return (uintptr_t)graph;
}

void cap_graph_memory_note(uint64_t address, void *graph)
{
	struct cap_region r;
	struct note note = {.graph = *(const uint64_t *)graph, .address = address};

	if (!cap_allocation_find(address, &r) ||
	    !(cap_region_is_host_writable(&r) || (note.graph && cap_region_is_device(&r))))
		return;
	note.id = r.id;
	pthread_mutex_lock(&memory.lock);
	add_note(&note);
	pthread_mutex_unlock(&memory.lock);
}

void cap_graph_memory_for_each(uint64_t graph, void (*act)(void *data, const struct cap_region *r),
			       void *data)
{
	struct cap_region r;

	pthread_mutex_lock(&memory.lock);
	for (size_t i = 0; i < memory.n; i++) {
		const struct note *note = &memory.notes[i];

		if ((note->graph == graph || note->graph == 0) &&
		    cap_allocation_find(note->address, &r) && r.id == note->id)
			act(data, &r);
	}
	pthread_mutex_unlock(&memory.lock);
}

/* ---- calls on graphs */

/* Copies the first handles of graphs in the call's arguments. Returns their number. */
static size_t graphs_of(const struct cap_call *c, const struct api_call *call, uint64_t ret[2])
{
	size_t n = 0;

	for (unsigned i = 0; i < call->n_args && n < 2; i++) {
		const struct api_arg *a = &call->args[i];

		if (a->meaning != API_MEANING_GRAPH && a->meaning != API_MEANING_GRAPH_EXEC)
			continue;
		ret[n] = c->words[a->word];
		if (a->direction == API_DIRECTION_OUT)
			ret[n] = ret[n] ? *(const uint64_t *)ret[n] : 0;
		n++;
	}
	return n;
}

/* Before the call: another graph may get the handle as soon as it has returned. */
static void before_destroy(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	uint64_t graphs[2];
	size_t kept = 0;

	if (!call || call->class != API_CLASS_DESTROY || graphs_of(c, call, graphs) == 0)
		return;
	pthread_mutex_lock(&memory.lock);
	for (size_t i = 0; i < memory.n; i++)
		if (memory.notes[i].graph != graphs[0])
			memory.notes[kept++] = memory.notes[i];
	memory.n = kept;
	pthread_mutex_unlock(&memory.lock);
}

static void copy_notes(uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&memory.lock);
	for (size_t i = 0, n = memory.n; i < n; i++)
		if (memory.notes[i].graph == from)
			add_note(&(struct note){to, memory.notes[i].address, memory.notes[i].id});
	pthread_mutex_unlock(&memory.lock);
}

/* Notes the memory that one field of a node's parameters points to; if the field is a child graph,
 * the memory that the child graph uses. */
static void note_field(const struct api_view *v, const struct api_field *f, uint64_t graph)
{
	struct cap_params params;
	uint64_t value = 0;

	if (!api_field_counts(v, f) || !api_field_value(v, f, 0, &value))
		return;
	switch (f->arg.meaning) {
	case API_MEANING_DEVPTR:
	case API_MEANING_HOST:
		cap_graph_memory_note(value, &graph);
		break;
	case API_MEANING_PARAMS:
		params = cap_params_of_field(v, f);
		cap_params_for_each_value(&params, cap_graph_memory_note, &graph);
		break;
	case API_MEANING_GRAPH:
		if (graph)
			copy_notes(value, graph);
		break;
	default:
		break;
	}
}

/* Which graph a changed node belongs to may be unknown. */
static void note_node(const struct cap_call *c, const struct api_call *call, uint64_t graph)
{
	for (unsigned i = 0; i < call->n_args; i++) {
		const struct api_arg *a = &call->args[i];
		const struct api_view v = {a->layout, (const void *)c->words[a->word],
					   a->layout ? a->layout->bytes : 0, call, c->words};

		if (!a->layout || a->length.kind != API_LENGTH_PRODUCT || a->length.n > 0 ||
		    a->direction == API_DIRECTION_OUT || !v.bytes)
			continue;
		for (unsigned k = 0; k < a->layout->n_fields; k++)
			note_field(&v, &a->layout->fields[k], graph);
	}
}

/* In calls with two graphs, the first one gets the nodes of the second one. */
static void after_call(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	uint64_t graphs[2] = {0};

	if (!call || c->result != 0)
		return;
	if (graphs_of(c, call, graphs) == 2)
		copy_notes(graphs[1], graphs[0]);
	else if (api_arg_of(call, API_MEANING_GRAPH_NODE))
		note_node(c, call, graphs[0]);
}

static int start_graph_memory(void)
{
	return cap_control()->digest_level == CAP_DIGEST_NONE ? -ENOTSUP : cap_cu_load();
}

#define CLASSES                                                                                    \
	(1ull << API_CLASS_CREATE | 1ull << API_CLASS_STATE | 1ull << API_CLASS_GRAPH_NODE |       \
	 1ull << API_CLASS_DESTROY)

const struct cap_hook cap_graph_memory = {
	.classes = CLASSES,
	.always = CLASSES,
	.start = start_graph_memory,
	.before = before_destroy,
	.after = after_call,
};
