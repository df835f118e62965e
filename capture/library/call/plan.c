/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/call/plan.h"

#include "capture/library/call/params.h"
#include "capture/library/call/put.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/real.h"
#include "formats/api/fields.h"
#include "formats/api/scalar.h"

#include <errno.h>
#include <string.h>

#define MAX_STRING 65536
#define MAX_FIELD 65536 /* limit for the memory that one field of a struct points to */

static uint32_t scalars_on_device; /* relaxed */

void cap_plan_set_pointer_mode(int mode)
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

/* Returns whether the pointer mode of the cuBLAS handle, the first argument, is host. */
static bool is_on_host(const struct cap_call *c)
{
	static int (*get)(uint64_t handle, int *mode); /* relaxed */
	int (*f)(uint64_t, int *) = __atomic_load_n(&get, __ATOMIC_RELAXED);
	int mode = 1;

	if (!__atomic_load_n(&scalars_on_device, __ATOMIC_RELAXED))
		return true;
	if (!f) {
		f = (int (*)(uint64_t, int *))cap_real(CAP_CUBLAS, "cublasGetPointerMode_v2");
		__atomic_store_n(&get, f, __ATOMIC_RELAXED);
	}
	return f && f(c->words[0], &mode) == 0 && mode == 0;
}

/* Returns 0 if unknown. */
static uint64_t factor_of(const struct cap_call *c, const struct cap_plan_step *s)
{
	uint64_t value = c->words[s->factor_word];

	if (s->factor == CAP_FACTOR_NONE)
		return 1;
	if (s->factor == CAP_FACTOR_WORD)
		return value > s->less ? value - s->less : 0;
	if (value == 0)
		return 0;
	return number_at((const void *)value, s->factor == CAP_FACTOR_POINTED_4 ? 4 : 8);
}

/* Returns the number of bytes to copy; 0: none, or unknown. */
static uint64_t length_of(const struct cap_call *c, const struct cap_plan_step *s, const void *at)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(s->bytes, factor_of(c, s), &bytes) || bytes > INT64_MAX)
		return 0;
	if ((s->flags & CAP_PLAN_SIZED) && bytes >= 8 && number_at(at, 8) < bytes)
		return number_at(at, 8);
	return bytes;
}

