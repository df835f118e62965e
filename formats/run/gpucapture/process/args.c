/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/args.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/api/scalar.h"
#include "formats/trace/images.h"

#include <math.h>
#include <stdio.h>

#define MOST_HEX 32768 /* of bytes without a meaning: a kernel has up to 32,764 of parameters */

#define MOST_KEY 200 /* bytes; a longer key is truncated */

void rec_args_begin(struct rec_args *m, struct fmt_names *names, const struct rec_last_call *like)
{
	m->names = names;
	m->like = like && like->template ? like : NULL;
	m->like_args = m->like ? fmt_template(names, like->template - 1)->args : NULL;
	m->n_like = m->like ? m->like->n : 0;
	m->n = m->left_out = 0;
	m->most = REC_MOST_ARGS -
		  6; /* reserve for result, depth, repeated, began, order, number of omitted ones */
	m->error = 0;
}

static void put_key(struct text *t, const struct rec_arg_key *key)
{
	if (key->in)
		put_key(t, key->in);
	text_str(t, key->name);
	if (key->index > 0)
		text_u64(t, key->index - 1);
	if (key->index > 0 && *key->name == '[')
		text_char(t, ']');
}

static int intern_key(struct fmt_names *names, const struct rec_arg_key *key, fmt_str *ret)
{
	scoped(text_done) struct text t = {0};

	put_key(&t, key);
	return t.error ? t.error
		       : fmt_names_string(names, t.data, t.len < MOST_KEY ? t.len : MOST_KEY, ret);
}

/* From here the arguments differ from those of the last call. */
static void leave_template(struct rec_args *m)
{
	if (m->n > 0) {
		memcpy(m->args, m->like_args, m->n * sizeof(*m->args));
		memcpy(m->codes, m->like->codes, m->n * sizeof(*m->codes));
	}
	m->n_like = 0;
}

void rec_args_put_mismatch(struct rec_args *m, const struct rec_arg_key *key, enum fmt_type type,
			   int64_t value)
{
	fmt_str s = 0;

	if (m->n >= m->most) {
		m->left_out++;
		return;
	}
	if (m->n_like > 0)
		leave_template(m);
	if (!m->error)
		m->error = intern_key(m->names, key, &s);
	m->codes[m->n] = key->code + type;
	m->values[m->n] = value;
	m->args[m->n++] = (struct fmt_arg){.key = s, .type = (uint8_t)type, .varies = 1};
}

void rec_args_end(struct rec_args *m)
{
	m->most = REC_MOST_ARGS;
	if (m->left_out > 0)
		rec_args_put(m, rec_arg_key_name(NULL, "arguments_left_out"), FMT_INT, m->left_out);
	if (m->n_like > 0 && m->n != m->like->n)
		leave_template(m);
}

bool rec_args_match(const struct rec_args *m)
{
	return m->n_like > 0;
}

void rec_args_put_text(struct rec_args *m, struct rec_arg_key key, enum fmt_type type,
		       const char *bytes, size_t len)
{
	fmt_str s = 0;

	if (!m->error)
		m->error = fmt_names_string(m->names, bytes, len, &s);
	rec_args_put(m, key, type, s);
}

/* Ends `text` as the value of the argument. */
static void put_buffer(struct rec_args *m, struct rec_arg_key key, enum fmt_type type,
		       const struct text *text)
{
	if (!m->error)
		m->error = text->error;
	rec_args_put_text(m, key, type, text->data, text->len);
}

void rec_args_put_hex(struct rec_args *m, struct rec_arg_key key, const uint8_t *bytes, size_t len)
{
	scoped(text_done) struct text hex = {0};

	text_hex(&hex, bytes, len < MOST_HEX ? len : MOST_HEX);
	put_buffer(m, key, FMT_STRING, &hex);
}

/* ---- objects of values */

/* Adds the number of the allocation that contains the address, and the offset in it. */
void rec_args_put_memory(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			 uint64_t address)
{
	const struct rec_allocation *a = rec_memory_find(&c->process->memory, address);

	if (!a)
		return;
	rec_args_put(m, rec_arg_key_name(&key, ".id"), FMT_INT, a->number);
	rec_args_put(m, rec_arg_key_name(&key, ".offset"), FMT_INT,
		     (int64_t)(address - a->address));
}

static uint32_t number_of(const struct rec_call *c, enum api_meaning meaning, uint64_t handle)
{
	const struct rec_object *t = NULL;

	if (meaning == API_MEANING_STREAM)
		t = rec_call_stream_of(c, handle);
	else if (handle)
		t = rec_handles_find(c->process->handles, meaning, handle);
	return t ? t->number : 0;
}

