/* SPDX-License-Identifier: Apache-2.0 */

/* What arguments point to, copied as their descriptions say. */
#include "capture/library/call.h"
#include "capture/library/rich.h"
#include "formats/api/fields.h"

#include <errno.h>
#include <string.h>

#define MAX_STRING 65536
#define MAX_BEHIND 65536 /* of what a struct leads to */
static void put_blob(const struct cap_call *c, unsigned arg, enum cap_blob_what what,
		     unsigned field, const void *bytes, uint64_t len)
{
	struct cap_thread *t = &cap_self;
	uint64_t most = t->ring->data_bytes / 8 - sizeof(struct cap_blob_record);
	uint32_t kept = (uint32_t)(len < most ? len : most);
	uint32_t size = ((uint32_t)sizeof(struct cap_blob_record) + kept + 7) & ~7u;
	struct cap_blob_record *r = (void *)cap_room(t, size);

	if (!r)
		return;
	*r = (struct cap_blob_record){
		.head = {.bytes = size, .kind = CAP_BLOB, .flags = (uint8_t)what},
		.arg = (uint16_t)arg,
		.field = (uint16_t)field,
		.len = kept,
		.id = c->id,
		.whole_len = len,
	};
	memcpy(r->data, bytes, kept);
	cap_commit(t, size);
}

void cap_put_bytes(const struct cap_call *c, unsigned arg, enum cap_blob_what what,
		   const void *bytes, uint64_t len)
{
	put_blob(c, arg, what, 0, bytes, len);
}

static uint32_t scalars_on_device;

void cap_scalars_mode(int mode)
{
	if (mode != 0)
		__atomic_store_n(&scalars_on_device, 1, __ATOMIC_RELAXED);
}

/* NULL: nothing that the host may read. */
static const void *pointer(const struct cap_call *c, const struct api_arg *a)
{
	if (a->meaning == API_MEANING_SCALAR &&
	    __atomic_load_n(&scalars_on_device, __ATOMIC_RELAXED))
		return NULL;
	return (const void *)(uintptr_t)c->words[a->word];
}

static uint64_t field(const void *at, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)at + offset, sizeof(v));
	return v;
}

/* The number that argument `f` points to. */
static uint64_t pointed(const struct cap_call *c, const struct api_arg *a)
{
	const void *at = pointer(c, a);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at,
		       a->length.kind == API_LENGTH_PRODUCT && a->length.bytes == 4 ? 4 : 8);
	return value;
}

/* How many bytes the argument points to; 0 when that cannot be known. */
static uint64_t length_of(const struct cap_call *c, const struct api_call *call, unsigned arg)
{
	const struct api_length *l = &call->args[arg].length;
	uint64_t bytes = l->bytes, value;

	if (l->kind == API_LENGTH_NUL)
		return strnlen(pointer(c, &call->args[arg]), MAX_STRING);
	if (l->kind != API_LENGTH_PRODUCT)
		return 0;
	for (unsigned i = 0; i < l->n; i++) {
		if (l->by[i].kind != API_FACTOR_POINTED) {
			value = api_bytes(call, arg, c->words, 0);
			return value == UINT64_MAX ? 0 : value;
		}
		value = pointed(c, &call->args[l->by[i].arg]);
		if (__builtin_mul_overflow(bytes, value, &bytes))
			return 0;
	}
	return bytes;
}

static uint64_t function_of(const struct cap_call *c, const struct api_call *call)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].meaning == API_MEANING_FUNCTION ||
		    call->args[i].meaning == API_MEANING_KERNEL)
			return c->words[call->args[i].word];
	return 0;
}

static void put_launch(const struct cap_call *c, const struct api_call *call, unsigned arg)
{
	void **params = (void **)(uintptr_t)c->words[call->args[arg].word], **extra = NULL;

	if (arg + 1 < call->n_args && call->args[arg + 1].length.kind == API_LENGTH_EXTRA)
		extra = (void **)(uintptr_t)c->words[call->args[arg + 1].word];
	cap_put_params(c, params ? arg : arg + 1, function_of(c, call), params, extra);
}

/* The function of a struct that launches: the first handle of one that is set. */
static uint64_t function_in(const struct api_view *v)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < v->layout->n_fields && value == 0; i++) {
		const struct api_field *f = &v->layout->fields[i];

		if ((f->is.meaning == API_MEANING_FUNCTION ||
		     f->is.meaning == API_MEANING_KERNEL) &&
		    api_field_counts(v, f))
			api_field_value(v, f, 0, &value);
	}
	return value;
}

