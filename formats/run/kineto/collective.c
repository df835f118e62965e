/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/collective.h"

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

int kineto_is_collective_range(const char *name)
{
	return strcmp(name, "record_param_comms") == 0 || strncmp(name, "nccl:", 5) == 0 ||
	       strncmp(name, "c10d::", 6) == 0;
}

/* Spellings; of two with a common start, the longer comes first. */
static const struct {
	const char *spelled, *op;
} ops[] = {
	{"barrier", "barrier"}, /* nccl:all_reduce_barrier */
	{"allreduce", "all_reduce"},
	{"allgather", "all_gather"},
	{"reducescatter", "reduce_scatter"},
	{"alltoall", "all_to_all"},
	{"sendrecv", "send_recv"},
	{"broadcast", "broadcast"},
	{"gather", "gather"},
	{"scatter", "scatter"},
	{"reduce", "reduce"},
	{"send", "send_recv"},
	{"recv", "send_recv"},
};

/* Returns the operation in the name of a kernel, operator or annotation; NULL: unknown. */
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

/* Spellings of data types, without case and punctuation, of two with a common start the longer
 * first; PyTorch's name, and the size of an element. */
static const struct dtype {
	const char *spelled, *name;
	int bytes;
} dtypes[] = {
	{"float8e4m3fnuz", "Float8_e4m3fnuz", 1},
	{"float8e5m2fnuz", "Float8_e5m2fnuz", 1},
	{"float8e4m3fn", "Float8_e4m3fn", 1},
	{"float8e5m2", "Float8_e5m2", 1},
	{"f8e4m3", "Float8_e4m3fn", 1},
	{"f8e5m2", "Float8_e5m2", 1},
	{"unsignedchar", "Byte", 1},
	{"signedchar", "Char", 1},
	{"byte", "Byte", 1},
	{"char", "Char", 1},
	{"bool", "Bool", 1},
	{"uint8", "Byte", 1},
	{"int8", "Char", 1},
	{"bfloat16", "BFloat16", 2},
	{"bf16", "BFloat16", 2},
	{"half", "Half", 2},
	{"float16", "Half", 2},
	{"f16", "Half", 2},
	{"short", "Short", 2},
	{"int16", "Short", 2},
	{"complexdouble", "ComplexDouble", 16},
	{"complexfloat", "ComplexFloat", 8},
	{"double", "Double", 8},
	{"float64", "Double", 8},
	{"f64", "Double", 8},
	{"longint", "Long", 8},
	{"long", "Long", 8},
	{"int64", "Long", 8},
	{"i64", "Long", 8},
	{"uint64", "ULong", 8},
	{"u64", "ULong", 8},
	{"float", "Float", 4},
	{"f32", "Float", 4},
	{"int", "Int", 4},
	{"i32", "Int", 4},
	{"uint32", "UInt", 4},
	{"u32", "UInt", 4},
	{"i8", "Char", 1},
	{"u8", "Byte", 1},
};

/* Returns the data type at the start of `s` ("Float", "c10::BFloat16", "bf16_RING_LL"), or NULL. */
static const struct dtype *dtype_of(const char *s)
{
	static const char *const prefixes[] = {"c10::", "__nv_", "rccl_"};
	char plain[32];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(s, prefixes[i], strlen(prefixes[i])) == 0)
			s += strlen(prefixes[i]);
	for (; *s && n < sizeof(plain) - 1; s++) {
		if (isalnum((unsigned char)*s))
			plain[n++] = (char)tolower((unsigned char)*s);
	}
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(dtypes); i++) {
		if (strncmp(plain, dtypes[i].spelled, strlen(dtypes[i].spelled)) == 0)
			return &dtypes[i];
	}
	return NULL;
}

/* A reducing kernel has its data type after the reduction in its name:
 * ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclKernel_AllReduce_RING_LL_Sum_float. A copying kernel
 * has no data type: NCCL moves bytes of any type. */
