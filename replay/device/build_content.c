/* SPDX-License-Identifier: Apache-2.0 */

/* Contents that a call provides: code images, and host memory that it copies to a device. */
#include "replay/device/build.h"

#include "formats/api/fields.h"
#include "formats/trace/images.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/placement.h"

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_UNIFIED = 4 }; /* CUmemorytype */
enum { OPERAND_POINTER = 1 };					 /* CUmemcpy3DOperandType */

int rex_build_image(struct rex_frame *b, void **ret, size_t *len)
{
	struct fmt_error err = {0};
	uint64_t name[2];
	size_t n;
	const char *hash = rex_args_text(&b->call->args, "image.hash", &n);
	uint8_t *image;
	int r;

	if (!hash || !fmt_content_name_get(hash, n, name))
		return rex_frame_fail(b, -ENOENT, "the code image is not recorded");
	r = fmt_blob_read(b->context->process->trace, name, &image, len, &err);
	if (r == -ENOENT)
		return rex_frame_fail(b, r,
				      "the trace does not contain code image %.32s; record with "
				      "--embed-images",
				      hash);
	if (r < 0)
		return rex_frame_fail(b, r, "%s", err.what);
	*ret = rex_frame_alloc(b, *len); /* PTX ends with a NUL */
	if (*ret)
		memcpy(*ret, image, *len);
	free(image);
	return *ret ? 0 : -ENOMEM;
}

/* The host memory of a copy's source, in rows. */
struct source {
	uint8_t *at;
	uint64_t pitch, width, rows;	   /* of the host's memory */
	uint64_t layers, layer_bytes;	   /* of several layers */
	uint64_t to_pitch, to_layer_bytes; /* of the device's */
	bool is_locked;	 /* page-locked or managed: earlier work of the device may use it */
	bool is_batched; /* the call copies to other memory, too; this one to: */
	uint64_t to_allocation, to_offset;
};

static uint64_t argument(const struct rex_frame *b, const char *key)
{
	int64_t value = 0;

	rex_args_int(&b->call->args, key, NULL, &value);
	return (uint64_t)value;
}

/* Returns true if `bytes` bytes at an argument or field are host memory. Sets s->at if they are in
 * an allocation. `is_host`: memory outside of allocations is host memory. */
static bool is_on_host(const struct rex_frame *b, const char *name, bool is_host, uint64_t bytes,
		       struct source *s)
{
	char key[REX_KEY_BYTES];
	int64_t id;

	if (!rex_args_int(&b->call->args, rex_key(key, name, "id"), NULL, &id))
		return is_host;
	s->at = rex_placement_host(b->context->objects, (uint64_t)id,
				   argument(b, rex_key(key, name, "offset")), bytes);
	s->is_locked = s->at != NULL;
	return s->is_locked;
}

/* Computes the bytes of the source from its first row on. False: it is empty or too large. */
static bool span_of(const struct source *s, uint64_t *ret)
{
	uint64_t rows, layers;

	return s->width > 0 && s->rows > 0 && s->layers > 0 && s->width < UINT64_MAX &&
	       !__builtin_mul_overflow(s->rows - 1, s->pitch, &rows) &&
	       !__builtin_mul_overflow(s->layers - 1, s->layer_bytes, &layers) &&
	       !__builtin_add_overflow(rows, layers, ret) &&
	       !__builtin_add_overflow(*ret, s->width, ret);
}

/* Finds the source of rows, of `bytes` bytes from its address on. False: not on the host. */
static bool rows_source(const struct rex_frame *b, const struct api_view *v, uint64_t bytes,
			struct source *s)
{
	uint64_t type = api_number(v, "srcMemoryType");

	if (type == MEMORY_HOST) {
		s->at = (uint8_t *)api_number(v, "srcHost");
		return is_on_host(b, "pCopy.srcHost", true, bytes, s) && s->at;
	}
	s->at = (uint8_t *)api_number(v, "srcDevice");
	return (type == MEMORY_DEVICE || type == MEMORY_UNIFIED) &&
	       is_on_host(b, "pCopy.srcDevice", type == MEMORY_UNIFIED, bytes, s) && s->at;
}

/* Computes the offset of the first row from the source's address. False: it is too large. */
static bool first_row_of(const struct api_view *v, const struct source *s, uint64_t *ret)
{
	uint64_t y, z;

	return !__builtin_mul_overflow(api_number(v, "srcY"), s->pitch, &y) &&
	       !__builtin_mul_overflow(api_number(v, "srcZ"), s->layer_bytes, &z) &&
	       !__builtin_add_overflow(y, z, ret) &&
	       !__builtin_add_overflow(*ret, api_number(v, "srcXInBytes"), ret);
}

