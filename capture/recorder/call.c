/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/call.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/images.h"

#include <stdio.h>

#define MOST_ARGS 96
#define MOST_HEX 4096 /* of a structure, in bytes */

int rec_arg(const struct rec_call *c, const char *name)
{
	for (int i = 0; c->api && i < c->api->n_args; i++)
		if (strcmp(c->api->args[i].name, name) == 0)
			return i;
	return -1;
}

/* Numbers are passed in whole words, of which the rest says nothing. */
static int64_t extend(uint64_t v, const struct api_arg *a)
{
	unsigned bits = a->bytes < 8 ? 64 - 8u * a->bytes : 0;

	if (bits == 0 || a->bytes == 0)
		return (int64_t)v;
	if (a->wire == API_WIRE_INT)
		return (int64_t)(v << bits) >> bits;
	return (int64_t)(v << bits >> bits);
}

int64_t rec_value_at(const struct rec_call *c, int arg)
{
	const struct api_arg *a = &c->api->args[arg];

	return a->word < c->n_words ? extend(c->record->words[a->word], a) : 0;
}

int64_t rec_value(const struct rec_call *c, const char *name, int64_t otherwise)
{
	int arg = rec_arg(c, name);

	return arg < 0 ? otherwise : rec_value_at(c, arg);
}

const struct rec_blob *rec_pointed_at(const struct rec_call *c, int arg, enum cap_blob_what what)
{
	for (uint32_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].arg == arg && c->blobs[i].what == what)
			return &c->blobs[i];
	return NULL;
}

const struct rec_blob *rec_pointed(const struct rec_call *c, const char *name,
				   enum cap_blob_what what)
{
	int arg = rec_arg(c, name);

	return arg < 0 ? NULL : rec_pointed_at(c, arg, what);
}

int rec_number(const struct rec_blob *b, size_t offset, size_t bytes, uint64_t *ret)
{
	uint64_t v = 0;

	if (!b || offset > b->len || b->len - offset < bytes || bytes > 8)
		return 0;
	memcpy(&v, b->data + offset, bytes);
	*ret = v;
	return 1;
}

size_t rec_stem(const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0))
		n -= 5;
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '2' &&
	    name[n - 1] <= '9')
		n -= 3;
	return n;
}

int rec_is(const struct rec_call *c, const char *stem)
{
	size_t n = strlen(stem);

	return strncmp(c->name, stem, n) == 0 && rec_stem(c->name) == n;
}

/* ---- the call as an event */

struct made {
	struct fmt_arg args[MOST_ARGS];
	int64_t values[MOST_ARGS];
	uint32_t n;
	struct fmt_names *names;
	int error;
};

static void put(struct made *m, const char *name, const char *suffix, enum fmt_type type,
		int64_t value)
{
	char key[160];
	int n = snprintf(key, sizeof(key), "%s%s", name, suffix);
	fmt_str s;

	if (m->n >= MOST_ARGS || m->error)
		return;
	m->error = fmt_names_string(m->names, key, (size_t)n < sizeof(key) ? (size_t)n : 0, &s);
	m->args[m->n] = (struct fmt_arg){.key = s, .type = (uint8_t)type, .varies = 1};
	m->values[m->n++] = value;
}

static void put_text(struct made *m, const char *name, const char *suffix, const void *bytes,
		     size_t len)
{
	fmt_str s = 0;

	if (!m->error)
		m->error = fmt_names_string(m->names, bytes, len, &s);
	put(m, name, suffix, FMT_STRING, s);
}

static void put_hex(struct made *m, const char *name, const char *suffix, const uint8_t *bytes,
		    size_t len)
{
	scoped(text_done) struct text hex = {0};

	text_hex(&hex, bytes, len < MOST_HEX ? len : MOST_HEX);
	if (!m->error)
		m->error = hex.error;
	put_text(m, name, suffix, hex.data, hex.len);
}

/* The number of the object beside its handle. */
static void put_id(struct made *m, const struct rec_call *c, const struct api_arg *a,
		   uint64_t handle)
{
	const struct rec_thing *t = NULL;
	int is_memory = a->meaning == API_MEANING_DEVPTR || a->meaning == API_MEANING_HOST;

	if (a->meaning == API_MEANING_STREAM)
		t = rec_stream_of(c, handle);
	else if (handle && (is_memory || api_is_handle((enum api_meaning)a->meaning)))
		t = rec_handles_find(c->process->things, a->meaning, handle);
	if (t)
		put(m, a->name, ".id", FMT_INT, t->number);
	else if (api_is_handle((enum api_meaning)a->meaning))
		put(m, a->name, ".id", FMT_INT, 0);
}

