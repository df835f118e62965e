/* SPDX-License-Identifier: Apache-2.0 */

/* Updates the allocations of a process after each call that allocates or frees memory. */
#include "formats/run/gpucapture/process/call.h"

#include <string.h>

/* Returns the number of the object in the argument with that meaning, or 0. */
static uint32_t number_of(const struct rec_call *c, enum api_meaning meaning)
{
	const struct api_arg *a = api_arg_of(c->api, meaning);
	const struct rec_object *t =
		a ? rec_handles_find(c->process->handles, meaning,
				     (uint64_t)rec_call_value_at(c, (int)(a - c->api->args)))
		  : NULL;

	return t ? t->number : 0;
}

/* Returns the number of bytes that the call allocates at the address in argument number `arg`. */
static uint64_t bytes_of(const struct rec_call *c, int arg)
{
	int64_t bytes = rec_call_value(c, "bytesize", -1),
		pitch_rows = rec_call_value(c, "Height", -1);
	const struct rec_blob *out = rec_call_blob(c, "bytes", CAP_BLOB_AFTER) /* of a variable */
					     ?: rec_call_blob_at(c, arg, CAP_BLOB_BYTES);
	uint64_t n;

	if (bytes < 0)
		bytes = rec_call_value(c, "size", -1);
	if (bytes < 0 && pitch_rows >= 0 &&
	    rec_blob_number(rec_call_blob(c, "pPitch", CAP_BLOB_AFTER), 0, 8, &n))
		bytes = (int64_t)(n * (uint64_t)pitch_rows);
	if (bytes < 0 && out && rec_blob_number(out, 0, out->len, &n))
		bytes = (int64_t)n;
	return bytes > 0 ? (uint64_t)bytes : 0;
}

static enum rec_memory_kind kind_of(const struct rec_call *c, const struct api_arg *a)
{
	if (c->api->class == API_CLASS_RESERVE)
		return REC_MEMORY_RESERVATION;
	if (c->api->class == API_CLASS_MAP)
		return REC_MEMORY_MAPPING;
	if (c->api->class == API_CLASS_CREATE)
		return REC_MEMORY_VARIABLE;
	if (a->meaning == API_MEANING_HOST)
		return a->direction == API_DIRECTION_OUT ? REC_MEMORY_HOST : REC_MEMORY_REGISTERED;
	if (strstr(c->name, "Managed"))
		return REC_MEMORY_MANAGED;
	return strstr(c->name, "Ipc") || strstr(c->name, "Import") ? REC_MEMORY_IMPORTED
								   : REC_MEMORY_DEVICE;
}

static int describe_variable(const struct rec_call *c, struct rec_allocation *a)
{
	const struct rec_blob *name = rec_call_blob(c, "name", CAP_BLOB_BEFORE);

	a->handle = number_of(c, API_MEANING_MODULE) ?: number_of(c, API_MEANING_LIBRARY);
	return name ? fmt_names_string(c->process->names, (const char *)name->data,
				       strnlen((const char *)name->data, name->len), &a->name)
		    : 0;
}

static int add_allocation(const struct rec_call *c, const struct api_arg *arg, uint64_t address)
{
	struct rec_allocation a = {
		.address = address,
		.bytes = bytes_of(c, (int)(arg - c->api->args)),
		.made = c->record->id + 1,
		.context = rec_call_context(c),
		.device = (int16_t)rec_call_device(c),
		.kind = (uint8_t)kind_of(c, arg),
	};
	const struct rec_object *stream =
		api_arg_of(c->api, API_MEANING_STREAM) ? rec_call_stream(c) : NULL;
	int r = 0;

	if (!address)
		return 0;
	a.stream = stream ? stream->number : 0;
	if (a.kind == REC_MEMORY_MAPPING) {
		a.handle = number_of(c, API_MEANING_MEMORY);
		a.offset = (uint64_t)rec_call_value(c, "offset", 0);
	} else if (a.kind == REC_MEMORY_VARIABLE) {
		r = describe_variable(c, &a);
	}
	return r < 0 ? r : rec_memory_add(&c->process->memory, &a);
}

int rec_call_add_allocations(const struct rec_call *c)
{
	bool out = c->api->class == API_CLASS_ALLOC || c->api->class == API_CLASS_RESERVE ||
		   c->api->class == API_CLASS_CREATE;
	bool in = c->api->class == API_CLASS_ALLOC ||
		  (c->api->class == API_CLASS_MAP && rec_call_is(c, "cuMemMap"));

	for (int i = 0; (in || out) && i < c->api->n_args; i++) {
		const struct api_arg *a = &c->api->args[i];
		uint64_t address;

		if (!rec_is_address(a->meaning))
			continue;
		if (out && a->direction == API_DIRECTION_OUT)
			return rec_blob_number(rec_call_blob_at(c, i, CAP_BLOB_AFTER), 0, 8,
					       &address)
				       ? add_allocation(c, a, address)
				       : 0;
		if (in && a->direction == API_DIRECTION_NONE)
			return add_allocation(c, a, (uint64_t)rec_call_value_at(c, i));
	}
	return 0;
}

static bool is_variable_of(const struct rec_allocation *a, uint64_t module)
{
	return a->kind == REC_MEMORY_VARIABLE && a->handle == module;
}

static bool is_in_context(const struct rec_allocation *a, uint64_t context)
{
	return a->context == context;
}

static bool is_of_device(const struct rec_allocation *a, uint64_t device)
{
	return a->device == (int)device;
}

/* A module is unloaded with its variables, a context destroyed with the memory made in it. */
static int end_owned(const struct rec_call *c)
{
	struct rec_memory *m = &c->process->memory;
	uint64_t by = c->record->id + 1;

	if (rec_call_is(c, "cuModuleUnload"))
		return rec_memory_remove_if(m, is_variable_of, number_of(c, API_MEANING_MODULE),
					    by);
	if (rec_call_is(c, "cuLibraryUnload"))
		return rec_memory_remove_if(m, is_variable_of, number_of(c, API_MEANING_LIBRARY),
					    by);
	if (rec_call_is(c, "cuCtxDestroy"))
		return rec_memory_remove_if(m, is_in_context, (uint64_t)rec_call_value(c, "ctx", 0),
					    by);
	if (rec_call_is(c, "cuDevicePrimaryCtxReset"))
		return rec_memory_remove_if(m, is_of_device, (uint64_t)rec_call_value(c, "dev", -1),
					    by);
	return 0;
}

int rec_call_remove_allocations(const struct rec_call *c)
{
	struct rec_memory *m = &c->process->memory;
	uint64_t by = c->record->id + 1, address = 0;
	bool found = false;

	if (c->api->class == API_CLASS_DESTROY)
		return end_owned(c);
	if (c->api->class != API_CLASS_FREE && c->api->class != API_CLASS_UNMAP &&
	    c->api->class != API_CLASS_UNRESERVE)
		return 0;
	for (int i = 0; !found && i < c->api->n_args; i++) {
		found = rec_is_address(c->api->args[i].meaning);
		address = (uint64_t)rec_call_value_at(c, i);
	}
	if (!found)
		return 0;
	if (c->api->class == API_CLASS_UNRESERVE)
		return rec_memory_remove_reserved(m, address, by);
	if (c->api->class == API_CLASS_UNMAP)
		return rec_memory_remove_range(m, address, (uint64_t)rec_call_value(c, "size", 0),
					       by);
	return rec_memory_remove(m, address, by);
}