/* cuMemcpy2D and cuMemcpy3D from the host: their only argument is a struct. False: another copy. */
static bool rows_of(const struct rex_frame *b, struct source *ret)
{
	const struct api_arg *a = &b->call->api->args[0];
	const struct api_view v = {.layout = a->layout, .bytes = b->behind[0], .len = b->bytes[0]};
	uint64_t height, first, bytes;

	if (!a->layout || !b->behind[0] || !api_field(a->layout, "srcHost"))
		return false;
	ret->width = api_number(&v, "WidthInBytes");
	ret->rows = api_number(&v, "Height");
	ret->layers = api_field(a->layout, "Depth") ? api_number(&v, "Depth") : 1;
	ret->pitch = api_number(&v, "srcPitch") ?: ret->width;
	height = api_number(&v, "srcHeight") ?: ret->rows;
	if (__builtin_mul_overflow(ret->pitch, height, &ret->layer_bytes))
		return false;
	ret->to_pitch = api_number(&v, "dstPitch") ?: ret->width;
	height = api_number(&v, "dstHeight") ?: ret->rows;
	ret->to_layer_bytes = ret->to_pitch * height;
	if (!span_of(ret, &bytes) || !first_row_of(&v, ret, &first) ||
	    __builtin_add_overflow(bytes, first, &bytes) || !rows_source(b, &v, bytes, ret))
		return false;
	ret->at += first;
	return true;
}

/* A copy of one range from the host. */
static bool range_of(const struct rex_frame *b, struct source *ret)
{
	const struct api_call *call = b->call->api;
	const struct api_arg *from = NULL, *to = NULL;

	for (unsigned i = 0; i < call->n_args; i++) {
		if (call->args[i].direction == API_DIRECTION_READS)
			from = &call->args[i];
		else if (call->args[i].direction == API_DIRECTION_WRITES)
			to = &call->args[i];
	}
	if (!from || (!to && from->meaning != API_MEANING_HOST))
		return false;
	ret->width = argument(b, "ByteCount");
	ret->rows = ret->layers = 1;
	ret->pitch = ret->to_pitch = ret->layer_bytes = ret->to_layer_bytes = ret->width;
	ret->at = (uint8_t *)b->words[from->word];
	/* Addresses of any memory (cuMemcpy): an address without an allocation is host
	 * memory. */
	return ret->width > 0 && ret->width < UINT64_MAX &&
	       is_on_host(b, from->name, true, ret->width, ret) && ret->at != NULL;
}

/* The allocations of the addresses of cuMemcpyBatchAsync(dsts, srcs, sizes, count, ...). */
struct batch {
	uint64_t *to, *to_offsets, *from, *from_offsets;
};

/* Returns the list that belongs to an argument: "id", "offset". Without a list, the number that
 * belongs to the argument itself. */
static uint64_t *list_of(struct rex_frame *b, const char *name, const char *what, size_t n)
{
	char in[REX_KEY_BYTES], key[REX_KEY_BYTES];
	uint64_t *list = n < SIZE_MAX / 16 ? rex_frame_alloc(b, 8 * n) : NULL;

	rex_key(key, rex_key(in, name, "in"), what);
	if (list && rex_args_bytes(&b->call->args, key, 8, list, 8 * n) < 8 * n)
		list[0] = argument(b, rex_key(key, name, what));
	return list;
}

static int find_batch(struct rex_frame *b, size_t n, struct batch *ret)
{
	ret->to = list_of(b, "dsts", "id", n);
	ret->to_offsets = list_of(b, "dsts", "offset", n);
	ret->from = list_of(b, "srcs", "id", n);
	ret->from_offsets = list_of(b, "srcs", "offset", n);
	return ret->to && ret->to_offsets && ret->from && ret->from_offsets ? 0 : -ENOMEM;
}

/* Copy `i`. */
static bool batch_of(const struct rex_frame *b, const struct batch *all, size_t i,
		     struct source *ret)
{
	const uint64_t *from = b->behind[1], *sizes = b->behind[2];
	uint64_t id = all->from[i];

