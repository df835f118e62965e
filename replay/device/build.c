/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/build.h"

#include "base/array.h"
#include "formats/api/scalar.h"
#include "replay/device/driver.h"
#include "replay/device/functions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define FABRIC_HANDLE_BYTES 64 /* CUmemFabricHandle */
#define UNKNOWN_BYTES 65536    /* of the memory at a pointer of unknown length */

void rex_frame_done(struct rex_frame *b)
{
	arena_done(&b->memory);
}

void *rex_frame_alloc(struct rex_frame *b, size_t bytes)
{
	void *taken = bytes < SIZE_MAX / 2 ? arena_take(&b->memory, bytes + 8, 16) : NULL;

	if (taken)
		memset(taken, 0, bytes + 8);
	return taken;
}

int rex_frame_fail(struct rex_frame *b, int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(b->why, sizeof(b->why), format, args);
	va_end(args);
	return r;
}

const char *rex_key(char ret[REX_KEY_BYTES], const char *prefix, const char *name)
{
	if (snprintf(ret, REX_KEY_BYTES, "%s.%s", prefix, name) >= REX_KEY_BYTES)
		ret[0] = '\0'; /* no key is that long */
	return ret;
}

const char *rex_key_at(char ret[REX_KEY_BYTES], const char *prefix, size_t i)
{
	if (snprintf(ret, REX_KEY_BYTES, "%s[%zu]", prefix, i) >= REX_KEY_BYTES)
		ret[0] = '\0';
	return ret;
}

/* ---- values */

static int translate_memory(struct rex_frame *b, enum api_meaning meaning, uint64_t value,
			    uint64_t bytes, uint64_t *ret)
{
	if (rex_address(b->context->objects, value, ret))
		return bytes == UINT64_MAX ||
				       rex_address_is_mapped(b->context->objects, value, bytes)
			       ? 0
			       : rex_frame_fail(b, -EBADMSG,
						"memory at %#" PRIx64
						" is shorter than the call uses",
						value);
	*ret = value;
	if (bytes == 0 || bytes == UINT64_MAX)
		return meaning == API_MEANING_HOST && bytes != 0
			       ? rex_frame_fail(b, -ENOTSUP, "unknown length of host memory")
			       : 0;
	*ret = (uint64_t)rex_host_memory(b->context->objects, value, bytes);
	return *ret ? 0 : -ENOMEM;
}

/* NVIDIA's runtime makes the primary context of a device current before retaining it. The later
 * call that retains it contains its device. */
static bool retain_primary(struct rex_frame *b, uint64_t recorded, uint64_t *ret)
{
	const struct rex_process *p = b->context->process;
	int64_t made, device;
	void *here;

	for (size_t i = 0; i < p->n_calls; i++) {
		const struct rex_call *c = &p->calls[i];

		if (strcmp(c->api->name, "cuDevicePrimaryCtxRetain") != 0 || c->result != 0 ||
		    !rex_args_int(&c->args, "pctx.out", NULL, &made) ||
		    (uint64_t)made != recorded || !rex_args_int(&c->args, "dev", NULL, &device))
			continue;
		if (!rex_driver.retain ||
		    rex_driver.retain(&here, rex_device((int)device, p->device)) != 0)
			return false;
		*ret = (uint64_t)here;
		return rex_handle_set(b->context->objects, API_MEANING_CONTEXT, recorded, *ret) ==
		       0;
	}
	return false;
}

static int translate_handle(struct rex_frame *b, enum api_meaning meaning, uint64_t value,
			    uint64_t *ret)
{
	enum api_meaning other =
		meaning == API_MEANING_FUNCTION ? API_MEANING_KERNEL : API_MEANING_FUNCTION;

	if (rex_handle_get(b->context->objects, meaning, value, ret))
		return 0;
	if ((meaning == API_MEANING_FUNCTION || meaning == API_MEANING_KERNEL) &&
	    rex_handle_get(b->context->objects, other, value, ret))
		return 0;
	if (meaning == API_MEANING_LT && /* a handle of cuBLAS is one of cuBLASLt, too */
	    rex_handle_get(b->context->objects, API_MEANING_BLAS, value, ret))
		return 0;
	if (meaning == API_MEANING_CONTEXT && retain_primary(b, value, ret))
		return 0;
	return rex_frame_fail(b, -ENOENT, "no recorded call created the handle 0x%llx",
			      (unsigned long long)value);
}

