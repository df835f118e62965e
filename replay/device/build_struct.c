/* SPDX-License-Identifier: Apache-2.0 */

/* Builds structs in arguments, and kernel parameters. */
#include "replay/device/build.h"

#include "base/array.h"
#include "formats/api/fields.h"

#include <stdio.h>

/* ---- structs */

/* One struct: the prefix of its recorded fields, and its memory. */
struct made {
	struct rex_frame *b;
	const char *prefix;
	struct api_view view;
	uint8_t *at;
};

static void store(const struct made *m, const struct api_field *f, uint64_t value)
{
	memcpy(m->at + f->offset, &value, f->arg.bytes < 8 ? f->arg.bytes : 8);
}

/* The sum of two fields of the struct; 0 for a missing field. */
static uint64_t number(const struct made *m, const char *side, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s", side, name);
	return api_number(&m->view, key);
}

/* Adds; UINT64_MAX if the sum overflows. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t all;

	return __builtin_add_overflow(a, b, &all) ? UINT64_MAX : all;
}

/* Returns the bytes of host memory that a copy of rows uses, from its address; UINT64_MAX if
 * there are too many. */
static uint64_t rows_bytes(const struct made *m, const struct api_field *f)
{
	const char *side = strncmp(f->arg.name, "src", 3) == 0 ? "src" : "dst";
	uint64_t pitch = number(m, side, "Pitch"), height = number(m, side, "Height"), bytes;
	uint64_t width = sum(number(m, side, "XInBytes"), api_number(&m->view, "WidthInBytes"));
	uint64_t rows = sum(number(m, side, "Y"), api_number(&m->view, "Height"));
	uint64_t layers = sum(number(m, side, "Z"), api_number(&m->view, "Depth"));

	if (api_field(m->view.layout, "extent.width")) { /* of a batch */
		width = api_number(&m->view, "extent.width");
		rows = api_number(&m->view, "extent.height");
		layers = api_number(&m->view, "extent.depth");
		pitch = number(m, side, ".op.ptr.rowLength");
		height = number(m, side, ".op.ptr.layerHeight");
	}
	if (pitch < width)
		pitch = width;
	height = height > rows ? height : rows;
	if (layers > 1 && (__builtin_mul_overflow(layers - 1, height, &layers) ||
			   __builtin_add_overflow(layers, rows, &rows)))
		return UINT64_MAX;
	if (rows == 0)
		return 0;
	return __builtin_mul_overflow(rows - 1, pitch, &bytes) ||
			       __builtin_add_overflow(bytes, width, &bytes)
		       ? UINT64_MAX
		       : bytes;
}

/* Returns true for addresses: a device address may be one of pageable host memory, if a copy uses
 * unified memory. */
static bool is_memory(const struct api_field *f)
{
	return f->arg.meaning == API_MEANING_HOST || f->arg.meaning == API_MEANING_DEVPTR;
}

enum { LOCATION_DEVICE = 1 }; /* CUmemLocationType */

/* The number of a CUmemLocation. */
static bool is_device(const struct made *m, const struct api_field *f)
{
	return (strcmp(f->arg.name, "location.id") == 0 &&
		api_number(&m->view, "location.type") == LOCATION_DEVICE) ||
	       (strcmp(m->view.layout->name, "CUmemLocation") == 0 &&
		strcmp(f->arg.name, "id") == 0 && api_number(&m->view, "type") == LOCATION_DEVICE);
}

static int make_number(const struct made *m, const struct api_field *f, const char *key)
{
	int64_t value;
	uint64_t bytes;
	double real;
	int r;

	if (f->count > 1) {
		rex_args_bytes(&m->b->call->args, key, f->arg.bytes ? f->arg.bytes : 1,
			       m->at + f->offset, (size_t)f->count * f->arg.bytes);
		return 0;
	}
	if (f->arg.wire == API_WIRE_FLOAT) {
		float narrow;

		if (!rex_args_real(&m->b->call->args, key, &real))
			return 0;
		narrow = (float)real;
		memcpy(m->at + f->offset, f->arg.bytes == 4 ? (void *)&narrow : &real,
		       f->arg.bytes);
		return 0;
	}
	if (f->arg.bytes > 8) {
		rex_args_bytes(&m->b->call->args, key, 1, m->at + f->offset, f->arg.bytes);
		return 0;
	}
	if (!rex_args_int(&m->b->call->args, key, &f->arg, &value))
		return 0; /* of another member of the union */
	bytes = is_memory(f) ? rows_bytes(m, f) : 0;
	if (bytes == UINT64_MAX)
		return rex_frame_fail(m->b, -EBADMSG, "the copy of %s is too large", key);
	r = rex_translate(m->b,
			  is_device(m, f) ? API_MEANING_DEVICE : (enum api_meaning)f->arg.meaning,
			  (uint64_t)value, bytes, (uint64_t *)&value);
	store(m, f, (uint64_t)value);
	return r;
}

