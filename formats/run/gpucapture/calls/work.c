/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/calls/calls.h"

#include "base/array.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/gpucapture/graphs/op.h"
#include "formats/run/gpucapture/process/copy.h"
#include "formats/run/gpucapture/process/symbol.h"
#include "formats/trace/store/chunk.h"

#include <stdio.h>

/* ---- kernels */

fmt_str rec_call_kernel_name(const struct rec_call *c, uint64_t handle)
{
	static const uint8_t kinds[] = {API_MEANING_FUNCTION, API_MEANING_KERNEL};
	char text[40];
	fmt_str s = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct rec_object *t =
			rec_handles_find(c->process->handles, kinds[i], handle);

		if (t && t->name)
			return t->name;
	}
	snprintf(text, sizeof(text), "kernel@%llx", (unsigned long long)handle);
	fmt_names_string(c->process->names, text, strlen(text), &s);
	return s;
}

static void read_config(const struct api_view *v, int64_t grid[3], int64_t block[3],
			int64_t *shared)
{
	/* Names in CUlaunchConfig and in node parameters. */
	static const char *const grid_names[] = {"gridDimX", "gridDimY", "gridDimZ"};
	static const char *const block_names[] = {"blockDimX", "blockDimY", "blockDimZ"};

	for (int i = 0; i < 3; i++) {
		grid[i] = (int64_t)api_number(v, grid_names[i]);
		block[i] = (int64_t)api_number(v, block_names[i]);
	}
	*shared = (int64_t)api_number(v, "sharedMemBytes");
}

/* Reads grid, block and shared memory, which are successive arguments of a launch call. */
static void read_arguments(const struct rec_call *c, int64_t grid[3], int64_t block[3],
			   int64_t *shared)
{
	int first = rec_call_arg(c, "gridDimX");

	for (int i = 0; i < 3 && first >= 0; i++) {
		grid[i] = rec_call_value_at(c, first + i);
		block[i] = rec_call_value_at(c, first + 3 + i);
	}
	if (first >= 0) {
		*shared = rec_call_value_at(c, first + 6);
	} else {
		grid[0] = rec_call_value(c, "grid_width", 1);
		grid[1] = rec_call_value(c, "grid_height", 1);
	}
}

/* Adds the mangled symbol of a kernel whose name was demangled. */
static void symbol_arg(struct rec_call *c, struct rec_op *o)
{
	fmt_str symbol = o->name;

	if (!o->error)
		o->error = rec_symbol_name(&c->process->memo.symbols, c->process->names, symbol,
					   &o->name);
	if (o->name != symbol)
		rec_op_add_arg(c, o, FMT_KEY_SYMBOL, FMT_STRING, 0, symbol);
}

/* The values that identify the template of a launch. */
struct launch {
	int64_t grid[3], block[3];
	int64_t shared, registers; /* a block's bytes; a thread's registers, 0 unknown */
	int64_t symbol;		   /* a fmt_str */
};

struct rec_kernel_template {
	struct launch launch;
	uint32_t template;
};

static uint32_t hash_of(const struct launch *l)
{
	const uint64_t *words = (const void *)l;
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(*l) / sizeof(*words); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 32);
}

/* Returns the slot of the launch's template, or a free one for it. */
static struct fmt_hash_slot *slot_of(const struct rec_memo *m, const struct launch *l)
{
	return fmt_hash_find(&m->kernel_table, hash_of(l), i,
			     memcmp(&m->kernel_templates[i].launch, l, sizeof(*l)) == 0);
}

static int remember_kernel(struct rec_memo *m, const struct launch *l, uint32_t template)
{
	if (fmt_hash_reserve(&m->kernel_table) < 0 ||
	    array_reserve(&m->kernel_templates, m->n_kernel_templates + 1,
			  &m->kernel_templates_cap) < 0)
		return -ENOMEM;
	fmt_hash_set(&m->kernel_table, slot_of(m, l), hash_of(l), (uint32_t)m->n_kernel_templates);
	m->kernel_templates[m->n_kernel_templates++] = (struct rec_kernel_template){*l, template};
	return 0;
}

static int name_launch(struct rec_call *c, struct rec_op *o, const struct launch *l)
{
	symbol_arg(c, o);
	rec_op_add_list(c, o, "grid", l->grid);
	rec_op_add_list(c, o, "block", l->block);
	rec_op_add_arg(c, o, "shared memory", FMT_INT, 0, l->shared);
	if (l->registers)
		rec_op_add_arg(c, o, "registers per thread", FMT_INT, 0, l->registers);
	return o->error;
}

