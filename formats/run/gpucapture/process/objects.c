/* SPDX-License-Identifier: Apache-2.0 */

/* Updates the objects of a process after each call: handles and the current context. */
#include "formats/run/gpucapture/process/call.h"

uint64_t rec_call_context(const struct rec_call *c)
{
	const struct rec_thread *t = c->thread;

	return t->n_contexts > 0 ? t->contexts[t->n_contexts - 1] : 0;
}

int rec_call_device(const struct rec_call *c)
{
	const struct rec_object *context =
		rec_handles_find(c->process->handles, API_MEANING_CONTEXT, rec_call_context(c));

	return context ? context->device : -1;
}

/* CU_STREAM_LEGACY and CU_STREAM_PER_THREAD; 0 is one of them, depending on the called entry
 * point. */
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };

struct rec_object *rec_call_stream_of(const struct rec_call *c, uint64_t handle)
{
	struct rec_object *s;

	if (handle == 0)
		handle = c->api && c->api->per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
	if (handle == STREAM_LEGACY)
		handle = rec_call_context(c) | STREAM_LEGACY;
	else if (handle == STREAM_PER_THREAD)
		handle = (rec_call_context(c) | STREAM_PER_THREAD) ^
			 (uint64_t)(c->thread->track + 1) << 48;
	s = rec_handles_find(c->process->handles, API_MEANING_STREAM, handle);
	if (s)
		return s;
	/* The default streams are there without being made. */
	s = handle & (STREAM_LEGACY | STREAM_PER_THREAD)
		    ? rec_handles_add(c->process->handles, API_MEANING_STREAM, handle)
		    : rec_handles_get(c->process->handles, API_MEANING_STREAM, handle);
	if (s)
		s->device = rec_call_device(c);
	return s;
}

struct rec_object *rec_call_stream(const struct rec_call *c)
{
	int arg = c->api ? c->api->stream : -1;

	return rec_call_stream_of(c, arg < 0 ? 0 : (uint64_t)rec_call_value_at(c, arg));
}

/* ---- the current context of the thread */

static void set_current(struct rec_thread *t, uint64_t context)
{
	if (t->n_contexts > 0)
		t->n_contexts--;
	if (context)
		t->contexts[t->n_contexts++] = context;
}

static void push_context(struct rec_thread *t, uint64_t context)
{
	if (t->n_contexts < REC_CONTEXT_DEPTH)
		t->contexts[t->n_contexts++] = context;
}

static void follow_context(struct rec_call *c)
{
	struct rec_thread *t = c->thread;
	uint64_t v;

	if (c->api->class != API_CLASS_STATE && c->api->class != API_CLASS_CREATE &&
	    c->api->class != API_CLASS_DESTROY)
		return;
	if (rec_call_is(c, "cuCtxSetCurrent"))
		set_current(t, (uint64_t)rec_call_value(c, "ctx", 0));
	else if (rec_call_is(c, "cuCtxPushCurrent"))
		push_context(t, (uint64_t)rec_call_value(c, "ctx", 0));
	else if (rec_call_is(c, "cuCtxPopCurrent") && t->n_contexts > 0)
		t->n_contexts--;
	else if (rec_call_is(c, "cuCtxCreate") &&
		 rec_blob_number(rec_call_blob(c, "pctx", CAP_BLOB_AFTER), 0, 8, &v))
		push_context(t, v);
	else if (rec_call_is(c, "cuCtxDestroy") && t->n_contexts > 0 &&
		 t->contexts[t->n_contexts - 1] == (uint64_t)rec_call_value(c, "ctx", 0))
		t->n_contexts--;
}

/* ---- making */

static int is_creation(enum api_class class)
{
	return class == API_CLASS_CREATE || class == API_CLASS_MODULE_LOAD ||
	       class == API_CLASS_ALLOC || class == API_CLASS_RESERVE ||
	       class == API_CLASS_CAPTURE_END || class == API_CLASS_GRAPH_NODE;
}

/* Returns 1 for calls that may return an existing object, and for a capture, which may be into an
 * existing graph. */
static int may_exist(const struct rec_call *c, enum api_meaning meaning)
{
	return c->api->class == API_CLASS_CAPTURE_END || meaning == API_MEANING_CONTEXT ||
	       meaning == API_MEANING_MODULE || meaning == API_MEANING_FUNCTION ||
	       meaning == API_MEANING_KERNEL || meaning == API_MEANING_POOL ||
	       meaning == API_MEANING_MEMORY;
}