	ret->at = id ? rex_placement_host(b->context->objects, id, all->from_offsets[i], sizes[i])
		     : (uint8_t *)from[i];
	ret->is_locked = id != 0;
	ret->width = sizes[i];
	ret->rows = ret->layers = 1;
	ret->pitch = ret->to_pitch = ret->layer_bytes = ret->to_layer_bytes = ret->width;
	ret->is_batched = true;
	ret->to_allocation = all->to[i];
	ret->to_offset = all->to_offsets[i];
	return ret->at && ret->width > 0;
}

/* Copy `i` of cuMemcpy3DBatchAsync(count, ops, ...). */
static bool batch_3d_of(const struct rex_frame *b, size_t i, struct source *ret)
{
	const struct api_arg *a = &b->call->api->args[1];
	const struct api_view v = {.layout = a->layout,
				   .bytes = (uint8_t *)b->behind[1] + i * a->layout->bytes,
				   .len = a->layout->bytes};
	char op[REX_KEY_BYTES], to[REX_KEY_BYTES], key[REX_KEY_BYTES];
	uint64_t bytes;

	if (api_number(&v, "src.type") != OPERAND_POINTER)
		return false;
	if (b->words[0] > 1)
		rex_key_at(op, a->name, i);
	else
		snprintf(op, sizeof(op), "%s", a->name);
	rex_key(to, op, "dst.op.ptr.ptr");
	ret->at = (uint8_t *)api_number(&v, "src.op.ptr.ptr");
	ret->width = api_number(&v, "extent.width");
	ret->rows = api_number(&v, "extent.height");
	ret->layers = api_number(&v, "extent.depth");
	ret->pitch = api_number(&v, "src.op.ptr.rowLength") ?: ret->width;
	if (__builtin_mul_overflow(ret->pitch,
				   api_number(&v, "src.op.ptr.layerHeight") ?: ret->rows,
				   &ret->layer_bytes))
		return false;
	ret->to_pitch = api_number(&v, "dst.op.ptr.rowLength") ?: ret->width;
	ret->to_layer_bytes =
		ret->to_pitch * (api_number(&v, "dst.op.ptr.layerHeight") ?: ret->rows);
	ret->is_batched = true;
	ret->to_allocation = argument(b, rex_key(key, to, "id"));
	ret->to_offset = argument(b, rex_key(key, to, "offset"));
	return span_of(ret, &bytes) &&
	       is_on_host(b, rex_key(key, op, "src.op.ptr.ptr"), true, bytes, ret) && ret->at;
}

static bool is_batch(const struct rex_frame *b)
{
	return strncmp(b->call->api->name, "cuMemcpyBatchAsync", 18) == 0;
}

/* Copy `i` of the call. False: not from the host. */
static bool copy_of(const struct rex_frame *b, const struct batch *all, size_t i,
		    struct source *ret)
{
	if (is_batch(b))
		return batch_of(b, all, i, ret);
	if (strncmp(b->call->api->name, "cuMemcpy3DBatchAsync", 20) == 0)
		return batch_3d_of(b, i, ret);
	return rows_of(b, ret) || range_of(b, ret);
}

static size_t count_of(const struct rex_frame *b)
{
	if (is_batch(b))
		return b->behind[0] && b->behind[1] && b->behind[2] ? b->words[3] : 0;
	if (strncmp(b->call->api->name, "cuMemcpy3DBatchAsync", 20) == 0)
		return b->behind[1] ? b->words[0] : 0;
	return 1;
}

/* Allocates memory of the worker for the addresses of a batch that are in no allocation. */
static int build_batch(struct rex_frame *b, size_t n, struct batch *ret)
{
	const uint64_t *sizes = b->behind[2];
	int r = find_batch(b, n, ret);

	for (size_t i = 0; i < 2 * n && r == 0; i++) {
		uint64_t *at = (uint64_t *)b->behind[i % 2] + i / 2;

		if ((i % 2 ? ret->from : ret->to)[i / 2] == 0)
			r = rex_translate(b, API_MEANING_HOST, *at, sizes[i / 2], at);
	}
	return r;
}

/* Returns the source of the memory `offset` bytes after the destination's first byte; *left bytes
 * follow in the row. Returns NULL between rows and after the last row. */
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

/* Copies a recorded content, which begins `offset` bytes after the destination's first byte, to the
 * source; or only compares them. Returns whether they differed. */
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

/* As put_content(), for a source that the device may still use: if the contents differ, first waits
 * until earlier operations have read or written the source. Returns a result of the driver. */
static int put_locked(const struct source *s, uint64_t offset, const uint8_t *data, size_t len)
{
	int result = put_content(s, offset, data, len, true) ? rex_placement_synchronize() : 0;

	if (result == 0 && put_content(s, offset, data, len, true))
		put_content(s, offset, data, len, false);
	return result;
}