static void put_id(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
		   enum api_meaning meaning, uint64_t value)
{
	if (rec_is_address(meaning))
		rec_args_put_memory(m, c, key, value);
	else if (meaning == API_MEANING_FUNCTION && number_of(c, API_MEANING_KERNEL, value))
		/* Launches take either. */
		rec_args_put(m, rec_arg_key_name(&key, ".kernel_id"), FMT_INT,
			     number_of(c, API_MEANING_KERNEL, value));
	else if (api_is_handle(meaning))
		rec_args_put(m, rec_arg_key_name(&key, ".id"), FMT_INT,
			     number_of(c, meaning, value));
}

/* ---- single values */

static void put_float(struct rec_args *m, struct rec_arg_key key, double v, int digits)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%.*g", digits, v);

	rec_args_put_text(m, key, isfinite(v) ? FMT_JSON : FMT_STRING, text, (size_t)n);
}

static void put_real(struct rec_args *m, struct rec_arg_key key, const void *at, size_t bytes)
{
	float f;
	double d;

	if (bytes == 4) {
		memcpy(&f, at, 4);
		put_float(m, key, (double)f, 9);
	} else {
		memcpy(&d, at, 8);
		put_float(m, key, d, 17);
	}
}

/* A value that is extended to 64 bits. */
void rec_args_put_value(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			const struct api_arg *a, uint64_t v)
{
	const char *name = a->values ? api_value_name(a->values, (int64_t)v) : NULL;

	if (a->values && !name)
		name = api_value_name(a->values, (int32_t)v);
	if (name)
		rec_args_put_text(m, key, FMT_STRING, name, strlen(name));
	else if (a->wire == API_WIRE_FLOAT)
		put_real(m, key, &v, a->bytes);
	else
		rec_args_put(m, key, FMT_INT, (int64_t)v);
	put_id(m, c, key, (enum api_meaning)a->meaning, v);
}

/* The numbers in `bytes`, each of `width`, as a list. */
void rec_args_put_list(struct rec_args *m, struct rec_arg_key key, const uint8_t *bytes, size_t n,
		       size_t width)
{
	scoped(text_done) struct text list = {0};

	text_char(&list, '[');
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0;

		memcpy(&v, bytes + i * width, width);
		text_str(&list, i > 0 ? ", " : "");
		text_u64(&list, v);
	}
	text_char(&list, ']');
	put_buffer(m, key, FMT_JSON, &list);
}

/* Handles or addresses, with the objects or allocations that they identify. */
void rec_args_put_handles(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			  enum api_meaning meaning, const uint8_t *bytes, size_t n)
{
	scoped(text_done) struct text ids = {0}, offsets = {0};

	rec_args_put_list(m, key, bytes, n, 8);
	for (size_t i = 0; i < n; i++) {
		const struct rec_allocation *a = NULL;
		uint64_t v;

		memcpy(&v, bytes + 8 * i, 8);
		if (rec_is_address(meaning))
			a = rec_memory_find(&c->process->memory, v);
		text_str(&ids, i > 0 ? ", " : "[");
		text_u64(&ids, a ? a->number : number_of(c, meaning, v));
		text_str(&offsets, i > 0 ? ", " : "[");
		text_u64(&offsets, a ? v - a->address : 0);
	}
	text_str(&ids, n > 0 ? "]" : "[]");
	text_str(&offsets, n > 0 ? "]" : "[]");
	put_buffer(m, rec_arg_key_name(&key, ".id"), FMT_JSON, &ids);
	if (rec_is_address(meaning))
		put_buffer(m, rec_arg_key_name(&key, ".offset"), FMT_JSON, &offsets);
}

/* ---- memory that arguments point to */

/* A scalar of cuBLAS with a known type, which is added too. */
static void put_typed_scalar(struct rec_args *m, struct rec_arg_key key, const struct rec_blob *b)
{
	const struct api_scalar *type = api_scalar(b->field - 1u);
	uint64_t v;

	if (!type || type->bytes != b->len)
		return;
	if (type->is_real && type->parts == 1) {
		put_real(m, key, b->data, b->len);
	} else if (type->is_real) {
		put_real(m, rec_arg_key_name(&key, ".re"), b->data, b->len / 2);
		put_real(m, rec_arg_key_name(&key, ".im"), b->data + b->len / 2, b->len / 2);
	} else if (rec_blob_number(b, 0, b->len, &v)) {
		rec_args_put(m, key, FMT_INT, (int64_t)v);
	}
	rec_args_put_text(m, rec_arg_key_name(&key, ".type"), FMT_STRING, type->name,
			  strlen(type->name));
}

