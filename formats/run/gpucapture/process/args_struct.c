/* SPDX-License-Identifier: Apache-2.0 */

/* Structs, and the parameters of kernels, field by field. */
#include "formats/run/gpucapture/process/args.h"

#include "base/scope.h"
#include "formats/trace/store/chunk.h"

#define MOST_WORDS 16 /* of a struct that is a kernel parameter */

/* ---- structs */

static const struct rec_blob *blob_of_field(const struct rec_call *c, int arg, unsigned field)
{
	for (uint32_t i = 0; arg >= 0 && i < c->n_blobs; i++)
		if (c->blobs[i].arg == arg && c->blobs[i].what == CAP_BLOB_FIELD &&
		    c->blobs[i].field == field)
			return &c->blobs[i];
	return NULL;
}

/* Adds the bytes that a pointer field points to, instead of the address. */
static void put_behind(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
		       const struct api_field *f, const struct rec_blob *b)
{
	if (f->arg.length.kind == API_LENGTH_NUL) {
		rec_args_put_text(m, key, FMT_STRING, (const char *)b->data, b->len);
	} else if (f->arg.layout) {
		const struct api_view all = {f->arg.layout, b->data, b->len, c->api,
					     c->record->words};

		rec_args_put_structs(m, c, key, &all, -1);
	} else if (api_is_handle((enum api_meaning)f->arg.meaning) && b->len % 8 == 0 &&
		   b->len / 8 <= REC_MOST_ELEMENTS) {
		rec_args_put_handles(m, c, key, (enum api_meaning)f->arg.meaning, b->data,
				     b->len / 8);
	} else {
		rec_args_put_hex(m, key, b->data, b->len);
	}
}

static void put_array(struct rec_args *m, struct rec_arg_key key, const struct api_view *v,
		      const struct api_field *f)
{
	size_t bytes = (size_t)f->count * f->arg.bytes;

	if (f->offset > v->len || v->len - f->offset < bytes)
		return;
	if (f->arg.bytes > 8 || f->arg.bytes == 1 || f->count > REC_MOST_ELEMENTS)
		rec_args_put_hex(m, key, (const uint8_t *)v->bytes + f->offset, bytes);
	else
		rec_args_put_list(m, key, (const uint8_t *)v->bytes + f->offset, f->count,
				  f->arg.bytes);
}

static void put_field(struct rec_args *m, const struct rec_call *c, struct rec_arg_key prefix,
		      const struct api_view *v, unsigned i, int arg)
{
	const struct api_field *f = &v->layout->fields[i];
	const struct rec_blob *b = blob_of_field(c, arg, i);
	const struct rec_arg_key dot = rec_arg_key_name(&prefix, "."),
				 key = rec_arg_key_name(&dot, f->arg.name);
	uint64_t value;

	/* Kernel parameters are added separately. */
	if (!api_field_counts(v, f) || f->arg.length.kind == API_LENGTH_PARAMS ||
	    f->arg.length.kind == API_LENGTH_EXTRA)
		return;
	if (b)
		put_behind(m, c, key, f, b);
	else if (f->count > 1)
		put_array(m, key, v, f);
	else if (api_field_value(v, f, 0, &value))
		rec_args_put_value(m, c, key, &f->arg, value);
}

/* Adds the fields of one struct, or of several with an index in their keys. `arg`: the argument
 * that points to the struct, -1 if a field does. */
void rec_args_put_structs(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			  const struct api_view *all, int arg)
{
	size_t size = all->layout->bytes, n = size ? (all->len + size - 1) / size : 0;

	for (size_t i = 0; i < n && i < REC_MOST_ELEMENTS; i++) {
		struct api_view one = *all;
		struct rec_arg_key name =
			n > 1 || arg < 0 ? rec_arg_key_index(&key, "[", (uint32_t)i) : key;

		one.bytes = (const uint8_t *)all->bytes + i * size;
		one.len = all->len - i * size < size ? all->len - i * size : size;
		for (unsigned f = 0; f < one.layout->n_fields; f++)
			put_field(m, c, name, &one, f, n == 1 ? arg : -1);
	}
	if (n > REC_MOST_ELEMENTS)
		rec_args_put_hex(m, rec_arg_key_name(&key, ".more"),
				 (const uint8_t *)all->bytes + REC_MOST_ELEMENTS * size,
				 all->len - REC_MOST_ELEMENTS * size);
}