/* Other processes may export memory as the same number. */
static int translate_fd(struct rex_frame *b, uint64_t value, uint64_t *ret)
{
	if (b->context->process->n_processes == 1 &&
	    rex_handle_get(b->context->objects, API_MEANING_FD, value, ret))
		return 0;
	return rex_frame_fail(b, -ENOTSUP,
			      b->context->process->n_processes == 1
				      ? "no recorded call exported the handle 0x%" PRIx64
				      : "cannot import the handle 0x%" PRIx64
					" in a recording of several processes",
			      value);
}

int rex_translate(struct rex_frame *b, enum api_meaning meaning, uint64_t value, uint64_t bytes,
		  uint64_t *ret)
{
	*ret = value;
	switch (meaning) {
	case API_MEANING_HOST:
	case API_MEANING_DEVPTR:
		return value ? translate_memory(b, meaning, value, bytes, ret) : 0;
	case API_MEANING_CALLBACK:
		*ret = rex_callback();
		return 0;
	case API_MEANING_DEVICE:
		if ((int32_t)value >= 0)
			*ret = (uint64_t)rex_device((int)value, b->context->process->device);
		return 0;
	case API_MEANING_ADDRESS:
		*ret = 0;
		return 0;
	case API_MEANING_STREAM:
		if (value <= 2) /* the default streams */
			return 0;
		return translate_handle(b, meaning, value, ret);
	case API_MEANING_FD:
		return translate_fd(b, value, ret);
	case API_MEANING_REDUCTION:
		rex_handle_get(b->context->objects, meaning, value, ret);
		return 0;
	default:
		return value && api_is_handle(meaning) ? translate_handle(b, meaning, value, ret)
						       : 0;
	}
}

/* Builds a value of up to 8 bytes. */
static int build_value(struct rex_frame *b, unsigned i, uint64_t bytes)
{
	const struct api_arg *a = &b->call->api->args[i];
	int64_t value = 0;

	if (a->wire == API_WIRE_FLOAT || a->wire == API_WIRE_COMPLEX)
		return rex_frame_fail(b, -ENOTSUP, "argument %s is a floating-point number",
				      a->name);
	if (!rex_args_int(&b->call->args, a->name, a, &value))
		return rex_frame_fail(b, -ENOENT, "argument %s is not recorded", a->name);
	return rex_translate(b, (enum api_meaning)a->meaning, (uint64_t)value, bytes,
			     &b->words[a->word]);
}

/* Builds a struct passed by value: an id or handle, possibly from another process. */
static int build_by_value(struct rex_frame *b, unsigned i)
{
	const struct api_arg *a = &b->call->api->args[i];
	void *at = &b->words[a->word];
	int r;

	if (a->word + (a->bytes + 7u) / 8 > REX_WORDS)
		return -E2BIG;
	if (rex_args_bytes(&b->call->args, a->name, 1, at, a->bytes) != a->bytes)
		return rex_frame_fail(b, -ENOENT, "argument %s is not recorded", a->name);
	if (a->meaning == API_MEANING_UNIQUE_ID || strncmp(b->call->api->name, "cuIpc", 5) == 0) {
		r = rex_share_get(b->context->share, at, a->bytes, at);
		if (r < 0)
			return rex_frame_fail(b, r, "%s: no recorded process created it", a->name);
	}
	return 0;
}

/* ---- memory that pointers refer to */

static uint64_t factor(const struct rex_frame *b, const struct api_factor *f)
{
	const struct api_arg *a = &b->call->api->args[f->arg];
	uint64_t value = 0;

	if (f->kind == API_FACTOR_POINTED && b->behind[f->arg])
		memcpy(&value, b->behind[f->arg], b->bytes[f->arg] < 8 ? b->bytes[f->arg] : 8);
	else if (f->kind == API_FACTOR_VALUE)
		value = api_extended(a, b->words[a->word]);
	else
		return UINT64_MAX;
	return value > f->less ? value - f->less : 0;
}