static bool is_chained(const struct api_field *f)
{
	return f->arg.direction == API_DIRECTION_IN || f->arg.direction == API_DIRECTION_INOUT ||
	       f->arg.length.kind == API_LENGTH_PARAMS;
}

/* Builds the object that a field points to, in separate memory. */
static int make_behind(const struct made *m, const struct api_field *f, const char *key)
{
	uint64_t bytes = api_field_bytes(&m->view, f);
	size_t len = 0;
	void *at = NULL;
	int64_t value;
	int r = 0;

	if (rex_args_int(&m->b->call->args, key, NULL, &value) && value == 0)
		return 0;
	if (f->arg.length.kind == API_LENGTH_PARAMS) {
		r = rex_build_params(m->b, key, &at);
	} else if (f->arg.length.kind == API_LENGTH_NUL) {
		const char *text = rex_args_text(&m->b->call->args, key, &len);

		at = text ? rex_frame_alloc(m->b, len + 1) : NULL;
		if (at)
			memcpy(at, text, len);
	} else if (bytes > 0) {
		at = rex_frame_alloc(m->b, bytes);
		if (at && f->arg.layout)
			r = rex_build_structs(m->b, key, f->arg.layout,
					      bytes / f->arg.layout->bytes, true, at);
		else if (at)
			rex_args_bytes(&m->b->call->args, key, 8, at, bytes);
		for (uint64_t i = 0; at && r == 0 && i + 8 <= bytes &&
				     api_is_handle((enum api_meaning)f->arg.meaning);
		     i += 8)
			r = rex_translate(m->b, (enum api_meaning)f->arg.meaning,
					  ((uint64_t *)at)[i / 8], 0, &((uint64_t *)at)[i / 8]);
	}
	if (!at && r == 0 && bytes > 0 && f->arg.length.kind != API_LENGTH_NUL)
		return -ENOMEM;
	store(m, f, (uint64_t)at);
	return r;
}

static int make_struct(const struct made *m)
{
	char key[REX_KEY_BYTES];
	int r = 0;

	/* First numbers, then memory, whose length depends on them, and pointers last. */
	for (int pass = 0; pass < 3; pass++)
		for (unsigned i = 0; i < m->view.layout->n_fields && r == 0; i++) {
			const struct api_field *f = &m->view.layout->fields[i];
			int when = is_chained(f) ? 2 : is_memory(f);

			if (when != pass)
				continue;
			rex_key(key, m->prefix, f->arg.name);
			if (when != 2)
				r = make_number(m, f, key);
			else if (api_field_counts(&m->view, f))
				r = make_behind(m, f, key);
		}
	return r;
}

int rex_build_structs(struct rex_frame *b, const char *prefix, const struct api_struct *layout,
		      size_t n, bool indexed, void *ret)
{
	char more[REX_KEY_BYTES];
	int r = 0;

	if (rex_args_text(&b->call->args, rex_key(more, prefix, "more"), NULL))
		return rex_frame_fail(b, -ENOTSUP, "%s has more structs than are recorded", prefix);
	for (size_t i = 0; i < n && r == 0; i++) {
		uint8_t *at = (uint8_t *)ret + i * layout->bytes;
		char name[REX_KEY_BYTES];
		const struct made m = {
			.b = b,
			.prefix = n > 1 || indexed ? rex_key_at(name, prefix, i) : prefix,
			.view = {layout, at, layout->bytes, b->call->api, b->words},
			.at = at,
		};

		r = make_struct(&m);
	}
	return r;
}

/* Returns true if a source in a struct is in no known memory: neither an allocation nor memory of a
 * graph. */
static bool is_pageable(const struct rex_frame *b, const struct api_view *v, const char *arg,
			const char *name)
{
	const struct api_field *f = api_field(v->layout, name);
	char path[REX_KEY_BYTES], key[REX_KEY_BYTES];
	int64_t value = 0;
	uint64_t here;

	return f && api_field_counts(v, f) &&
	       rex_args_int(&b->call->args, rex_key(path, arg, name), NULL, &value) &&
	       !rex_args_int(&b->call->args, rex_key(key, path, "id"), NULL, &value) &&
	       !rex_graph_memory_address(b->context->objects, (uint64_t)value, &here);
}

