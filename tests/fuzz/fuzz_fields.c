/* SPDX-License-Identifier: Apache-2.0 */

/* Structs passed to calls: two bytes select an argument of any call, followed by the words of the
 * call, as many as fit, and the struct. */
#include "base/scope.h"
#include "formats/api/fields.h"
#include "formats/trace/store/cursor.h"

#define MOST_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Returns the n-th argument that has a layout, modulo their number. */
static const struct api_arg *nth_argument(unsigned n, const struct api_call **call)
{
	unsigned seen = 0;

	for (unsigned i = 0;; i = (i + 1) % api_count()) {
		*call = api_call(i);
		for (unsigned k = 0; k < (*call)->n_args; k++)
			if ((*call)->args[k].layout && seen++ == n)
				return &(*call)->args[k];
	}
}

static void read_fields(const struct api_view *v, unsigned depth)
{
	for (unsigned i = 0; i < v->layout->n_fields; i++) {
		const struct api_field *f = &v->layout->fields[i];
		struct api_view in = *v;
		uint64_t value;

		api_number(v, f->arg.name);
		for (unsigned k = 0; k < f->count && api_field_counts(v, f); k++)
			api_field_value(v, f, k, &value);
		in.layout = f->arg.layout;
		in.len = api_field_bytes(v, f) < v->len ? api_field_bytes(v, f) : v->len;
		if (in.layout && depth < 4)
			read_fields(&in, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fmt_cursor c = fmt_cursor(data, len);
	unsigned n = fmt_u8(&c) | (unsigned)fmt_u8(&c) << 8;
	uint64_t words[MOST_WORDS] = {0};
	struct api_view v = {.words = words};
	const struct api_call *call;
	const struct api_arg *a = nth_argument(n % 2048, &call);
	scoped(free_ptr) void *bytes = NULL;

	for (unsigned i = 0; i < call->n_words && i < MOST_WORDS && fmt_left(&c) >= 8; i++)
		words[i] = fmt_u64(&c);
	v.call = call;
	v.layout = a->layout;
	v.len = fmt_left(&c);
	bytes = malloc(v.len + 1);
	if (!bytes)
		abort();
	memcpy(bytes, fmt_bytes(&c, v.len), v.len);
	v.bytes = bytes;
	for (unsigned i = 0; i < call->n_args; i++)
		api_bytes(call, i, words, (unsigned)words[0]);
	read_fields(&v, 0);
	return 0;
}