/* Returns the number of bytes that pointer `i` points to; UINT64_MAX: unknown. */
static uint64_t length_of(const struct rex_frame *b, unsigned i)
{
	const struct api_length *l = &b->call->api->args[i].length;
	uint64_t bytes = l->bytes;

	if (l->kind != API_LENGTH_PRODUCT)
		return UINT64_MAX;
	for (unsigned k = 0; k < l->n; k++) {
		uint64_t by = factor(b, &l->factors[k]);

		if (by == UINT64_MAX || __builtin_mul_overflow(bytes, by, &bytes))
			return UINT64_MAX;
	}
	return bytes;
}

/* Translates handles in a buffer. */
static int translate_list(struct rex_frame *b, const struct api_arg *a, void *at, size_t bytes)
{
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t value;
		int r;

		memcpy(&value, (char *)at + i, 8);
		r = rex_translate(b, (enum api_meaning)a->meaning, value, 0, &value);
		if (r < 0)
			return r;
		memcpy((char *)at + i, &value, 8);
	}
	return 0;
}

static int build_ids(struct rex_frame *b, void *at, size_t bytes)
{
	for (size_t i = 0; i + 128 <= bytes; i += 128)
		if (rex_share_get(b->context->share, (char *)at + i, 128, (char *)at + i) < 0)
			return rex_frame_fail(b, -ENOENT, "no recorded process created the id");
	return 0;
}

/* Numbers, names of enumerators, handles. */
static int build_numbers(struct rex_frame *b, const struct api_arg *a, void *at, size_t bytes)
{
	char key[REX_KEY_BYTES];
	bool are_objects =
		api_is_handle((enum api_meaning)a->meaning) || a->meaning == API_MEANING_DEVPTR;
	size_t width = are_objects ? 8 : 4;
	int64_t value;

	rex_key(key, a->name, "in");
	if (bytes <= 8 && rex_args_int(&b->call->args, key, a, &value))
		memcpy(at, &value, bytes);
	else if (rex_args_bytes(&b->call->args, key, width, at, bytes) != bytes && bytes > 0)
		return rex_frame_fail(b, -ENOENT, "contents of argument %s are not recorded",
				      a->name);
	if (a->meaning == API_MEANING_UNIQUE_ID)
		return build_ids(b, at, bytes);
	return are_objects ? translate_list(b, a, at, bytes) : 0;
}

/* Returns the type of a scalar of cuBLAS: recorded, or by the letter in the call's name. */
static const struct api_scalar *scalar_type(const struct rex_frame *b, const char *in)
{
	static const char *const by_letter[] = {['S'] = "R_32F",
						['D'] = "R_64F",
						['C'] = "C_32F",
						['Z'] = "C_64F",
						['H'] = "R_16F"};
	const char *name = b->call->api->name + 6;
	unsigned char letter = (unsigned char)name[strncmp(name, "Xt", 2) == 0 ? 2 : 0];
	char key[REX_KEY_BYTES];
	const char *text = rex_args_text(&b->call->args, rex_key(key, in, "type"), NULL);

	if (!text && letter < ARRAY_SIZE(by_letter))
		text = by_letter[letter];
	return text ? api_scalar_named(text) : NULL;
}

/* Builds alpha and beta of cuBLAS, or the factor of a reduction of NCCL: its bits are recorded. */
static int build_scalar(struct rex_frame *b, const struct api_arg *a, void *at)
{
	double part[2] = {0, 0};
	char in[REX_KEY_BYTES], key[REX_KEY_BYTES];
	const struct api_scalar *type = scalar_type(b, rex_key(in, a->name, "in"));
	int64_t value;

	if ((b->call->api->library == API_LIBRARY_NCCL || (type && !type->is_real)) &&
	    rex_args_int(&b->call->args, in, NULL, &value)) {
		memcpy(at, &value, sizeof(value));
		return 0;
	}
	if (!type || !type->is_real ||
	    (!rex_args_real(&b->call->args, in, &part[0]) &&
	     (!rex_args_real(&b->call->args, rex_key(key, in, "re"), &part[0]) ||
	      !rex_args_real(&b->call->args, rex_key(key, in, "im"), &part[1]))))
		return rex_frame_fail(b, -ENOENT, "argument %s is not recorded", a->name);
	if (type->bytes == 8 * type->parts) {
		memcpy(at, part, type->bytes);
	} else {
		const float narrow[2] = {(float)part[0], (float)part[1]};

		memcpy(at, narrow, type->bytes);
	}
	return 0;
}

