/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/kineto/collective.h"

#include "base/array.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

int kineto_is_collective(const char *name)
{
	static const char *const parts[] = {
		"ncclKernel",	     "ncclDevKernel",	 "ncclDevFunc", "ncclSymDevKernel",
		"ncclSymkDevKernel", "rccl_main_kernel", "rcclGeneric", "mscclKernel",
	};

	if (!strcasestr(name, "ccl"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcasestr(name, parts[i]))
			return 1;
	return 0;
}

/* Spellings, longest first where one begins another. */
static const struct {
	const char *spelled, *op;
} ops[] = {
	{"allreduce", "all_reduce"},
	{"allgather", "all_gather"},
	{"reducescatter", "reduce_scatter"},
	{"alltoall", "all_to_all"},
	{"sendrecv", "send_recv"},
	{"broadcast", "broadcast"},
	{"barrier", "barrier"},
	{"gather", "gather"},
	{"scatter", "scatter"},
	{"reduce", "reduce"},
	{"send", "send_recv"},
	{"recv", "send_recv"},
};

/* The operation that a kernel, an argument or an annotation names; NULL unknown. */
static const char *op_of(const char *name)
{
	char plain[64];
	size_t n = 0;

	for (; *name && n < sizeof(plain) - 1; name++) {
		if (isalpha((unsigned char)*name))
			plain[n++] = (char)tolower((unsigned char)*name);
	}
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (strstr(plain, ops[i].spelled))
			return ops[i].op;
	}
	return NULL;
}

/* Bytes of one element of `dtype` ("Float", "c10::BFloat16", "float"), 0 unknown. */
static int dtype_bytes(const char *dtype)
{
	static const struct {
		const char *name;
		int bytes;
	} types[] = {
		{"float8", 1},	     {"byte", 1},    {"char", 1},     {"bool", 1},
		{"uint8", 1},	     {"int8", 1},    {"bfloat16", 2}, {"half", 2},
		{"short", 2},	     {"float16", 2}, {"int16", 2},    {"complexdouble", 16},
		{"complexfloat", 8}, {"double", 8},  {"longint", 8},  {"long", 8},
		{"int64", 8},	     {"float64", 8}, {"float", 4},    {"int", 4},
	};
	char plain[32];
	size_t n = 0;

	if (strncmp(dtype, "c10::", 5) == 0)
		dtype += 5;
	if (strcmp(dtype, "unsigned char") == 0 || strcmp(dtype, "signed char") == 0)
		return 1;
	for (; *dtype && n < sizeof(plain) - 1; dtype++) {
		if (isalnum((unsigned char)*dtype))
			plain[n++] = (char)tolower((unsigned char)*dtype);
	}
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strncmp(plain, types[i].name, strlen(types[i].name)) == 0)
			return types[i].bytes;
	}
	return 0;
}

static const struct kineto_slot_arg *find(const struct kineto_slot_arg *args, size_t n,
					  uint32_t key, uint8_t type)
{
	for (size_t i = 0; i < n; i++) {
		if (args[i].key == key && args[i].type == type && !args[i].varies)
			return &args[i];
	}
	return NULL;
}

/* The first quoted text in a list of types: ["c10::BFloat16", ""]. */
static size_t first_type(const char *json, char *ret, size_t cap)
{
	const char *from = strchr(json, '"');
	const char *to = from ? strchr(from + 1, '"') : NULL;
	size_t n = to ? (size_t)(to - from - 1) : 0;

	n = n < cap ? n : 0;
	memcpy(ret, n ? from + 1 : "", n);
	ret[n] = '\0';
	return n;
}

/* Elements of all tensors of the first argument in a list of shapes: [[[2, 3], [4]], []] is 10. */
static int64_t first_elements(const char *s)
{
	int64_t sum = 0, product = 1;
	int depth = 0;
	bool any = false;

	for (; *s; s++) {
		if (*s == '[') {
			depth++;
			product = 1;
			any = false;
		} else if (*s == ']') {
			if (any && __builtin_add_overflow(sum, product, &sum))
				return -1;
			any = false;
			if (--depth <= 1)
				break;
		} else if (isdigit((unsigned char)*s)) {
			char *end;
			int64_t v = strtoll(s, &end, 10);

			if (__builtin_mul_overflow(product, v, &product))
				return -1;
			any = true;
			s = end - 1;
		}
	}
	return sum > 0 ? sum : -1;
}

static int64_t times(int64_t elements, int bytes)
{
	int64_t v;

	if (elements < 0 || bytes == 0 || __builtin_mul_overflow(elements, (int64_t)bytes, &v))
		return -1;
	return v;
}

/* From shapes: the older way, "Input Dims" and "Input type". */
static int describe_shapes(struct kineto_sites *t, struct kineto_site *s,
			   const struct kineto_slot_arg *dims, const struct kineto_slot_arg *types)
{
	const struct kineto_string *strings = t->strings->strings;
	char dtype[40];
	size_t len = first_type(strings[types->value].s, dtype, sizeof(dtype));

	if (len == 0)
		return 0;
	s->message_bytes = times(first_elements(strings[dims->value].s), dtype_bytes(dtype));
	return kineto_strings_add(t->strings, dtype, len, &s->dtype);
}

int kineto_collective_describe(struct kineto_sites *t, struct kineto_site *s,
			       const struct kineto_slot_arg *args)
{
	const struct kineto_slot_arg *name =
		find(args, s->n_args, KINETO_COLLECTIVE_NAME, FMT_STRING);
	const struct kineto_slot_arg *in = find(args, s->n_args, KINETO_IN_NELEMS, FMT_INT);
	const struct kineto_slot_arg *out = find(args, s->n_args, KINETO_OUT_NELEMS, FMT_INT);
	const struct kineto_slot_arg *dtype = find(args, s->n_args, KINETO_DTYPE, FMT_STRING);
	const struct kineto_slot_arg *dims = find(args, s->n_args, KINETO_INPUT_DIMS, FMT_JSON);
	const struct kineto_slot_arg *types = find(args, s->n_args, KINETO_INPUT_TYPE, FMT_JSON);
	const char *op = name ? op_of(t->strings->strings[name->value].s) : NULL;

	if (!op)
		op = op_of(t->strings->strings[s->name].s);
	s->message_bytes = -1;
	if (dtype) {
		int64_t n = in ? in->value : -1;

		if (out && out->value > n)
			n = out->value;
		s->dtype = (uint32_t)dtype->value;
		s->message_bytes = times(n, dtype_bytes(t->strings->strings[dtype->value].s));
	} else if (dims && types) {
		int r = describe_shapes(t, s, dims, types);

		if (r < 0)
			return r;
	}
	return op ? kineto_strings_add(t->strings, op, strlen(op), &s->op) : 0;
}