static const struct dtype *dtype_of_kernel(const char *name, const char *op)
{
	static const char *const reductions[] = {"_Sum_",    "_Prod_",	    "_Min_",	   "_Max_",
						 "_MinMax_", "_PreMulSum_", "_SumPostDiv_"};

	if (!op || !strstr(op, "reduce"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(reductions); i++) {
		const char *at = strcasestr(name, reductions[i]);

		if (at)
			return dtype_of(at + strlen(reductions[i]));
	}
	return NULL;
}

static const struct kineto_slot_arg *find_argument(const struct kineto_slot_arg *args, size_t n,
						   uint32_t key, uint8_t type)
{
	for (size_t i = 0; i < n; i++) {
		if (args[i].key == key && args[i].type == type && !args[i].varies)
			return &args[i];
	}
	return NULL;
}

/* The first data type in a list of types: ["c10::BFloat16", ""], or NULL. */
static const struct dtype *first_dtype(const char *json)
{
	char type[40];

	for (const char *from = strchr(json, '"'), *to; from; from = strchr(to + 1, '"')) {
		size_t n;

		to = strchr(from + 1, '"');
		if (!to)
			break;
		n = (size_t)(to - from - 1);
		if (n == 0 || n >= sizeof(type))
			continue;
		memcpy(type, from + 1, n);
		type[n] = '\0';
		if (dtype_of(type))
			return dtype_of(type);
	}
	return NULL;
}

/* Counts the elements of all tensors of the next argument in a list of shapes, and advances *at:
 * [[2, 3], [4]] is 10. -1: there is no tensor. */
static int64_t next_elements(const char **at)
{
	int64_t sum = 0, product = 1;
	int depth = 0;
	bool any = false, overflows = false;

	for (; **at; ++*at) {
		char c = **at;

		if (c == '[') {
			depth++;
			product = 1;
			any = false;
		} else if (c == ']') {
			overflows |= any && __builtin_add_overflow(sum, product, &sum);
			any = false;
			if (--depth <= 0)
				break;
		} else if (depth > 0 && isdigit((unsigned char)c)) {
			char *end;

			overflows |=
				__builtin_mul_overflow(product, strtoll(*at, &end, 10), &product);
			any = true;
			*at = end - 1;
		}
	}
	*at += **at == ']';
	return sum > 0 && !overflows ? sum : -1;
}

/* Returns the larger of the first two arguments in a list of shapes: c10d's operators begin with
 * the output and the input, or with tensors that are both. */
static int64_t larger_elements(const char *json)
{
	const char *at = *json == '[' ? json + 1 : json;
	int64_t first = next_elements(&at), second = next_elements(&at);

	return first > second ? first : second;
}

static int64_t times(int64_t elements, int bytes)
{
	int64_t v;

	if (elements < 0 || bytes == 0 || __builtin_mul_overflow(elements, (int64_t)bytes, &v))
		return -1;
	return v;
}

static const char *text_of(const struct fmt_strings *strings, const struct kineto_slot_arg *arg)
{
	return strings->strings[arg->value].s;
}

static int set_dtype(struct fmt_strings *strings, struct kineto_template *s,
		     const struct dtype *dtype, enum kineto_evidence source)
{
	s->dtype_source = (uint8_t)source;
	return fmt_strings_add(strings, dtype->name, strlen(dtype->name), &s->dtype);
}

/* Sets type and size from numbers of elements, which PyTorch records since 2.3. */
static int describe_numbers(struct fmt_strings *strings, struct kineto_template *s,
			    const struct kineto_slot_arg *args)
{
	const struct kineto_slot_arg *in =
		find_argument(args, s->n_args, KINETO_IN_NELEMS, FMT_INT);
	const struct kineto_slot_arg *out =
		find_argument(args, s->n_args, KINETO_OUT_NELEMS, FMT_INT);
	const struct kineto_slot_arg *dtype =
		find_argument(args, s->n_args, KINETO_DTYPE, FMT_STRING);
	const struct dtype *known = dtype ? dtype_of(text_of(strings, dtype)) : NULL;
	int64_t n = in ? in->value : -1;

	if (out && out->value > n)
		n = out->value;
	if (!known && dtype) { /* a type missing in the table has no size */
		s->dtype = (uint32_t)dtype->value;
		s->dtype_source = KINETO_FROM_ARGUMENTS;
	}
	if (!known)
		return 0;
	s->message_bytes = times(n, known->bytes);
	s->bytes_source = KINETO_FROM_ARGUMENTS;
	return set_dtype(strings, s, known, KINETO_FROM_ARGUMENTS);
}

/* Type and size from the shapes of an operator or annotation. An annotation has the input alone,
 * which is less than the message of an all_gather. */
static int describe_shapes(struct fmt_strings *strings, struct kineto_template *s,
			   const struct kineto_slot_arg *args, enum kineto_evidence source,
			   const char *op)
{
	const struct kineto_slot_arg *dims =
		find_argument(args, s->n_args, KINETO_INPUT_DIMS, FMT_JSON);
	const struct kineto_slot_arg *types =
		find_argument(args, s->n_args, KINETO_INPUT_TYPE, FMT_JSON);
	const struct dtype *dtype = types ? first_dtype(text_of(strings, types)) : NULL;
	bool partial = source == KINETO_FROM_ANNOTATION && op && strcmp(op, "all_gather") == 0;

	if (!dims || !dtype)
		return 0;
	if (!partial) {
		s->message_bytes = times(larger_elements(text_of(strings, dims)), dtype->bytes);
		s->bytes_source = s->message_bytes < 0 ? KINETO_FROM_NONE : (uint8_t)source;
	}
	return set_dtype(strings, s, dtype, source);
}

/* Returns the quality of evidence from the name alone. */
static enum kineto_evidence evidence_of(const struct fmt_strings *strings,
					const struct kineto_template *s)
{
	const char *name = strings->strings[s->name].s;

	if (s->class == KINETO_GPU_KERNEL)
		return KINETO_FROM_KERNEL;
	return strncmp(name, "nccl:", 5) == 0 ? KINETO_FROM_ANNOTATION : KINETO_FROM_OPERATOR;
}

int kineto_collective_describe(struct fmt_strings *strings, struct kineto_template *s,
			       const struct kineto_slot_arg *args)
{
	const struct kineto_slot_arg *told =
		find_argument(args, s->n_args, KINETO_COLLECTIVE_NAME, FMT_STRING);
	const char *name = strings->strings[s->name].s,
		   *op = told ? op_of(text_of(strings, told)) : NULL;
	enum kineto_evidence source = evidence_of(strings, s);
	int r;

	s->message_bytes = -1;
	s->op_source = (uint8_t)(op ? KINETO_FROM_ARGUMENTS : source);
	op = op ?: op_of(name);
	if (!op)
		s->op_source = KINETO_FROM_NONE;
	r = op ? fmt_strings_add(strings, op, strlen(op), &s->op) : 0;
	if (r == 0)
		r = describe_numbers(strings, s, args);
	if (r == 0 && s->dtype_source == KINETO_FROM_NONE && source != KINETO_FROM_KERNEL)
		r = describe_shapes(strings, s, args, source, op);
	if (r == 0 && s->dtype_source == KINETO_FROM_NONE && source == KINETO_FROM_KERNEL &&
	    dtype_of_kernel(name, op))
		r = set_dtype(strings, s, dtype_of_kernel(name, op), KINETO_FROM_KERNEL);
	return r;
}

void kineto_collective_merge(struct kineto_template *s, const struct kineto_template *range)
{
	bool shapes = s->bytes_source == KINETO_FROM_OPERATOR ||
		      s->bytes_source == KINETO_FROM_ANNOTATION;

	if (range->op_source > s->op_source) {
		s->op = range->op;
		s->op_source = range->op_source;
	}
	if (range->dtype_source > s->dtype_source) {
		s->dtype = range->dtype;
		s->dtype_source = range->dtype_source;
	}
	if (range->bytes_source == KINETO_FROM_ARGUMENTS
		    ? s->bytes_source < range->bytes_source
		    : (shapes || !s->bytes_source) && range->message_bytes > s->message_bytes) {
		s->message_bytes = range->message_bytes;
		s->bytes_source = range->bytes_source;
	}
}
