/* SPDX-License-Identifier: Apache-2.0 */

/* The operations that calls launch. */
#include "capture/recorder/call.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "capture/recorder/copy.h"
#include "capture/recorder/graphs.h"
#include "capture/recorder/symbol.h"
#include "formats/api/fields.h"

#include <stdio.h>

#define MOST_ARGS 8

struct op {
	enum fmt_kind kind;
	const char *category;
	fmt_str name;
	struct fmt_arg args[MOST_ARGS];
	int64_t values[MOST_ARGS]; /* of those that vary, in their order */
	uint32_t n_args, n_values;
	uint32_t site; /* once it is known */
	int error;
};

static void arg(struct rec_call *c, struct op *o, const char *key, enum fmt_type type, int varies,
		int64_t value)
{
	struct fmt_arg *a = &o->args[o->n_args];

	if (o->error || o->n_args == MOST_ARGS)
		return;
	*a = (struct fmt_arg){.type = (uint8_t)type, .varies = (uint8_t)varies};
	o->error = fmt_names_string(c->process->names, key, strlen(key), &a->key);
	if (varies)
		o->values[o->n_values++] = value;
	else
		a->value = value;
	o->n_args++;
}

static void list_arg(struct rec_call *c, struct op *o, const char *key, const int64_t v[3])
{
	scoped(text_done) struct text json = {0};
	fmt_str s = 0;

	for (int i = 0; i < 3; i++) {
		text_str(&json, i > 0 ? ", " : "[");
		text_i64(&json, v[i]);
	}
	text_char(&json, ']');
	if (!o->error)
		o->error = json.error;
	if (!o->error)
		o->error = fmt_names_string(c->process->names, json.data, json.len, &s);
	arg(c, o, key, FMT_JSON, 0, s);
}

/* The lane of a stream, which begins with its first operation. */
static int lane_of(struct rec_call *c, struct rec_thing *stream, uint32_t *ret)
{
	const struct rec_lane lane = {
		.kind = FMT_STREAM, .device = (int16_t)stream->device, .number = stream->number};
	int r = 0;

	if (stream->lane == 0) {
		r = rec_add_lane(c->process, &lane, ret);
		if (r == 0)
			stream->lane = *ret + 1;
	}
	*ret = stream->lane - 1;
	return r;
}

/* The thread works on that device, too. */
static int works_on(struct rec_call *c, int device)
{
	struct rec_lane *lane = &c->process->lanes[c->thread->lane];

	lane->launches = 1;
	if (lane->device < 0)
		lane->device = (int16_t)device;
	return rec_join_devices(c->process, lane->device, device);
}

static int remember(struct rec_call *c, uint32_t event)
{
	struct rec_thread *t = c->thread;

	if (array_reserve(&t->launched, t->n_launched + 1, &t->launched_cap) < 0)
		return -ENOMEM;
	t->launched[t->n_launched++] =
		(struct rec_launched){cap_id_ordinal(c->record->id), event, c->record->head.depth};
	return 0;
}

/* The operation as a node of the graph that its stream is captured into. */
static int capture(struct rec_call *c, const struct rec_thing *stream, const struct op *o)
{
	struct rec_node node = {.kind = fmt_kind_name(o->kind), .name = o->name, .bytes = -1};

	for (uint32_t i = 0, value = 0; i < o->n_args; i++) {
		const char *key = fmt_string(c->process->names, o->args[i].key, NULL);

		if (strcmp(key, "grid") == 0)
			node.grid = (fmt_str)o->args[i].value;
		else if (strcmp(key, "block") == 0)
			node.block = (fmt_str)o->args[i].value;
		else if (strcmp(key, "bytes") == 0)
			node.bytes = o->values[value];
		value += o->args[i].varies;
	}
	if (strcmp(o->category, "graph") == 0)
		node.kind = "graph";
	return rec_graph_captured(c, stream, &node);
}