static void put_field(const struct cap_call *c, unsigned arg, const struct api_view *v, unsigned i)
{
	const struct api_field *f = &v->layout->fields[i];
	struct cap_params params;
	uint64_t at = 0, len;

	if (f->arg.direction != API_DIRECTION_IN || f->arg.length.kind == API_LENGTH_EXTRA ||
	    !api_field_counts(v, f))
		return;
	if (f->arg.length.kind == API_LENGTH_PARAMS) {
		params = cap_params_of_field(v, f);
		cap_params_put(c, arg, &params);
		return;
	}
	api_field_value(v, f, 0, &at);
	if (at == 0)
		return;
	len = f->arg.length.kind == API_LENGTH_NUL ? strnlen((const char *)at, MAX_STRING)
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

static void announce_handles(const struct cap_plan_step *s, const void *at, uint64_t len)
{
	for (uint64_t i = 0; i + 8 <= len; i += 8)
		cap_params_register(number_at((const uint8_t *)at + i, 8),
				    s->flags & CAP_PLAN_KERNELS);
}

static void copy_pointed(const struct cap_call *c, const struct cap_plan_step *s,
			 enum cap_blob_kind when)
{
	const void *at = (const void *)(uintptr_t)c->words[s->word];
	uint64_t len;

	if (!at || ((s->flags & CAP_PLAN_ON_HOST) && !is_on_host(c)))
		return;
	len = length_of(c, s, at);
	if (len == 0)
		return;
	cap_put_bytes(c, s->arg, when, 0, at, len);
	if (s->flags & CAP_PLAN_FIELDS)
		put_fields(c, s->arg, at, len);
	if (s->flags & (CAP_PLAN_FUNCTIONS | CAP_PLAN_KERNELS))
		announce_handles(s, at, len);
}

/* ---- scalars of cuBLAS and NCCL */

enum { LT_SCALE_TYPE, LT_POINTER_MODE }; /* of a transformation; 1 more for a product */

/* Returns the attribute of a descriptor; UINT64_MAX: not known. */
static uint64_t attribute_of(const struct cap_call *c, const struct cap_plan_step *s, int attribute)
{
	typedef int function(uint64_t, int, void *, size_t, size_t *);
	static function *get[2]; /* relaxed */
	bool is_product = s->factor == CAP_FACTOR_MATMUL;
	function *f = __atomic_load_n(&get[is_product], __ATOMIC_RELAXED);
	uint32_t value = 0;
	size_t written;

	if (!f) {
		f = (function *)cap_real(CAP_CUBLASLT,
					 is_product ? "cublasLtMatmulDescGetAttribute"
						    : "cublasLtMatrixTransformDescGetAttribute");
		__atomic_store_n(&get[is_product], f, __ATOMIC_RELAXED);
	}
	return f && c->words[s->factor_word] &&
			       f(c->words[s->factor_word], attribute + is_product, &value,
				 sizeof(value), &written) == 0
		       ? value
		       : UINT64_MAX;
}

/* Returns the type of a scalar in host memory; NULL: unknown, or elsewhere. */
static const struct api_scalar *scalar_of(const struct cap_call *c, const struct cap_plan_step *s)
{
	switch (s->factor) {
	case CAP_FACTOR_TYPE:
		return api_scalar(c->words[s->factor_word]);
	case CAP_FACTOR_COMPUTE:
		return api_scalar_of_compute(c->words[s->factor_word], c->words[s->less]);
	default:
		return attribute_of(c, s, LT_POINTER_MODE) == 0
			       ? api_scalar(attribute_of(c, s, LT_SCALE_TYPE))
			       : NULL;
	}
}

enum { NCCL_ON_HOST = 1 }; /* ncclScalarHostImmediate */

/* The factor of ncclRedOpCreatePreMulSum. */
static void put_nccl_scalar(const struct cap_call *c, const struct cap_plan_step *s, const void *at)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* ncclDataType_t */
	uint64_t type = c->words[s->factor_word];

	if (type < sizeof(bytes) && c->words[s->less] == NCCL_ON_HOST)
		cap_put_bytes(c, s->arg, CAP_BLOB_BEFORE, 0, at, bytes[type]);
}

static const void *pointer_of(const struct cap_call *c, const struct cap_plan_step *s)
{
	return (const void *)(uintptr_t)c->words[s->word];
}

static void put_scalar(const struct cap_call *c, const struct cap_plan_step *s)
{
	const void *at = pointer_of(c, s);
	const struct api_scalar *type;

	if (!at || ((s->flags & CAP_PLAN_ON_HOST) && !is_on_host(c)))
		return;
	if (s->factor == CAP_FACTOR_REDUCTION) {
		put_nccl_scalar(c, s, at);
		return;
	}
	type = scalar_of(c, s);
	if (type)
		cap_put_bytes(c, s->arg, CAP_BLOB_BEFORE, type->type + 1u, at, type->bytes);
}

static void put_params(const struct cap_call *c, const struct cap_plan_step *s)
{
	const struct cap_params p = {
		.function = c->words[s->factor_word],
		.params = (void **)(uintptr_t)c->words[s->word],
		.extra = s->bytes ? (void **)(uintptr_t)c->words[s->bytes] : NULL,
	};

	cap_params_put(c, s->arg, &p);
}

/* ---- graph nodes */

static void put_nodes(const struct cap_call *c, const struct cap_plan_step *s)
{
	const void *const *at = pointer_of(c, s);
	const size_t *n = (const size_t *)(uintptr_t)c->words[s->factor_word];

	if (at && n && *at && *n > 0)
		cap_put_bytes(c, s->arg, CAP_BLOB_HANDLES, 0, *at, 8 * *n);
}