/* Returns the number of structs; the last may be incomplete, such as a union with a short member.
 */
static size_t structs_in(const struct api_struct *layout, size_t bytes)
{
	return layout->bytes ? (bytes + layout->bytes - 1) / layout->bytes : 0;
}

static int build_in(struct rex_frame *b, unsigned i)
{
	const struct api_arg *a = &b->call->api->args[i];
	char key[REX_KEY_BYTES];
	size_t len = 0;
	const char *text;

	if (a->meaning == API_MEANING_STRING || a->length.kind == API_LENGTH_NUL) {
		text = rex_args_text(&b->call->args, rex_key(key, a->name, "in"), &len);
		if (!text)
			return rex_frame_fail(b, -ENOENT, "argument %s is not recorded", a->name);
		b->behind[i] = rex_frame_alloc(b, len + 1);
		if (b->behind[i])
			memcpy(b->behind[i], text, len);
		return b->behind[i] ? 0 : -ENOMEM;
	}
	if (a->layout)
		return rex_build_structs(b, a->name, a->layout, structs_in(a->layout, b->bytes[i]),
					 false, b->behind[i]);
	if (a->meaning == API_MEANING_SCALAR)
		return build_scalar(b, a, b->behind[i]);
	if (length_of(b, i) == UINT64_MAX)
		return 0;
	return build_numbers(b, a, b->behind[i], b->bytes[i]);
}

/* Returns true if a cuBLAS scalar is on the device. */
static bool lies_on_device(struct rex_frame *b, const struct api_arg *a, uint64_t value)
{
	return a->meaning == API_MEANING_SCALAR &&
	       rex_address(b->context->objects, value, &b->words[a->word]);
}

/* Builds a pointer to memory that the call itself uses. What `extra` contains is recorded as
 * `kernelParams`. */
static int build_pointer(struct rex_frame *b, unsigned i)
{
	const struct api_arg *a = &b->call->api->args[i];
	int64_t value = 0, extra = 0;
	uint64_t bytes;
	int r = 0;

	if (!rex_args_int(&b->call->args, a->name, NULL, &value))
		return rex_frame_fail(b, -ENOENT, "argument %s is not recorded", a->name);
	if (a->length.kind == API_LENGTH_PARAMS)
		rex_args_int(&b->call->args, "extra", NULL, &extra);
	if ((value == 0 && extra == 0) || a->length.kind == API_LENGTH_EXTRA ||
	    lies_on_device(b, a, (uint64_t)value))
		return 0;
	if (a->length.kind == API_LENGTH_PARAMS)
		r = rex_build_params(b, a->name, &b->behind[i]);
	else if (a->length.kind == API_LENGTH_IMAGE)
		r = rex_build_image(b, &b->behind[i], &b->bytes[i]);
	if (r < 0 || b->behind[i]) {
		b->words[a->word] = (uint64_t)b->behind[i];
		return r;
	}
	bytes = length_of(b, i);
	if (a->meaning == API_MEANING_FD) /* other kinds of handles are longer */
		bytes = FABRIC_HANDLE_BYTES;
	b->bytes[i] = bytes == UINT64_MAX ? UNKNOWN_BYTES : bytes;
	if (b->bytes[i] > SIZE_MAX / 4)
		return -ENOMEM;
	if (a->meaning == API_MEANING_COMM) /* NCCL may set it after the call */
		b->behind[i] = rex_host_memory(b->context->objects, (uint64_t)value, b->bytes[i]);
	else
		b->behind[i] = rex_frame_alloc(b, a->layout ? structs_in(a->layout, b->bytes[i]) *
								      a->layout->bytes
							    : b->bytes[i]);
	if (!b->behind[i])
		return -ENOMEM;
	if (a->direction != API_DIRECTION_OUT)
		r = build_in(b, i);
	b->words[a->word] = (uint64_t)b->behind[i];
	return r;
}