/* The operation, whose site is known. */
static int add_at(struct rec_call *c, struct rec_thing *stream, const struct op *o)
{
	struct rec_process *p = c->process;
	struct rec_event e = {.correlation = c->record->id + 1,
			      .call = c->event,
			      .device = (int16_t)stream->device,
			      .kind = (uint8_t)o->kind,
			      .site = o->site};
	uint32_t event;
	int r = lane_of(c, stream, &e.lane);

	if (r == 0)
		r = works_on(c, stream->device);
	if (r == 0)
		r = rec_add_values(p, o->values, o->n_values, &e.first_value);
	if (r == 0)
		r = rec_add_event(p, &e, &event);
	if (r == 0)
		r = rec_times_await(p, event);
	p->counts.ops += r == 0;
	return r < 0 ? r : remember(c, event);
}

static int add(struct rec_call *c, struct rec_thing *stream, struct op *o)
{
	struct fmt_names *names = c->process->names;
	struct fmt_site site = {
		.kind = (uint8_t)o->kind, .name = o->name, .n_args = o->n_args, .args = o->args};
	int r = o->error;

	if (r == 0 && stream->capturing)
		return capture(c, stream, o);
	if (r == 0)
		r = fmt_names_string(names, o->category, strlen(o->category), &site.category);
	if (r == 0)
		r = fmt_names_site(names, &site, &o->site);
	return r < 0 ? r : add_at(c, stream, o);
}

/* ---- kernels */

fmt_str rec_kernel_name(const struct rec_call *c, uint64_t handle)
{
	static const uint8_t kinds[] = {API_MEANING_FUNCTION, API_MEANING_KERNEL};
	char text[40];
	fmt_str s = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct rec_thing *t = rec_handles_find(c->process->things, kinds[i], handle);

		if (t && t->name)
			return t->name;
	}
	snprintf(text, sizeof(text), "kernel@%llx", (unsigned long long)handle);
	fmt_names_string(c->process->names, text, strlen(text), &s);
	return s;
}

/* Grid and block as CUlaunchConfig, node parameters and arguments call them. */
static const char *const grid_names[] = {"gridDimX", "gridDimY", "gridDimZ"};
static const char *const block_names[] = {"blockDimX", "blockDimY", "blockDimZ"};

static int read_config(const struct rec_call *c, int64_t grid[3], int64_t block[3], int64_t *shared,
		       uint64_t *stream)
{
	struct api_view v;

	if (!rec_view(c, "config", &v))
		return 0;
	for (int i = 0; i < 3; i++) {
		grid[i] = (int64_t)api_number(&v, grid_names[i]);
		block[i] = (int64_t)api_number(&v, block_names[i]);
	}
	*shared = (int64_t)api_number(&v, "sharedMemBytes");
	*stream = api_number(&v, "hStream");
	return 1;
}

static void read_arguments(const struct rec_call *c, int64_t grid[3], int64_t block[3],
			   int64_t *shared)
{
	for (int i = 0; i < 3; i++) {
		grid[i] = rec_value(c, grid_names[i], 1);
		block[i] = rec_value(c, block_names[i], 1);
	}
	grid[0] = rec_value(c, "grid_width", grid[0]);
	grid[1] = rec_value(c, "grid_height", grid[1]);
	*shared = rec_value(c, "sharedMemBytes", 0);
}

/* The name as it is written, and the symbol where that is another. */
static void symbol_arg(struct rec_call *c, struct op *o)
{
	fmt_str symbol = o->name;

	if (!o->error)
		o->error =
			rec_symbol_name(&c->process->symbols, c->process->names, symbol, &o->name);
	if (o->name != symbol)
		arg(c, o, FMT_KEY_SYMBOL, FMT_STRING, 0, symbol);
}

/* What a launch's site is made of. */
struct launch {
	int64_t grid[3], block[3], shared;
	int64_t symbol; /* a fmt_str */
};

/* The site of such launches: the last one of those that have this place. */
struct rec_kernel_site {
	struct launch of;
	uint32_t site; /* plus 1; 0: none */
};

#define KERNEL_SITES 256

/* Where its site is known, or can be kept; NULL without memory. */
static struct rec_kernel_site *kernel_site(struct rec_process *p, const struct launch *l)
{
	uint64_t words[sizeof(*l) / 8], h = 0;