/* Kernel parameters in a struct; `extra` is the field behind them. */
static void put_params_in(const struct cap_call *c, unsigned arg, const struct api_view *v,
			  const struct api_field *f)
{
	uint64_t params = 0, extra = 0;

	api_field_value(v, f, 0, &params);
	if (f + 1 < v->layout->fields + v->layout->n_fields &&
	    f[1].is.length.kind == API_LENGTH_EXTRA)
		api_field_value(v, f + 1, 0, &extra);
	cap_put_params(c, arg, function_in(v), (void **)params, (void **)extra);
}

/* What lies behind the pointers of a struct that was copied. */
static void put_behind(const struct cap_call *c, unsigned arg, const struct api_view *v)
{
	for (unsigned i = 0; i < v->layout->n_fields; i++) {
		const struct api_field *f = &v->layout->fields[i];
		uint64_t at = 0, len;

		if (f->is.direction != API_DIRECTION_IN || f->is.length.kind == API_LENGTH_EXTRA ||
		    !api_field_counts(v, f))
			continue;
		if (f->is.length.kind == API_LENGTH_PARAMS) {
			put_params_in(c, arg, v, f);
			continue;
		}
		api_field_value(v, f, 0, &at);
		if (at == 0)
			continue;
		len = f->is.length.kind == API_LENGTH_NUL ? strnlen((const char *)at, MAX_STRING)
							  : api_field_bytes(v, f);
		if (len > 0 && len <= MAX_BEHIND)
			put_blob(c, arg, CAP_BLOB_FIELD, i, (const void *)at, len);
	}
}

/* The elements of an array of structs are not followed. */
static void put_more(const struct cap_call *c, const struct api_call *call, unsigned arg,
		     const void *at, uint64_t len)
{
	const struct api_arg *a = &call->args[arg];
	const struct api_view view = {a->layout, at, len, call, c->words};

	if (a->layout && a->direction == API_DIRECTION_IN && len <= a->layout->bytes)
		put_behind(c, arg, &view);
}

static uint64_t clip(const struct api_arg *a, const void *at, uint64_t len)
{
	/* Its first field says how large the program's is. */
	if (a->type && strcmp(a->type, "ncclConfig_t") == 0 && len >= 8 && field(at, 0) < len)
		return field(at, 0);
	return len;
}

void cap_args_before(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	int kept = errno;

	if (c->class == API_CLASS_DESTROY)
		cap_params_forget();
	for (uint32_t left = cap_rich[c->api].before; left; left &= left - 1) {
		unsigned arg = (unsigned)__builtin_ctz(left);
		const struct api_arg *a = &call->args[arg];
		const void *at = pointer(c, a);

		if (a->length.kind == API_LENGTH_PARAMS) {
			put_launch(c, call, arg);
			continue;
		}
		if (!at)
			continue;
		if (a->length.kind == API_LENGTH_IMAGE) {
			cap_put_image(c, arg, at);
			continue;
		}
		uint64_t len = clip(a, at, length_of(c, call, arg));

		if (len == 0 && a->length.kind != API_LENGTH_NUL)
			continue;
		cap_put_bytes(c, arg, CAP_BLOB_BEFORE, at, len);
		if (c->class == API_CLASS_MODULE_LOAD && a->meaning == API_MEANING_STRING)
			cap_put_image_file(c, arg, at);
		put_more(c, call, arg, at, len);
	}
	errno = kept;
}

static void note(enum api_meaning meaning, const void *at, uint64_t len)
{
	if (meaning != API_MEANING_KERNEL && meaning != API_MEANING_FUNCTION)
		return;
	for (uint64_t i = 0; i + 8 <= len; i += 8)
		cap_params_note(field(at, i), meaning == API_MEANING_KERNEL);
}

void cap_args_after(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	int kept = errno;

	if (call->result.meaning == API_MEANING_STATUS && !api_succeeded(call, c->result))
		return;
	for (uint32_t left = cap_rich[c->api].after; left; left &= left - 1) {
		unsigned arg = (unsigned)__builtin_ctz(left);
		const struct api_arg *a = &call->args[arg];
		const void *at = pointer(c, a);
		uint64_t len = at ? length_of(c, call, arg) : 0;

		if (len == 0)
			continue;
		cap_put_bytes(c, arg, CAP_BLOB_AFTER, at, len);
		note(a->meaning, at, len);
	}
	errno = kept;
}