/* Names a function or kernel: by the requested name, or like the object it was made from. */
static int name_function(const struct rec_call *c, struct rec_object *t)
{
	const struct rec_blob *name = rec_call_blob(c, "name", CAP_BLOB_BEFORE);
	const struct rec_object *kernel;
	fmt_str s = 0;

	if (name)
		return fmt_names_string(c->process->names, (const char *)name->data,
					strnlen((const char *)name->data, name->len), &t->name);
	if (rec_call_arg(c, "kernel") < 0)
		return 0;
	kernel = rec_handles_find(c->process->handles, API_MEANING_KERNEL,
				  (uint64_t)rec_call_value(c, "kernel", 0));
	s = kernel ? kernel->name : 0;
	t->name = s;
	return 0;
}

static int make_object(const struct rec_call *c, const struct api_arg *a, uint64_t handle)
{
	struct rec_handles *objects = c->process->handles;
	struct rec_object *t = NULL;

	if (handle == 0)
		return 0;
	if (may_exist(c, (enum api_meaning)a->meaning))
		t = rec_handles_find(objects, a->meaning, handle);
	if (!t)
		t = rec_handles_add(objects, a->meaning, handle);
	if (!t)
		return -ENOMEM;
	if (a->meaning == API_MEANING_CONTEXT)
		t->device = (int32_t)rec_call_value(c, "dev", t->device);
	else if (t->device < 0)
		t->device = rec_call_device(c);
	if (a->meaning == API_MEANING_MEMORY && t->bytes == 0)
		t->bytes = (uint64_t)rec_call_value(c, "size", 0);
	if (t->name == 0 &&
	    (a->meaning == API_MEANING_FUNCTION || a->meaning == API_MEANING_KERNEL))
		return name_function(c, t);
	return 0;
}

/* Adds the objects whose handles the blob contains. */
static int make_objects(const struct rec_call *c, const struct api_arg *a, const struct rec_blob *b)
{
	uint64_t v;
	int r = 0;

	for (size_t at = 0; r == 0 && rec_blob_number(b, at, 8, &v); at += 8)
		r = make_object(c, a, v);
	return r;
}

int rec_call_add_objects(struct rec_call *c)
{
	static const struct api_arg comm = {.meaning = API_MEANING_COMM};
	int r = 0, n_args;

	if (!c->api || !api_succeeded(c->api, c->record->result))
		return 0;
	n_args = is_creation((enum api_class)c->api->class) ? c->api->n_args : 0;
	for (int i = 0; i < n_args && r == 0; i++) {
		const struct api_arg *a = &c->api->args[i];

		if (a->direction == API_DIRECTION_OUT &&
		    api_is_handle((enum api_meaning)a->meaning))
			r = make_objects(c, a, rec_call_blob_at(c, i, CAP_BLOB_AFTER));
	}
	if (r == 0)
		r = make_objects(c, &comm, rec_call_blob_at(c, 0, CAP_BLOB_HANDLES));
	return r < 0 ? r : rec_call_add_allocations(c);
}

/* ---- ending */

/* A communicator among other arguments owns the destroyed object. */
static bool is_owner(const struct rec_call *c, const struct api_arg *a)
{
	return a->meaning == API_MEANING_COMM && c->api->n_args > 1;
}

/* Ends the first argument of that kind. */
static void remove_object(const struct rec_call *c)
{
	for (int i = 0; i < c->api->n_args; i++) {
		const struct api_arg *a = &c->api->args[i];
		uint64_t v = (uint64_t)rec_call_value_at(c, i);
		struct rec_object *t;

		if (!api_is_handle((enum api_meaning)a->meaning) || is_owner(c, a))
			continue;
		t = rec_handles_find(c->process->handles, a->meaning, v);
		if (t)
			t->gone = 1;
		return;
	}
}

int rec_call_remove_objects(struct rec_call *c)
{
	int r;

	if (!c->api || !api_succeeded(c->api, c->record->result))
		return 0;
	r = rec_call_remove_allocations(c);
	if (c->api->class == API_CLASS_DESTROY)
		remove_object(c);
	follow_context(c);
	return r;
}