/* Drivers before CUDA 12.4 do not report parameter layouts, so parameters are not recorded. */
static bool lacks_parameters(const struct rec_call *c)
{
	bool has_none = false;

	for (uint32_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].what == CAP_BLOB_PARAMS)
			return false;
	for (int i = 0; i < c->api->n_args; i++) {
		uint8_t meaning = c->api->args[i].meaning;

		if (meaning != API_MEANING_PARAMS && meaning != API_MEANING_EXTRA)
			continue;
		if (rec_call_value_at(c, i) != 0)
			return true;
		has_none = true;
	}
	return !has_none;
}

/* Adds the registers and the static shared memory of the kernel, which its layout contains. */
static void read_code(const struct rec_call *c, struct launch *l)
{
	for (uint32_t i = 0; i < c->n_blobs; i++) {
		const struct rec_blob *b = &c->blobs[i];
		uint16_t values[2];
		uint32_t n;

		if (b->what != CAP_BLOB_PARAMS || b->len < 8)
			continue;
		memcpy(&n, b->data, 4);
		if ((uint64_t)n * sizeof(struct cap_param) + 8 > b->len)
			continue;
		memcpy(values, b->data + 4 + n * sizeof(struct cap_param), sizeof(values));
		l->registers = values[0];
		l->shared += values[1];
	}
}

static int launch_kernel(struct rec_call *c)
{
	struct rec_op o;
	struct launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct rec_memo *memo = &c->process->memo;
	struct fmt_hash_slot *known;
	struct api_view config;
	bool has_config = c->api->stream < 0 && rec_call_struct(c, "config", &config);
	struct rec_object *stream = has_config
					    ? rec_call_stream_of(c, api_number(&config, "hStream"))
					    : rec_call_stream(c);
	int r;

	rec_op_begin(&o, FMT_KERNEL, "kernel");
	o.name = rec_call_kernel_name(c, (uint64_t)rec_call_value(c, "f", 0));
	if (stream && c->process->only_plan && !stream->capturing)
		return rec_op_add_event(c, stream, &o);
	if (has_config)
		read_config(&config, l.grid, l.block, &l.shared);
	else
		read_arguments(c, l.grid, l.block, &l.shared);
	read_code(c, &l);
	c->process->counts.without_parameters += lacks_parameters(c);
	l.symbol = o.name;
	known = slot_of(memo, &l);
	if (!stream)
		return -ENOMEM;
	if (known->number && !stream->capturing) {
		o.template = memo->kernel_templates[known->number - 1].template;
		return rec_op_add_event(c, stream, &o);
	}
	r = name_launch(c, &o, &l);
	if (r == 0)
		r = rec_op_add(c, stream, &o);
	return r == 0 && !stream->capturing ? remember_kernel(memo, &l, o.template) : r;
}

/* ---- copies */

static int launch_copy(struct rec_call *c)
{
	struct rec_op o = {.kind = FMT_MEMCPY, .category = "gpu_memcpy"};
	const struct rec_copy copy = rec_copy_from_call(c);
	struct rec_object *stream = rec_call_stream(c);

	if (!stream)
		return -ENOMEM;
	o.error = rec_copy_name(c, &copy, &o.name);
	rec_op_add_arg(c, &o, "bytes", FMT_INT, 1, copy.bytes);
	return rec_op_add(c, stream, &o);
}

/* cuMemsetD2D16Async: elements of 16 bits. */
static uint64_t element_bytes(const char *name)
{
	return strstr(name, "D32") ? 4 : strstr(name, "D16") ? 2 : 1;
}

static int launch_set(struct rec_call *c)
{
	struct rec_op o = {.kind = FMT_MEMSET, .category = "gpu_memset"};
	uint64_t width = (uint64_t)rec_call_value(c, "N", rec_call_value(c, "Width", 0));
	uint64_t bytes = width * (uint64_t)rec_call_value(c, "Height", 1) * element_bytes(c->name);
	struct rec_object *stream = rec_call_stream(c);

	if (!stream)
		return -ENOMEM;
	o.error = fmt_names_string(c->process->names, "Memset (Device)", 15, &o.name);
	rec_op_add_arg(c, &o, "bytes", FMT_INT, 1, (int64_t)bytes);
	return rec_op_add(c, stream, &o);
}

/* A function of the program, for which the stream waits. */
static int launch_host_function(struct rec_call *c)
{
	struct rec_op o = {.kind = FMT_KERNEL, .category = FMT_HOST_FUNCTION};
	struct rec_object *stream = rec_call_stream(c);

	if (!stream)
		return -ENOMEM;
	if (stream->capturing) /* see rec_call_update_graphs() */
		return 0;
	o.error = fmt_names_string(c->process->names, "Host function", 13, &o.name);
	return rec_op_add(c, stream, &o);
}

#define CUDA_NOT_READY 600

/* ---- recorded waits, in the form of the PyTorch profiler */