/* ---- memory of another process */

static void put_size(const struct cap_call *c, const struct cap_plan_step *s)
{
	const uint64_t *address = pointer_of(c, s);
	uint64_t start, bytes;
	size_t size;

	cap_cu_load();
	if (!address || !cap_cu.cuMemGetAddressRange_v2 ||
	    cap_cu.cuMemGetAddressRange_v2(&start, &size, *address) || *address < start)
		return;
	bytes = start + size - *address;
	cap_put_bytes(c, s->arg, CAP_BLOB_BYTES, 0, &bytes, sizeof(bytes));
}

/* ---- communicators that a group of NCCL calls creates */

#define MOST_COMMS 64

/* The group of the thread, and the pointers to communicators that NCCL has not set. */
static __thread struct {
	uint32_t depth, n;
	const uint64_t *at[MOST_COMMS];
} group __attribute__((tls_model("initial-exec")));

static void put_comm(const struct cap_call *c, const struct cap_plan_step *s)
{
	const uint64_t *at = pointer_of(c, s);

	if (!at || *at || group.depth == 0)
		copy_pointed(c, s, CAP_BLOB_AFTER);
	else if (group.n < MOST_COMMS)
		group.at[group.n++] = at;
}

static void begin_group(void)
{
	if (group.depth++ == 0)
		group.n = 0;
}

static void end_group(const struct cap_call *c)
{
	uint64_t comms[MOST_COMMS];

	if (group.depth > 0 || group.n == 0)
		return;
	for (uint32_t i = 0; i < group.n; i++)
		comms[i] = *group.at[i];
	cap_put_bytes(c, 0, CAP_BLOB_HANDLES, 0, comms, 8ul * group.n);
	group.n = 0;
}

static void run_step(const struct cap_call *c, const struct cap_plan_step *s,
		     enum cap_blob_kind when)
{
	switch ((enum cap_plan_step_kind)s->kind) {
	case CAP_PLAN_COPY:
		copy_pointed(c, s, when);
		break;
	case CAP_PLAN_SCALAR:
		put_scalar(c, s);
		break;
	case CAP_PLAN_STRING:
		if (pointer_of(c, s))
			cap_put_bytes(c, s->arg, when, 0, pointer_of(c, s),
				      strnlen(pointer_of(c, s), MAX_STRING));
		break;
	case CAP_PLAN_IMAGE:
		if (pointer_of(c, s))
			cap_put_image(c, s->arg, pointer_of(c, s));
		break;
	case CAP_PLAN_FILE:
		if (pointer_of(c, s))
			cap_put_image_file(c, s->arg, pointer_of(c, s));
		break;
	case CAP_PLAN_COMM:
		put_comm(c, s);
		break;
	case CAP_PLAN_NODES:
		put_nodes(c, s);
		break;
	case CAP_PLAN_BYTES:
		put_size(c, s);
		break;
	case CAP_PLAN_GROUP_BEGIN:
		begin_group();
		break;
	case CAP_PLAN_GROUP_LEAVE:
		group.depth -= group.depth > 0;
		break;
	case CAP_PLAN_GROUP_END:
		end_group(c);
		break;
	case CAP_PLAN_PARAMS:
		put_params(c, s);
		break;
	case CAP_PLAN_UNLOAD:
		cap_params_invalidate();
		break;
	case CAP_PLAN_END:
		break;
	}
}

const struct cap_plan_step *cap_plan_run(const struct cap_call *c, const struct cap_plan_step *step,
					 enum cap_blob_kind when)
{
	const struct api_call *call = api_call(c->api);
	bool skip = when == CAP_BLOB_AFTER && call->result.meaning == API_MEANING_STATUS &&
		    !api_succeeded(call, c->result);
	int kept = errno;

	for (; step->kind != CAP_PLAN_END; step++)
		if (!skip)
			run_step(c, step, when);
	errno = kept;
	return step + 1;
}