/* A number, a text, or what else lies there, byte by byte. */
static void put_blob(struct made *m, const struct rec_call *c, const struct api_arg *a,
		     const struct rec_blob *b)
{
	const char *suffix = b->what == CAP_BLOB_AFTER ? ".out" : ".in";
	uint64_t v;

	if (b->what == CAP_BLOB_PARAMS) {
		put_hex(m, a->name, ".packed", b->data, b->len);
	} else if (a->meaning == API_MEANING_STRING || a->length.kind == API_LENGTH_NUL) {
		put_text(m, a->name, suffix, b->data, strnlen((const char *)b->data, b->len));
	} else if (b->len == 1 || b->len == 2 || b->len == 4 || b->len == 8) {
		rec_number(b, 0, b->len, &v);
		put(m, a->name, suffix, FMT_INT, (int64_t)v);
		if (b->what == CAP_BLOB_AFTER && b->len == 8)
			put_id(m, c, a, v);
	} else {
		put_hex(m, a->name, suffix, b->data, b->len);
	}
}

static void put_image(struct made *m, const struct cap_image_record *image)
{
	char name[FMT_CONTENT_NAME_BYTES];

	fmt_content_name(image->hash, name);
	put_text(m, "image", ".hash", name, strlen(name));
	put(m, "image", ".bytes", FMT_INT, (int64_t)image->size);
	if (image->path_len > 0) {
		put_text(m, "image", ".file", image->data, image->path_len);
		put(m, "image", ".offset", FMT_INT, (int64_t)image->offset);
	}
	if (image->build_id_len > 0)
		put_hex(m, "image", ".build-id", (const uint8_t *)image->data + image->path_len,
			image->build_id_len);
}

static void put_args(struct made *m, const struct rec_call *c)
{
	for (int i = 0; i < c->api->n_args; i++) {
		const struct api_arg *a = &c->api->args[i];
		uint64_t v = (uint64_t)rec_value_at(c, i);

		if (a->wire == API_WIRE_STRUCT) {
			if (a->word < c->n_words)
				put_hex(m, a->name, "", (const uint8_t *)&c->record->words[a->word],
					a->bytes <= 8 * (c->n_words - a->word) ? a->bytes : 0);
			continue;
		}
		put(m, a->name, "", FMT_INT, (int64_t)v);
		if (a->direction == API_DIRECTION_NONE || a->direction >= API_DIRECTION_READS)
			put_id(m, c, a, v);
	}
	for (uint32_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].arg < c->api->n_args)
			put_blob(m, c, &c->api->args[c->blobs[i].arg], &c->blobs[i]);
}

static void put_words(struct made *m, const struct rec_call *c)
{
	char name[16];

	for (uint32_t i = 0; i < c->n_words && i < 16; i++) {
		snprintf(name, sizeof(name), "word%u", i);
		put(m, name, "", FMT_INT, (int64_t)c->record->words[i]);
	}
}

/* The library that the call is of, as profilers call such things. */
static const char *category_of(const struct rec_call *c)
{
	static const char *const names[] = {
		[API_LIBRARY_CUDA] = "cuda_driver",
		[API_LIBRARY_NCCL] = "nccl",
		[API_LIBRARY_CUBLAS] = "cublas",
		[API_LIBRARY_CUBLASLT] = "cublas",
	};

	return c->api && c->api->library < ARRAY_SIZE(names) ? names[c->api->library] : "unknown";
}

static int site_of(struct made *m, const struct rec_call *c, uint32_t *ret)
{
	const char *category = category_of(c);
	struct fmt_site site = {.kind = FMT_CALL, .n_args = m->n, .args = m->args};
	int r = fmt_names_string(m->names, c->name, strlen(c->name), &site.name);

	if (r == 0)
		r = fmt_names_string(m->names, category, strlen(category), &site.category);
	return r < 0 ? r : fmt_names_site(m->names, &site, ret);
}

struct rec_event rec_call_event(const struct rec_call *c, enum fmt_kind kind)
{
	return (struct rec_event){.start_ns = c->start_ns,
				  .duration_ns = c->end_ns - c->start_ns,
				  .correlation = c->record->id + 1,
				  .lane = c->thread->lane,
				  .call = REC_NONE,
				  .device = (int16_t)rec_current_device(c),
				  .kind = kind};
}

int rec_call_add(struct rec_call *c)
{
	struct made m = {.names = c->process->names};
	struct rec_event e = rec_call_event(c, FMT_CALL);
	int r;

	if (c->api)
		put_args(&m, c);
	else
		put_words(&m, c);
	for (uint32_t i = 0; i < c->n_images; i++)
		put_image(&m, c->images[i]);
	put(&m, "result", "", FMT_INT, c->record->result);
	if (c->record->head.flags & CAP_CALL_UNENDED)
		put(&m, "unended", "", FMT_INT, 1);
	r = m.error < 0 ? m.error : site_of(&m, c, &e.site);
	if (r == 0)
		r = rec_add_values(c->process, m.values, m.n, &e.first_value);
	if (r == 0)
		r = rec_add_event(c->process, &e, &c->event);
	c->process->counts.calls++;
	c->process->counts.nested += c->record->head.depth > 0;
	c->process->counts.failed += c->record->result != 0;
	c->process->counts.raw += !c->api;
	return r;
}
