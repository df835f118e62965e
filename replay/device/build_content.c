/* SPDX-License-Identifier: Apache-2.0 */

/* Contents that a call brings: code images, and host memory that it copies to a device. */
#include "replay/device/build.h"

#include "formats/api/fields.h"
#include "formats/trace/images.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/place.h"

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_UNIFIED = 4 }; /* CUmemorytype */

int rex_build_image(struct rex_built *b, void **ret, size_t *len)
{
	struct fmt_error err = {0};
	uint64_t name[2];
	size_t n;
	const char *hash = rex_args_text(&b->call->args, "image.hash", &n);
	uint8_t *image;
	int r;

	if (!hash || !fmt_content_name_get(hash, n, name))
		return rex_built_fail(b, -ENOENT, "the code image is not recorded");
	r = fmt_blob_read(b->context->process->trace, name, &image, len, &err);
	if (r == -ENOENT)
		return rex_built_fail(b, r,
				      "the trace does not hold code image %.32s; record with "
				      "--embed-images",
				      hash);
	if (r < 0)
		return rex_built_fail(b, r, "%s", err.what);
	*ret = rex_built_take(b, *len); /* PTX ends with a NUL */
	if (*ret)
		memcpy(*ret, image, *len);
	free(image);
	return *ret ? 0 : -ENOMEM;
}

/* Host memory that is copied from, in rows. */
struct source {
	uint8_t *at;
	uint64_t pitch, width, rows;	   /* of the host's memory */
	uint64_t layers, layer_bytes;	   /* of several layers */
	uint64_t to_pitch, to_layer_bytes; /* of the device's */
	bool is_locked; /* page-locked or managed: earlier work of the device may use it */
};

static uint64_t argument(const struct rex_built *b, const char *key)
{
	int64_t value = 0;

	rex_args_int(&b->call->args, key, NULL, &value);
	return (uint64_t)value;
}

/* Whether the memory at an argument or field is the host's; `is_host`: it is so if it lies in no
 * allocation. */
static bool is_on_host(const struct rex_built *b, const char *name, bool is_host, struct source *s)
{
	char key[REX_KEY_BYTES];
	int64_t id;

	if (!rex_args_int(&b->call->args, rex_key(key, name, "id"), NULL, &id))
		return is_host;
	s->is_locked =
		rex_place_host((uint64_t)id, argument(b, rex_key(key, name, "offset")), 0) != NULL;
	return s->is_locked;
}

/* The source of rows on the host; NULL: not on the host. */
static uint8_t *rows_source(const struct rex_built *b, const struct api_view *v, struct source *s)
{
	uint64_t type = api_number(v, "srcMemoryType");

	if (type == MEMORY_HOST) {
		is_on_host(b, "pCopy.srcHost", true, s);
		return (uint8_t *)api_number(v, "srcHost");
	}
	return (type == MEMORY_DEVICE || type == MEMORY_UNIFIED) &&
			       is_on_host(b, "pCopy.srcDevice", type == MEMORY_UNIFIED, s)
		       ? (uint8_t *)api_number(v, "srcDevice")
		       : NULL;
}

/* cuMemcpy2D and cuMemcpy3D from the host: their only argument is a struct. False: another copy. */
static bool rows_of(const struct rex_built *b, struct source *ret)
{
	const struct api_arg *a = &b->call->api->args[0];
	const struct api_view v = {.layout = a->layout, .bytes = b->behind[0], .len = b->bytes[0]};
	uint64_t height;

	if (!a->layout || !b->behind[0] || !api_field(a->layout, "srcHost"))
		return false;
	ret->at = rows_source(b, &v, ret);
	if (!ret->at)
		return false;
	ret->width = api_number(&v, "WidthInBytes");
	ret->rows = api_number(&v, "Height");
	ret->layers = api_field(a->layout, "Depth") ? api_number(&v, "Depth") : 1;
	ret->pitch = api_number(&v, "srcPitch") ?: ret->width;
	height = api_number(&v, "srcHeight") ?: ret->rows;
	ret->layer_bytes = ret->pitch * height;
	ret->to_pitch = api_number(&v, "dstPitch") ?: ret->width;
	height = api_number(&v, "dstHeight") ?: ret->rows;
	ret->to_layer_bytes = ret->to_pitch * height;
	ret->at += api_number(&v, "srcXInBytes") + api_number(&v, "srcY") * ret->pitch +
		   api_number(&v, "srcZ") * ret->layer_bytes;
	return true;
}

/* A copy of one range from the host. */
static bool range_of(const struct rex_built *b, struct source *ret)
{
	const struct api_call *call = b->call->api;
	const struct api_arg *from = NULL, *to = NULL;

	for (unsigned i = 0; i < call->n_args; i++) {
		if (call->args[i].direction == API_DIRECTION_READS)
			from = &call->args[i];
		else if (call->args[i].direction == API_DIRECTION_WRITES)
			to = &call->args[i];
	}
	if (!from || !to)
		return false;
	ret->width = argument(b, "ByteCount");
	ret->rows = ret->layers = 1;
	ret->pitch = ret->to_pitch = ret->layer_bytes = ret->to_layer_bytes = ret->width;
	ret->at = (uint8_t *)b->words[from->word];
	/* Addresses of any memory (cuMemcpy): what is in no allocation is the host's. */
	return (is_on_host(b, from->name, true, ret) || from->meaning == API_MEANING_HOST) &&
	       ret->at != NULL && ret->width > 0;
}