/* alpha and beta of cuBLAS: real or complex by the letter in the call's name. */
static void put_scalar(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
		       const struct rec_blob *b)
{
	const char *letter = c->name + (strncmp(c->name, "cublasXt", 8) == 0 ? 8 : 6);
	uint64_t v;

	if (strncmp(c->name, "cublas", 6) != 0 || *letter == 'I' || b->len < 4) {
		if (rec_blob_number(b, 0, b->len, &v))
			rec_args_put(m, key, FMT_INT, (int64_t)v);
	} else if (b->len == 4 || (b->len == 8 && *letter != 'C')) {
		put_real(m, key, b->data, b->len);
	} else if (b->len == 8 || b->len == 16) {
		put_real(m, rec_arg_key_name(&key, ".re"), b->data, b->len / 2);
		put_real(m, rec_arg_key_name(&key, ".im"), b->data + b->len / 2, b->len / 2);
	} else {
		rec_args_put_hex(m, key, b->data, b->len);
	}
}

static void put_numbers(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			const struct api_arg *a, const struct rec_blob *b)
{
	uint64_t v;
	int handles = api_is_handle((enum api_meaning)a->meaning) || rec_is_address(a->meaning);

	if (b->len == 1 || b->len == 2 || b->len == 4 || b->len == 8) {
		const char *name = NULL;

		rec_blob_number(b, 0, b->len, &v);
		if (a->values)
			name = api_value_name(a->values, (int32_t)v);
		if (name)
			rec_args_put_text(m, key, FMT_STRING, name, strlen(name));
		else
			rec_args_put(m, key, FMT_INT, (int64_t)v);
		if (b->len == 8)
			put_id(m, c, rec_arg_key_name(NULL, a->name), (enum api_meaning)a->meaning,
			       v);
	} else if (handles && b->len % 8 == 0 &&
		   (b->len / 8 <= REC_MOST_ELEMENTS || rec_is_address(a->meaning))) {
		rec_args_put_handles(m, c, key, (enum api_meaning)a->meaning, b->data, b->len / 8);
	} else {
		rec_args_put_hex(m, key, b->data, b->len);
	}
}

/* Adds a struct; bytes that no field describes (an unknown member of a union) are added as
 * numbers. */
static void put_struct(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
		       const struct api_arg *a, const struct rec_blob *b)
{
	const struct api_view all = {a->layout, b->data, b->len, c->api, c->record->words};
	uint32_t before = m->n;

	rec_args_put_structs(m, c,
			     b->what == CAP_BLOB_AFTER ? key : rec_arg_key_name(NULL, a->name),
			     &all, b->arg);
	if (m->n == before && b->len > 0)
		put_numbers(m, c, key, a, b);
}

static void put_blob(struct rec_args *m, const struct rec_call *c, const struct api_arg *a,
		     const struct rec_blob *b)
{
	const struct rec_arg_key name = rec_arg_key_name(NULL, a->name);
	const struct rec_arg_key key =
		rec_arg_key_name(&name, b->what == CAP_BLOB_AFTER ? ".out" : ".in");

	if (b->what == CAP_BLOB_FIELD || b->what == CAP_BLOB_BYTES)
		return; /* with its struct; as `bytes` */
	if (b->what == CAP_BLOB_PARAMS)
		rec_args_put_params(m, c, a, b);
	else if (b->what == CAP_BLOB_HANDLES)
		rec_args_put_handles(m, c, rec_arg_key_name(&name, ".nodes"),
				     API_MEANING_GRAPH_NODE, b->data, b->len / 8);
	else if (a->meaning == API_MEANING_STRING || a->length.kind == API_LENGTH_NUL)
		rec_args_put_text(m, key, FMT_STRING, (const char *)b->data,
				  strnlen((const char *)b->data, b->len));
	else if (a->layout)
		put_struct(m, c, key, a, b);
	else if (a->meaning == API_MEANING_SCALAR && b->field > 0)
		put_typed_scalar(m, key, b);
	else if (a->meaning == API_MEANING_SCALAR)
		put_scalar(m, c, key, b);
	else
		put_numbers(m, c, key, a, b);
}