/* Omits options of the compiler and the linker, because they point into the recorded program. */
static bool is_option(const struct rex_frame *b, const struct api_arg *a)
{
	return (b->call->api->class == API_CLASS_MODULE_LOAD ||
		strncmp(b->call->api->name, "cuLink", 6) == 0) &&
	       (strstr(a->name, "ptions") || strstr(a->name, "ptionValues"));
}

static int build_all(struct rex_frame *b, bool pointers)
{
	const struct api_call *call = b->call->api;
	int r = 0;

	for (unsigned i = 0; i < call->n_args && r == 0; i++) {
		const struct api_arg *a = &call->args[i];
		bool is_pointer = a->direction == API_DIRECTION_IN ||
				  a->direction == API_DIRECTION_OUT ||
				  a->direction == API_DIRECTION_INOUT;

		if (is_option(b, a) || is_pointer != pointers)
			continue;
		if (is_pointer)
			r = build_pointer(b, i);
		else if (a->wire == API_WIRE_STRUCT || a->bytes > 8)
			r = build_by_value(b, i);
		else if (a->direction == API_DIRECTION_NONE)
			r = build_value(b, i, 0);
	}
	return r;
}

/* Builds memory that the operation uses: its length depends on the other arguments. */
static int build_memory(struct rex_frame *b)
{
	const struct api_call *call = b->call->api;
	int r = 0;

	for (unsigned i = 0; i < call->n_args && r == 0; i++)
		if (call->args[i].direction >= API_DIRECTION_READS)
			r = build_value(b, i, length_of(b, i));
	return r;
}

/* cublasLt*Init() makes a descriptor in memory of the program. Its pointer is a handle. */
static int build_descriptor(const struct rex_frame *b)
{
	const struct api_arg *a = b->call->api->args;
	int64_t recorded = 0, bytes = 0;
	void *here;

	if (b->call->api->library != API_LIBRARY_CUBLASLT || !strstr(b->call->api->name, "Init_"))
		return 0;
	rex_args_int(&b->call->args, a->name, NULL, &recorded);
	rex_args_int(&b->call->args, "size", NULL, &bytes);
	here = (uint64_t)bytes < UNKNOWN_BYTES
		       ? rex_host_memory(b->context->objects, (uint64_t)recorded, (uint64_t)bytes)
		       : NULL;
	return here ? rex_handle_set(b->context->objects, (enum api_meaning)a->meaning,
				     (uint64_t)recorded, (uint64_t)here)
		    : -ENOMEM;
}

int rex_build(struct rex_context *context, const struct rex_call *c, struct rex_frame *b)
{
	int64_t left_out;
	int r;

	memset(b, 0, sizeof(*b));
	b->context = context;
	b->call = c;
	if (rex_args_int(&c->args, "arguments_left_out", NULL, &left_out))
		return rex_frame_fail(b, -ENOTSUP, "%" PRId64 " of its arguments are not recorded",
				      left_out);
	if (strcmp(c->api->name, "cuGraphConditionalHandleCreate") == 0)
		return rex_frame_fail(b, -ENOTSUP, "conditional nodes of graphs");
	if (c->api->n_words > REX_WORDS || c->api->n_args > REX_ARGS)
		return -E2BIG;
	r = build_descriptor(b);
	if (r == 0)
		r = build_all(b, false);
	if (r == 0)
		r = build_all(b, true);
	if (r == 0)
		r = build_memory(b);
	if (r == 0 && c->api->class == API_CLASS_HOST_CALL)
		rex_build_host_function(b);
	if (r == 0 && c->api->class == API_CLASS_COPY)
		r = rex_build_source(context, b);
	if (r == 0 && strncmp(c->api->name, "cuGraph", 7) == 0 && rex_node_source_is_unknown(b))
		__atomic_add_fetch(&context->seeded, 1, __ATOMIC_RELAXED);
	return r;
}