/* The memory `offset` bytes behind the destination's first byte comes from there; *left bytes
 * follow in the row. NULL: from nowhere. */
static uint8_t *source_of(const struct source *s, uint64_t offset, uint64_t *left)
{
	uint64_t layer = s->to_layer_bytes ? offset / s->to_layer_bytes : 0;
	uint64_t in_layer = s->to_layer_bytes ? offset % s->to_layer_bytes : offset;
	uint64_t row = s->to_pitch ? in_layer / s->to_pitch : 0;
	uint64_t x = s->to_pitch ? in_layer % s->to_pitch : in_layer;

	*left = x < s->width ? s->width - x : 0;
	return layer < s->layers && row < s->rows && x < s->width
		       ? s->at + layer * s->layer_bytes + row * s->pitch + x
		       : NULL;
}

/* Puts a content of the destination, `offset` bytes behind its first byte, into the source; or only
 * compares them. Whether they differed. */
static bool put_content(const struct source *s, uint64_t offset, const uint8_t *data, size_t len,
			bool compare)
{
	uint64_t left, n;
	bool differs = false;

	for (size_t i = 0; i < len; i += n) {
		uint8_t *at = source_of(s, offset + i, &left);

		if (at) {
			n = left < len - i ? left : len - i;
			differs |= memcmp(at, data + i, n) != 0;
			if (!compare)
				memcpy(at, data + i, n);
		} else {
			uint64_t x = s->to_pitch ? (offset + i) % s->to_pitch : 0;

			n = s->to_pitch > x ? s->to_pitch - x : 1;
		}
	}
	return differs;
}

/* The same after earlier work of the device that may use the source, if they differ: the program
 * wrote it when that was done, or the device is about to write it. */
static int put_locked(const struct source *s, uint64_t offset, const uint8_t *data, size_t len)
{
	if (put_content(s, offset, data, len, true) && rex_place_synchronize() != 0)
		return -EIO;
	if (put_content(s, offset, data, len, true))
		put_content(s, offset, data, len, false);
	return 0;
}

/* Numbers between 0 and 1 as floats: contents that were not recorded. */
static void put_seed(const struct source *s, uint64_t seed)
{
	for (uint64_t layer = 0; layer < s->layers; layer++)
		for (uint64_t row = 0; row < s->rows; row++) {
			uint8_t *at = s->at + layer * s->layer_bytes + row * s->pitch;

			for (uint64_t i = 0; i < s->width; i += 4) {
				float value;

				seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
				value = (float)(seed >> 40) / (1 << 24);
				memcpy(at + i, &value, s->width - i < 4 ? s->width - i : 4);
			}
		}
}

/* Puts all recorded contents of the destination; how many there were. */
static int put_contents(const struct rex_built *b, const struct source *s, size_t *ret)
{
	size_t n, found = 0;
	const struct rex_content *list =
		rex_contents_of(b->context->process, b->call->correlation, &n);
	uint64_t first = 0;

	for (size_t i = 0; i < n; i++) {
		scoped(free_ptr) uint8_t *data = NULL;
		size_t len;
		int r;

		if (list[i].access != FMT_WRITTEN)
			continue;
		r = fmt_blob_read(b->context->process->trace, list[i].name, &data, &len, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r < 0)
			continue;
		first = found++ ? first : list[i].offset_bytes;
		if (s->is_locked)
			r = put_locked(s, list[i].offset_bytes - first, data, len);
		else
			put_content(s, list[i].offset_bytes - first, data, len, false);
		if (r < 0)
			return r;
		rex_place_scan(data, len);
	}
	*ret = found;
	return 0;
}

int rex_build_source(struct rex_context *context, struct rex_built *b)
{
	struct source s = {0};
	size_t found = 0;
	int r;

	if (!rows_of(b, &s) && !range_of(b, &s))
		return 0;
	r = put_contents(b, &s, &found);
	if (r < 0)
		return rex_built_fail(b, r, "cannot read what was copied");
	/* What a graph reads is put there when it is launched. */
	if (found == 0 && (!s.is_locked || rex_op_of(context->process, b->call->correlation))) {
		put_seed(&s, context->seed ^ b->call->correlation);
		__atomic_add_fetch(&context->seeded, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static int put_host_input(const struct rex_built *b, const struct rex_content *content, void *at)
{
	const uint64_t bytes = content->length_bytes;
	const struct source s = {at, bytes, bytes, 1, 1, bytes, bytes, bytes, true};
	scoped(free_ptr) uint8_t *data = NULL;
	size_t len;
	int r = fmt_blob_read(b->context->process->trace, content->name, &data, &len, NULL);

	if (r < 0 || len != bytes)
		return r == -ENOENT ? 0 : r;
	return put_locked(&s, 0, data, len);
}

int rex_build_host_inputs(struct rex_built *b)
{
	size_t n;
	const struct rex_content *list =
		rex_contents_of(b->context->process, b->call->correlation, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		void *at = list[i].access == FMT_READ
				   ? rex_place_host(list[i].allocation, list[i].offset_bytes,
						    list[i].length_bytes)
				   : NULL;

		if (at)
			r = put_host_input(b, &list[i], at);
	}
	return r < 0 ? rex_built_fail(b, r, "cannot restore what the device read") : 0;
}
