/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/call/plan.h"

#include "capture/library/attributes.h"
#include "capture/library/call/params.h"
#include "capture/library/call/put.h"
#include "formats/api/fields.h"

#include <errno.h>
#include <string.h>

#define MAX_STRING 65536
#define MAX_FIELD 65536 /* limit for the memory that one field of a struct points to */

static uint32_t scalars_on_device; /* relaxed */

void cap_plan_scalar_mode(int mode)
{
	if (mode != 0)
		__atomic_store_n(&scalars_on_device, 1, __ATOMIC_RELAXED);
}

static uint64_t number_at(const void *at, size_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return v;
}

/* Returns 0 if unknown. */
static uint64_t factor_of(const struct cap_call *c, const struct cap_step *s)
{
	uint64_t value = c->words[s->by];

	if (s->factor == CAP_FACTOR_NONE)
		return 1;
	if (s->factor == CAP_FACTOR_WORD)
		return value > s->less ? value - s->less : 0;
	if (value == 0)
		return 0;
	return number_at((const void *)value, s->factor == CAP_FACTOR_POINTED_4 ? 4 : 8);
}

/* Returns the number of bytes to copy; 0: none, or unknown. */
static uint64_t length_of(const struct cap_call *c, const struct cap_step *s, const void *at)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(s->bytes, factor_of(c, s), &bytes) || bytes > INT64_MAX)
		return 0;
	if ((s->flags & CAP_STEP_SIZED) && bytes >= 8 && number_at(at, 8) < bytes)
		return number_at(at, 8);
	return bytes;
}

/* Returns the function in a struct that describes a launch: the first handle that is set. */
static uint64_t function_in_struct(const struct api_view *v)
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

/* Kernel parameters in a struct; CU_LAUNCH_PARAM_* are in the next field. */
static void put_params_field(const struct cap_call *c, unsigned arg, const struct api_view *v,
			     const struct api_field *f)
{
	uint64_t params = 0, extra = 0;

	api_field_value(v, f, 0, &params);
	if (f + 1 < v->layout->fields + v->layout->n_fields &&
	    f[1].is.length.kind == API_LENGTH_EXTRA)
		api_field_value(v, f + 1, 0, &extra);
	cap_params_put(c, arg, function_in_struct(v), (void **)params, (void **)extra);
}

static void put_field(const struct cap_call *c, unsigned arg, const struct api_view *v, unsigned i)
{
	const struct api_field *f = &v->layout->fields[i];
	uint64_t at = 0, len;

	if (f->is.direction != API_DIRECTION_IN || f->is.length.kind == API_LENGTH_EXTRA ||
	    !api_field_counts(v, f))
		return;
	if (f->is.length.kind == API_LENGTH_PARAMS) {
		put_params_field(c, arg, v, f);
		return;
	}
	api_field_value(v, f, 0, &at);
	if (at == 0)
		return;
	len = f->is.length.kind == API_LENGTH_NUL ? strnlen((const char *)at, MAX_STRING)
						  : api_field_bytes(v, f);
	if (len > 0 && len <= MAX_FIELD)
		cap_put_bytes(c, arg, CAP_BLOB_FIELD, i, (const void *)at, len);
}

/* Copies the memory that fields of a copied struct point to. Ignores elements of an array. */
static void put_fields(const struct cap_call *c, unsigned arg, const void *at, uint64_t len)
{
	const struct api_call *call = api_call(c->api);
	const struct api_view view = {call->args[arg].layout, at, len, call, c->words};

	for (unsigned i = 0; len <= view.layout->bytes && i < view.layout->n_fields; i++)
		put_field(c, arg, &view, i);
}

static void announce_handles(const struct cap_step *s, const void *at, uint64_t len)
{
	for (uint64_t i = 0; i + 8 <= len; i += 8)
		cap_params_announce(number_at((const uint8_t *)at + i, 8),
				    s->flags & CAP_STEP_KERNELS);
}

static void copy_pointed(const struct cap_call *c, const struct cap_step *s,
			 enum cap_blob_what when)
{
	const void *at = (const void *)(uintptr_t)c->words[s->word];
	uint64_t len;

	if (!at ||
	    ((s->flags & CAP_STEP_SCALAR) && __atomic_load_n(&scalars_on_device, __ATOMIC_RELAXED)))
		return;
	len = length_of(c, s, at);
	if (len == 0)
		return;
	cap_put_bytes(c, s->arg, when, 0, at, len);
	if (s->flags & CAP_STEP_FIELDS)
		put_fields(c, s->arg, at, len);
	if (s->flags & (CAP_STEP_FUNCTIONS | CAP_STEP_KERNELS))
		announce_handles(s, at, len);
}

static void put_params(const struct cap_call *c, const struct cap_step *s)
{
	void **params = (void **)(uintptr_t)c->words[s->word];
	void **extra = s->bytes ? (void **)(uintptr_t)c->words[s->bytes] : NULL;

	cap_params_put(c, params ? s->arg : s->arg + 1u, c->words[s->by], params, extra);
}

static void run_step(const struct cap_call *c, const struct cap_step *s, enum cap_blob_what when)
{
	const void *at = (const void *)(uintptr_t)c->words[s->word];

	switch ((enum cap_step_kind)s->kind) {
	case CAP_STEP_COPY:
		copy_pointed(c, s, when);
		break;
	case CAP_STEP_STRING:
		if (at)
			cap_put_bytes(c, s->arg, when, 0, at, strnlen(at, MAX_STRING));
		break;
	case CAP_STEP_IMAGE:
		if (at)
			cap_put_image(c, s->arg, at);
		break;
	case CAP_STEP_FILE:
		if (at)
			cap_put_image_file(c, s->arg, at);
		break;
	case CAP_STEP_PARAMS:
		put_params(c, s);
		break;
	case CAP_STEP_UNLOAD:
		cap_params_forget();
		break;
	case CAP_STEP_END:
		break;
	}
}

const struct cap_step *cap_plan_run(const struct cap_call *c, const struct cap_step *step,
				    enum cap_blob_what when)
{
	const struct api_call *call = api_call(c->api);
	bool skip = when == CAP_BLOB_AFTER && call->result.meaning == API_MEANING_STATUS &&
		    !api_succeeded(call, c->result);
	int kept = errno;

	for (; step->kind != CAP_STEP_END; step++)
		if (!skip)
			run_step(c, step, when);
	errno = kept;
	return step + 1;
}