static void put_image(struct rec_args *m, const struct cap_image_record *image)
{
	char name[FMT_CONTENT_NAME_BYTES];

	fmt_content_name(image->hash, name);
	rec_args_put_text(m, rec_arg_key_name(NULL, "image.hash"), FMT_STRING, name, strlen(name));
	rec_args_put(m, rec_arg_key_name(NULL, "image.bytes"), FMT_INT, (int64_t)image->size);
	if (image->path_len > 0) {
		rec_args_put_text(m, rec_arg_key_name(NULL, "image.file"), FMT_STRING, image->data,
				  image->path_len);
		rec_args_put(m, rec_arg_key_name(NULL, "image.offset"), FMT_INT,
			     (int64_t)image->offset);
	}
	if (image->build_id_len > 0)
		rec_args_put_hex(m, rec_arg_key_name(NULL, "image.build-id"),
				 (const uint8_t *)image->data + image->path_len,
				 image->build_id_len);
}

/* ---- all arguments */

/* Returns the size of the memory that the call allocates or frees; 0: unknown. */
static uint64_t memory_bytes(const struct rec_call *c)
{
	const struct rec_allocation *memory;
	const struct rec_object *physical;

	for (int i = 0; i < c->api->n_args; i++) {
		const struct api_arg *a = &c->api->args[i];
		uint64_t at = (uint64_t)rec_call_value_at(c, i);

		if (!rec_is_address(a->meaning) && a->meaning != API_MEANING_MEMORY)
			continue;
		if (a->direction == API_DIRECTION_OUT &&
		    !rec_blob_number(rec_call_blob_at(c, i, CAP_BLOB_AFTER), 0, 8, &at))
			return 0;
		memory = rec_memory_find(&c->process->memory, at);
		physical = rec_handles_find(c->process->handles, API_MEANING_MEMORY, at);
		if (a->meaning == API_MEANING_MEMORY)
			return physical ? physical->bytes : 0;
		return memory ? memory->bytes : 0;
	}
	return 0;
}

/* Adds that size, if it is not an argument of the call. */
static void put_memory_bytes(struct rec_args *m, const struct rec_call *c)
{
	bool takes = c->api->class == API_CLASS_FREE || c->api->class == API_CLASS_DESTROY;
	uint64_t bytes;

	if ((!takes && c->api->class != API_CLASS_ALLOC) || rec_call_arg(c, "bytesize") >= 0 ||
	    rec_call_arg(c, "size") >= 0)
		return;
	bytes = memory_bytes(c);
	if (bytes > 0)
		rec_args_put(m, rec_arg_key_name(NULL, "bytes"), FMT_INT, (int64_t)bytes);
}

/* Returns true if the argument is a plain number, without a name, an object or an address. */
static bool is_number(const struct api_arg *a)
{
	return !a->values && a->wire != API_WIRE_FLOAT && !rec_is_address(a->meaning) &&
	       !api_is_handle((enum api_meaning)a->meaning);
}

static void put_described(struct rec_args *m, const struct rec_call *c)
{
	const struct rec_blob *comms = rec_call_blob_at(c, 0, CAP_BLOB_HANDLES);

	for (int i = 0; i < c->api->n_args; i++) {
		const struct api_arg *a = &c->api->args[i];

		if (a->word >= c->n_words)
			continue;
		if (a->wire == API_WIRE_STRUCT || a->bytes > 8)
			rec_args_put_hex(m, rec_arg_key_name(NULL, a->name),
					 (const uint8_t *)&c->record->words[a->word],
					 a->bytes <= 8 * (c->n_words - a->word) ? a->bytes : 0);
		else if (is_number(a) ||
			 (a->direction > API_DIRECTION_NONE && a->direction < API_DIRECTION_READS))
			rec_args_put(m, rec_arg_key_name(NULL, a->name), FMT_INT,
				     rec_call_value_at(c, i));
		else
			rec_args_put_value(m, c, rec_arg_key_name(NULL, a->name), a,
					   (uint64_t)rec_call_value_at(c, i));
	}
	for (uint32_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].arg < c->api->n_args)
			put_blob(m, c, &c->api->args[c->blobs[i].arg], &c->blobs[i]);
	if (comms)
		rec_args_put_handles(m, c, rec_arg_key_name(NULL, "comms.out"), API_MEANING_COMM,
				     comms->data, comms->len / 8);
	put_memory_bytes(m, c);
}

static void put_words(struct rec_args *m, const struct rec_call *c)
{
	for (uint32_t i = 0; i < c->n_words && i < 16; i++)
		rec_args_put(m, rec_arg_key_index(NULL, "word", i), FMT_INT,
			     (int64_t)c->record->words[i]);
}

void rec_args_add_call(struct rec_args *m, const struct rec_call *c)
{
	if (c->api)
		put_described(m, c);
	else
		put_words(m, c);
	for (uint32_t i = 0; i < c->n_images; i++)
		put_image(m, c->images[i]);
	m->most = REC_MOST_ARGS - 1;
}