bool rex_node_source_is_unknown(const struct rex_frame *b)
{
	static const char *const names[] = {"srcHost", "srcDevice", "memcpy.copyParams.srcHost",
					    "memcpy.copyParams.srcDevice"};

	for (unsigned i = 0; i < b->call->api->n_args; i++)
		for (unsigned k = 0; k < ARRAY_SIZE(names); k++) {
			const struct api_arg *a = &b->call->api->args[i];
			const struct api_view v = {
				.layout = a->layout, .bytes = b->behind[i], .len = b->bytes[i]};

			if (a->layout && b->behind[i] && is_pageable(b, &v, a->name, names[k]))
				return true;
		}
	return false;
}

/* ---- parameters of kernels */

/* Translates a pointer in a parameter: `key.id`, its allocation, was recorded, except of memory
 * that a graph allocates. */
static void translate_pointer(struct rex_frame *b, const char *key, void *at)
{
	char beside[REX_KEY_BYTES];
	int64_t id;
	uint64_t value, here;

	memcpy(&value, at, 8);
	if (rex_args_int(&b->call->args, rex_key(beside, key, "id"), NULL, &id)
		    ? rex_memory_address(b->context->objects, value, &here)
		    : rex_graph_memory_address(b->context->objects, value, &here))
		memcpy(at, &here, 8);
}

/* Translates words of a parameter that were recorded as bytes: addresses of moved memory are
 * rewritten. A number that happens to equal such an address is unlikely. Reserved addresses without
 * memory are not rewritten: PyTorch reserves so many that a number of 4 bytes often equals one,
 * together with a gap after it that holds the upper half of an old pointer. */
static void translate_words(struct rex_frame *b, uint8_t *at, size_t size)
{
	uint64_t value, here;

	for (size_t i = 0; i + 8 <= size; i += 8) {
		memcpy(&value, at + i, 8);
		if (value && rex_memory_address(b->context->objects, value, &here))
			memcpy(at + i, &here, 8);
	}
}

static int build_param(struct rex_frame *b, const char *key, uint8_t *at, size_t size)
{
	char word[REX_KEY_BYTES];
	int64_t value;

	if (rex_args_int(&b->call->args, key, NULL, &value)) {
		memcpy(at, &value, size < 8 ? size : 8);
		if (size == 8)
			translate_pointer(b, key, at);
		return 0;
	}
	if (rex_args_text(&b->call->args, key, NULL)) {
		if (rex_args_bytes(&b->call->args, key, 1, at, size) != size)
			return rex_frame_fail(b, -ENOENT, "%s is not recorded whole", key);
		translate_words(b, at, size);
		return 0;
	}
	for (size_t i = 0; i + 8 <= size; i += 8) {
		char offset[24];

		snprintf(offset, sizeof(offset), "%zu", i);
		if (!rex_args_int(&b->call->args, rex_key(word, key, offset), NULL, &value))
			return rex_frame_fail(b, -ENOENT, "%s is not recorded", key);
		memcpy(at + i, &value, 8);
		translate_pointer(b, word, at + i);
	}
	return 0;
}

#define MOST_PARAMS 4096
#define MOST_PARAM_BYTES 65536

int rex_build_params(struct rex_frame *b, const char *prefix, void **ret)
{
	char key[REX_KEY_BYTES];
	const char *layout = rex_args_text(&b->call->args, rex_key(key, prefix, "layout"), NULL);
	void **pointers;
	size_t n = 0;
	char *end;
	int r = 0;

	if (!layout)
		return rex_frame_fail(b, -ENOENT, "the parameters of the kernel are not recorded");
	pointers = rex_frame_alloc(b, MOST_PARAMS * sizeof(*pointers));
	if (!pointers)
		return -ENOMEM;
	for (const char *at = layout; *at && r == 0; at = end) {
		size_t size;

		if (n == MOST_PARAMS)
			return rex_frame_fail(b, -EBADMSG, "too many parameters");
		strtoull(at, &end, 10);
		size = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
		if (end == at || size == 0 || size > MOST_PARAM_BYTES)
			return rex_frame_fail(b, -EBADMSG, "invalid layout of parameters");
		pointers[n] = rex_frame_alloc(b, size);
		if (!pointers[n])
			return -ENOMEM;
		r = build_param(b, rex_key_at(key, prefix, n), pointers[n], size);
		n++;
		end += strspn(end, " ");
	}
	*ret = pointers;
	return r;
}