/* Fills the source with floats between 0 and 1, for contents that were not recorded. */
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

static bool is_destination(const struct source *s, const struct rex_content *c)
{
	return !s->is_batched || (c->allocation == s->to_allocation &&
				  c->offset_bytes - s->to_offset < s->layers * s->to_layer_bytes);
}

/* Returns the offset of a content from other contents of the destination, which may have several
 * allocations; in a batch, from the first byte of this allocation. */
static uint64_t position_of(const struct rex_frame *b, const struct source *s,
			    const struct rex_content *c)
{
	uint64_t address;

	return !s->is_batched && rex_allocations_find(&b->context->allocations, c, &address)
		       ? address
		       : c->offset_bytes;
}

/* Returns the position of the destination's first byte. */
static uint64_t first_of(const struct rex_frame *b, const struct source *s,
			 const struct rex_content *list, size_t n)
{
	uint64_t first = UINT64_MAX;

	if (s->is_batched)
		return s->to_offset;
	for (size_t i = 0; i < n; i++) {
		uint64_t position = position_of(b, s, &list[i]);

		if (list[i].access == FMT_WRITTEN && position < first)
			first = position;
	}
	return first;
}

/* Copies all recorded contents of the destination, and counts them. */
static int put_contents(struct rex_frame *b, const struct source *s, size_t *ret)
{
	size_t n, found = 0;
	const struct rex_content *list =
		rex_find_contents(b->context->process, b->call->correlation, &n);
	const uint64_t first = first_of(b, s, list, n);

	for (size_t i = 0; i < n; i++) {
		scoped(free_ptr) uint8_t *data = NULL;
		uint64_t offset = position_of(b, s, &list[i]) - first;
		size_t len;
		int r, result = 0;

		if (list[i].access != FMT_WRITTEN || !is_destination(s, &list[i]))
			continue;
		r = fmt_blob_read(b->context->process->trace, list[i].name, &data, &len, NULL);
		if (r < 0 && r != -ENOENT)
			return rex_frame_fail(b, r, "cannot read what was copied");
		if (r < 0)
			continue;
		found++;
		if (s->is_locked)
			result = put_locked(s, offset, data, len);
		else
			put_content(s, offset, data, len, false);
		if (result != 0)
			return rex_frame_fail(b, -EIO, "cuCtxSynchronize before it returned %d",
					      result);
		rex_placement_count_stale(b->context->objects, data, len);
	}
	*ret = found;
	return 0;
}

static int put_source(struct rex_context *context, struct rex_frame *b, const struct source *s)
{
	size_t found = 0;
	int r = put_contents(b, s, &found);

	if (r < 0)
		return r;
	/* Inputs of a captured copy are restored when the graph is launched. */
	if (found == 0 && (!s->is_locked || rex_find_op(context->process, b->call->correlation))) {
		put_seed(s, context->seed ^ b->call->correlation);
		__atomic_add_fetch(&context->seeded, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

int rex_build_source(struct rex_context *context, struct rex_frame *b)
{
	size_t n = count_of(b);
	struct batch batch = {0};
	int r = is_batch(b) ? build_batch(b, n, &batch) : 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct source s = {0};

		if (copy_of(b, &batch, i, &s))
			r = put_source(context, b, &s);
	}
	return r;
}

static int put_host_input(const struct rex_frame *b, const struct rex_content *content, void *at)
{
	const uint64_t bytes = content->length_bytes;
	const struct source s = {at, bytes, bytes, 1, 1, bytes, bytes, bytes, .is_locked = true};
	scoped(free_ptr) uint8_t *data = NULL;
	size_t len;
	int r = fmt_blob_read(b->context->process->trace, content->name, &data, &len, NULL);

	if (r < 0 || len != bytes)
		return r == -ENOENT ? 0 : r;
	return put_locked(&s, 0, data, len);
}

int rex_build_host_inputs(struct rex_frame *b)
{
	size_t n;
	const struct rex_content *list =
		rex_find_contents(b->context->process, b->call->correlation, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		void *at = list[i].access == FMT_READ
				   ? rex_placement_host(b->context->objects, list[i].allocation,
							list[i].offset_bytes, list[i].length_bytes)
				   : NULL;

		if (at)
			r = put_host_input(b, &list[i], at);
	}
	return r < 0 ? rex_frame_fail(b, r, "cannot restore what the device read") : 0;
}
