/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

unsigned api_count(void)
{
	return api_n_calls;
}

const struct api_call *api_call(unsigned index)
{
	return index < api_n_calls ? &api_calls[index] : NULL;
}

static int by_name(const void *key, const void *call)
{
	return strcmp(key, ((const struct api_call *)call)->name);
}

int api_find(const char *name)
{
	const struct api_call *found =
		bsearch(name, api_calls, api_n_calls, sizeof(api_calls[0]), by_name);

	return found ? (int)(found - api_calls) : -ENOENT;
}

const char *api_value_name(const struct api_enum *e, int64_t value)
{
	for (unsigned i = 0; i < e->n_values; i++) {
		if (e->values[i].value == value)
			return e->values[i].name;
	}
	return NULL;
}

const struct api_arg *api_arg_of(const struct api_call *call, enum api_meaning meaning)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].meaning == meaning)
			return &call->args[i];
	return NULL;
}

bool api_has_lasting_effect(const struct api_call *call)
{
	const uint64_t brief =
		1ull << API_CLASS_QUERY | 1ull << API_CLASS_LAUNCH | 1ull << API_CLASS_COPY |
		1ull << API_CLASS_SET | 1ull << API_CLASS_PREFETCH | 1ull << API_CLASS_HOST_CALL |
		1ull << API_CLASS_MEMORY_OP | 1ull << API_CLASS_GRAPH_LAUNCH |
		1ull << API_CLASS_EVENT_RECORD | 1ull << API_CLASS_EVENT_WAIT |
		1ull << API_CLASS_EVENT_QUERY | 1ull << API_CLASS_STREAM_QUERY |
		1ull << API_CLASS_SYNC | 1ull << API_CLASS_COLLECTIVE | 1ull << API_CLASS_P2P |
		1ull << API_CLASS_GEMM | 1ull << API_CLASS_BLAS | 1ull << API_CLASS_PROFILE;

	return !(brief >> call->class & 1);
}

/* By ncclDataType_t, whose values are part of NCCL's ABI. */
static unsigned datatype_bytes(uint64_t type)
{
	static const uint8_t bytes[] = {
		1, 1, 4, 4, 8, 8, /* int8 uint8 int32 uint32 int64 uint64 */
		2, 4, 8, 2, 1, 1, /* float16 float32 float64 bfloat16 float8e4m3 float8e5m2 */
	};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

/* No length is negative. */
static uint64_t value_of(const struct api_call *call, unsigned arg, const uint64_t *words)
{
	const struct api_arg *a = &call->args[arg];
	uint64_t value = api_extended(a, words[a->word]);

	return a->wire == API_WIRE_INT && (int64_t)value < 0 ? 0 : value;
}

/* Returns UINT64_MAX if the words do not contain it. */
static uint64_t factor_of(const struct api_call *call, const struct api_factor *f,
			  const uint64_t *words, unsigned ranks)
{
	uint64_t value = 0;

	switch ((enum api_factor_kind)f->kind) {
	case API_FACTOR_POINTED:
		return UINT64_MAX;
	case API_FACTOR_RANKS:
		return ranks ? ranks : UINT64_MAX;
	case API_FACTOR_DATATYPE:
		value = datatype_bytes(value_of(call, f->arg, words));
		return value ? value : UINT64_MAX;
	case API_FACTOR_VALUE:
		value = value_of(call, f->arg, words);
		return value > f->less ? value - f->less : 0;
	}
	return UINT64_MAX;
}

uint64_t api_bytes(const struct api_call *call, unsigned arg, const uint64_t *words, unsigned ranks)
{
	const struct api_length *length = &call->args[arg].length;
	uint64_t bytes = length->bytes;

	if (length->kind != API_LENGTH_PRODUCT)
		return UINT64_MAX;
	for (unsigned i = 0; i < length->n; i++) {
		uint64_t factor = factor_of(call, &length->factors[i], words, ranks);

		if (factor == UINT64_MAX || __builtin_mul_overflow(bytes, factor, &bytes))
			return UINT64_MAX;
	}
	return bytes;
}