	memcpy(words, l, sizeof(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
	if (!p->kernel_sites)
		p->kernel_sites = calloc(KERNEL_SITES, sizeof(*p->kernel_sites));
	return p->kernel_sites ? &p->kernel_sites[h >> 56] : NULL;
}

static int name_launch(struct rec_call *c, struct op *o, const struct launch *l)
{
	symbol_arg(c, o);
	list_arg(c, o, "grid", l->grid);
	list_arg(c, o, "block", l->block);
	arg(c, o, "shared memory", FMT_INT, 0, l->shared);
	return o->error;
}

static int launch_kernel(struct rec_call *c)
{
	struct op o = {.kind = FMT_KERNEL, .category = "kernel"};
	struct launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct rec_kernel_site *known;
	struct rec_thing *stream;
	uint64_t handle;
	int r;

	if (read_config(c, l.grid, l.block, &l.shared, &handle)) {
		stream = rec_stream_of(c, handle);
	} else {
		read_arguments(c, l.grid, l.block, &l.shared);
		stream = rec_stream(c);
	}
	o.name = rec_kernel_name(c, (uint64_t)rec_value(c, "f", 0));
	l.symbol = o.name;
	known = kernel_site(c->process, &l);
	if (!stream || !known)
		return -ENOMEM;
	if (known->site && !stream->capturing && memcmp(&known->of, &l, sizeof(l)) == 0) {
		o.site = known->site - 1;
		return add_at(c, stream, &o);
	}
	r = name_launch(c, &o, &l);
	if (r == 0)
		r = add(c, stream, &o);
	if (r == 0 && !stream->capturing)
		*known = (struct rec_kernel_site){l, o.site + 1};
	return r;
}

/* ---- copies */

static int launch_copy(struct rec_call *c)
{
	static const char *const sides[] = {
		[REC_PAGEABLE] = "Pageable", [REC_PINNED] = "Pinned", [REC_DEVICE] = "Device"};
	struct op o = {.kind = FMT_MEMCPY, .category = "gpu_memcpy"};
	const struct rec_copy copy = rec_copy_of(c);
	struct rec_thing *stream = rec_stream(c);
	char name[64];

	if (!stream)
		return -ENOMEM;
	if (copy.peer)
		snprintf(name, sizeof(name), "Memcpy PtoP (Device -> Device)");
	else
		snprintf(name, sizeof(name), "Memcpy %cto%c (%s -> %s)",
			 copy.from == REC_DEVICE ? 'D' : 'H', copy.to == REC_DEVICE ? 'D' : 'H',
			 sides[copy.from], sides[copy.to]);
	o.error = fmt_names_string(c->process->names, name, strlen(name), &o.name);
	arg(c, &o, "bytes", FMT_INT, 1, copy.bytes);
	return add(c, stream, &o);
}

/* cuMemsetD2D16Async: elements of 16 bits. */
static uint64_t element_bytes(const char *name)
{
	return strstr(name, "D32") ? 4 : strstr(name, "D16") ? 2 : 1;
}

static int launch_set(struct rec_call *c)
{
	struct op o = {.kind = FMT_MEMSET, .category = "gpu_memset"};
	uint64_t width = (uint64_t)rec_value(c, "N", rec_value(c, "Width", 0));
	uint64_t bytes = width * (uint64_t)rec_value(c, "Height", 1) * element_bytes(c->name);
	struct rec_thing *stream = rec_stream(c);

	if (!stream)
		return -ENOMEM;
	o.error = fmt_names_string(c->process->names, "Memset (Device)", 15, &o.name);
	arg(c, &o, "bytes", FMT_INT, 1, (int64_t)bytes);
	return add(c, stream, &o);
}

/* All that a graph does is one operation. */
static int launch_graph(struct rec_call *c)
{
	struct op o = {.kind = FMT_KERNEL, .category = "graph"};
	struct rec_thing *stream = rec_stream(c);
	const struct rec_thing *graph = rec_handles_find(c->process->things, API_MEANING_GRAPH_EXEC,
							 (uint64_t)rec_value(c, "hGraph", 0));

	struct rec_graph_id is = {0};

	if (!stream)
		return -ENOMEM;
	if (graph)
		is = rec_graph_of_exec(c->process, graph->number);
	o.error = fmt_names_string(c->process->names, "CUDA graph", 10, &o.name);
	arg(c, &o, "graph.id", FMT_INT, 0, graph ? graph->number : 0);
	arg(c, &o, "graph", FMT_INT, 0, is.graph);
	if (is.version > 0)
		arg(c, &o, "graph.version", FMT_INT, 0, is.version);
	return add(c, stream, &o);
}

/* ---- waiting that the recorder saw, as the PyTorch profiler writes it */

static int add_sync(struct rec_call *c, const char *name, const struct rec_thing *waiting,
		    const struct rec_thing *event)
{
	struct rec_process *p = c->process;
	struct op o = {.kind = FMT_SYNC};
	struct fmt_site site = {.kind = FMT_SYNC, .args = o.args};
	struct rec_event e = rec_call_event(c, FMT_SYNC);
	uint32_t at;

	if (waiting)
		arg(c, &o, "stream", FMT_INT, 1, waiting->number);
	if (event) {
		arg(c, &o, "wait_on_stream", FMT_INT, 1, event->on);
		arg(c, &o, "wait_on_cuda_event_record_corr_id", FMT_INT, 1,
		    (int64_t)event->recorded);
		arg(c, &o, "wait_on_cuda_event_id", FMT_INT, 1, event->number);
	}
	site.n_args = o.n_args;
	if (o.error == 0)
		o.error = fmt_names_string(p->names, name, strlen(name), &site.name);
	if (o.error == 0)
		o.error = fmt_names_string(p->names, "cuda_sync", 9, &site.category);
	if (o.error == 0)
		o.error = fmt_names_site(p->names, &site, &e.site);
	if (o.error == 0)
		o.error = rec_add_values(p, o.values, o.n_values, &e.first_value);
	return o.error < 0 ? o.error : rec_add_event(p, &e, &at);
}

static struct rec_thing *event_of(const struct rec_call *c)
{
	int64_t handle = rec_value(c, "hEvent", 0);

	return handle ? rec_handles_get(c->process->things, API_MEANING_EVENT, (uint64_t)handle)
		      : NULL;
}

static int record_event(struct rec_call *c)
{
	const struct rec_thing *stream = rec_stream(c);
	struct rec_thing *event;
	uint32_t on, capturing;
	int32_t device;

	if (!stream)
		return -ENOMEM;
	on = stream->number;
	capturing = stream->capturing;
	device = stream->device;
	event = event_of(c); /* may move the stream */
	if (!event)
		return 0;
	event->recorded = capturing ? 0 : c->record->id + 1;
	event->on = on;
	event->device = device;
	event->capturing = capturing;
	stream = rec_stream(c);
	return capturing && stream ? rec_graph_waits(c, stream, event_of(c)) : 0;
}

static int wait_event(struct rec_call *c)
{
	struct rec_thing *event = event_of(c), *stream = rec_stream(c);
	int r;

	if (!event || !stream)
		return 0;
	event = event_of(c);
	if (event->capturing) { /* joins the capture */
		stream->capturing = event->capturing;
		return rec_graph_waits(c, event, stream);
	}
	if (event->recorded == 0)
		return 0;
	r = rec_join_devices(c->process, stream->device, event->device);
	return r < 0 ? r : add_sync(c, "Stream Wait Event", stream, event);
}

static int synchronise(struct rec_call *c)
{
	const struct rec_thing *event;

	if (rec_is(c, "cuStreamSynchronize"))
		return add_sync(c, "Stream Sync", rec_stream(c), NULL);
	if (!rec_is(c, "cuEventSynchronize"))
		return 0;
	event = event_of(c);
	return event && event->recorded ? add_sync(c, "Event Sync", NULL, event) : 0;
}

int rec_call_work(struct rec_call *c)
{
	if (!c->api || c->api->library != API_LIBRARY_CUDA || c->record->result != 0)
		return 0;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_LAUNCH:
		return launch_kernel(c);
	case API_CLASS_COPY:
		return launch_copy(c);
	case API_CLASS_SET:
		return launch_set(c);
	case API_CLASS_GRAPH_LAUNCH:
		return launch_graph(c);
	case API_CLASS_EVENT_RECORD:
		return record_event(c);
	case API_CLASS_EVENT_WAIT:
		return wait_event(c);
	case API_CLASS_SYNC:
		return synchronise(c);
	default:
		return 0;
	}
}