/* ---- kernel parameters */

/* NCCL's kernels have thousands of bytes of parameters that always differ, and that only NCCL could
 * use again. */
static bool is_of_nccl(const struct rec_call *c)
{
	fmt_str name = rec_call_kernel_name(c, (uint64_t)rec_call_value(c, "f", 0));

	return strstr(fmt_string(c->process->names, name, NULL), "nccl") != NULL;
}

static void put_parameter(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			  const uint8_t *at, uint32_t size)
{
	uint64_t v = 0;

	if (size == 1 || size == 2 || size == 4 || size == 8) {
		memcpy(&v, at, size);
		rec_args_put(m, key, FMT_INT, (int64_t)v);
		if (size == 8)
			rec_args_put_memory(m, c, key, v);
	} else if (size % 8 == 0 && size <= 8 * MOST_WORDS) {
		for (uint32_t i = 0; i < size; i += 8)
			put_parameter(m, c, rec_arg_key_index(&key, ".", i), at + i, 8);
	} else if (is_of_nccl(c)) {
		rec_args_put(m, rec_arg_key_name(&key, ".bytes"), FMT_INT, size);
	} else {
		rec_args_put_hex(m, key, at, size);
	}
}

/* Returns the field of the argument that contains the parameters; NULL: the argument itself
 * does. */
static const char *params_field(const struct api_arg *a)
{
	for (unsigned i = 0; a->layout && i < a->layout->n_fields; i++)
		if (a->layout->fields[i].arg.length.kind == API_LENGTH_PARAMS)
			return a->layout->fields[i].arg.name;
	return NULL;
}

/* "0:4 8:8": offsets and sizes. */
static void put_layout(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
		       const uint8_t *table, uint64_t n)
{
	uint64_t hash = fmt_hash(table + 4, 8 * n);
	struct rec_layout_text *known = &c->process->memo.layouts[hash % REC_LAYOUT_TEXTS];
	scoped(text_done) struct text t = {0};
	struct cap_param p;

	if (known->text && known->hash == hash) {
		rec_args_put(m, key, FMT_STRING, known->text);
		return;
	}

	for (uint64_t i = 0; i < n; i++) {
		memcpy(&p, table + 4 + 8 * i, sizeof(p));
		text_str(&t, i > 0 ? " " : "");
		text_u64(&t, p.offset);
		text_char(&t, ':');
		text_u64(&t, p.size);
	}
	*known = (struct rec_layout_text){hash};
	if (!m->error)
		m->error = t.error ?: fmt_names_string(m->names, t.data, t.len, &known->text);
	rec_args_put(m, key, FMT_STRING, known->text);
}

/* Each parameter by its number; and the layout, from which the packed bytes follow. */
void rec_args_put_params(struct rec_args *m, const struct rec_call *c, const struct api_arg *a,
			 const struct rec_blob *b)
{
	const struct rec_arg_key name = rec_arg_key_name(NULL, a->name),
				 dot = rec_arg_key_name(&name, ".");
	const char *field = params_field(a);
	const struct rec_arg_key key = field ? rec_arg_key_name(&dot, field) : name;
	const uint8_t *packed = b->data;
	uint64_t n = 0, bytes;
	struct cap_param p;

	if (!rec_blob_number(b, 0, 4, &n) || n > (b->len - 4) / 8) {
		rec_args_put_hex(m, key, b->data, b->len);
		return;
	}
	bytes = (4 + 8 * n + 7) & ~(uint64_t)7;
	packed += bytes;
	bytes = b->len > bytes ? b->len - bytes : 0;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&p, b->data + 4 + 8 * (size_t)i, sizeof(p));
		if (p.offset <= bytes && p.size <= bytes - p.offset)
			put_parameter(m, c, rec_arg_key_index(&key, "[", i), packed + p.offset,
				      p.size);
	}
	put_layout(m, c, rec_arg_key_name(&key, ".layout"), b->data, n);
}