static int add_sync(struct rec_call *c, const char *name, const struct rec_object *waiting,
		    const struct rec_object *event)
{
	struct rec_process *p = c->process;
	struct rec_op o = {.kind = FMT_SYNC};
	struct fmt_template template = {.kind = FMT_SYNC, .args = o.args};
	struct rec_event e = rec_call_event(c, FMT_SYNC);
	uint32_t at;

	if (p->only_plan)
		return 0;
	if (waiting) {
		rec_op_add_arg(c, &o, "stream", FMT_INT, 1, waiting->number);
		rec_call_set_device(c, waiting->device);
	} else if (event) {
		rec_call_set_device(c, event->device);
	}
	e.device = c->process->events[c->event].device;
	if (event) {
		rec_op_add_arg(c, &o, "wait_on_stream", FMT_INT, 1, event->recorded_on);
		rec_op_add_arg(c, &o, "wait_on_cuda_event_record_corr_id", FMT_INT, 1,
			       (int64_t)event->recorded);
		rec_op_add_arg(c, &o, "wait_on_cuda_event_id", FMT_INT, 1, event->number);
	}
	template.n_args = o.n_args;
	if (o.error == 0)
		o.error = fmt_names_string(p->names, name, strlen(name), &template.name);
	if (o.error == 0)
		o.error = fmt_names_string(p->names, "cuda_sync", 9, &template.category);
	if (o.error == 0)
		o.error = fmt_names_template(p->names, &template, &e.template);
	if (o.error == 0)
		o.error = rec_add_values(p, o.values, o.n_values, &e.first_value);
	return o.error < 0 ? o.error : rec_add_event(p, &e, &at);
}

static struct rec_object *event_of(const struct rec_call *c)
{
	int64_t handle = rec_call_value(c, "hEvent", 0);

	return handle ? rec_handles_get(c->process->handles, API_MEANING_EVENT, (uint64_t)handle)
		      : NULL;
}

static int record_event(struct rec_call *c)
{
	const struct rec_object *stream = rec_call_stream(c);
	struct rec_object *event;
	uint32_t on, capturing;
	int32_t device;

	if (!stream)
		return -ENOMEM;
	on = stream->number;
	capturing = stream->capturing;
	device = stream->device;
	rec_call_set_device(c, device);
	event = event_of(c); /* may move the stream */
	if (!event)
		return 0;
	event->recorded = capturing ? 0 : c->record->id + 1;
	event->recorded_on = on;
	event->device = device;
	event->capturing = capturing;
	stream = rec_call_stream(c);
	return capturing && stream ? rec_graph_add_wait(c, stream, event_of(c)) : 0;
}

static int wait_event(struct rec_call *c)
{
	struct rec_object *event = event_of(c), *stream = rec_call_stream(c);

	if (!event || !stream)
		return 0;
	event = event_of(c);
	if (event->capturing) { /* joins the capture */
		stream->capturing = event->capturing;
		return rec_graph_add_wait(c, event, stream);
	}
	if (event->recorded == 0)
		return 0;
	return add_sync(c, "Stream Wait Event", stream, event);
}

static int synchronise(struct rec_call *c)
{
	const struct rec_object *event;

	if (rec_call_is(c, "cuStreamSynchronize"))
		return add_sync(c, "Stream Sync", rec_call_stream(c), NULL);
	if (!rec_call_is(c, "cuEventSynchronize"))
		return 0;
	event = event_of(c);
	return event && event->recorded ? add_sync(c, "Event Sync", NULL, event) : 0;
}

/* The answer to the last query of a loop that polls, which waits like a synchronisation. */
static int record_query(struct rec_call *c, struct rec_object *asked, const char *name)
{
	bool waited = asked && asked->asked && c->record->result == 0;

	if (!asked)
		return 0;
	asked->asked = c->record->result == CUDA_NOT_READY;
	if (!waited)
		return 0;
	if (c->api->class == API_CLASS_STREAM_QUERY)
		return add_sync(c, name, asked, NULL);
	return asked->recorded ? add_sync(c, name, NULL, asked) : 0;
}

int rec_call_add_ops(struct rec_call *c)
{
	if (c->api->class == API_CLASS_EVENT_QUERY)
		return record_query(c, event_of(c), "Event Sync");
	if (c->api->class == API_CLASS_STREAM_QUERY)
		return record_query(c, rec_call_stream(c), "Stream Sync");
	if (c->record->result != 0)
		return 0;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_LAUNCH:
		return launch_kernel(c);
	case API_CLASS_COPY:
		return launch_copy(c);
	case API_CLASS_SET:
		return launch_set(c);
	case API_CLASS_HOST_CALL:
		return launch_host_function(c);
	case API_CLASS_GRAPH_LAUNCH:
		return rec_graph_add_launch(c);
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
