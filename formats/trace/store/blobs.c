/* SPDX-License-Identifier: Apache-2.0 */
#define XXH_INLINE_ALL
#include "formats/trace/store/blobs.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/digests.h"
#include "formats/trace/store/trace_impl.h"

#include <xxhash.h>

/* A fast level: contents are large, and many do not shrink. */
#define LEVEL 3
#define MISNAMED "the name of the content is not its hash"

/* Returns the part of a name that the index contains. */
static uint32_t key_of(const uint64_t name[2])
{
	return (uint32_t)name[0];
}

void fmt_blob_name(const void *data, size_t len, uint64_t ret[2])
{
	XXH128_hash_t hash = XXH3_128bits(data, len);

	ret[0] = hash.low64;
	ret[1] = hash.high64;
}

static int is_name(const uint64_t name[2], const void *data, size_t len)
{
	uint64_t right[2];

	fmt_blob_name(data, len, right);
	return right[0] == name[0] && right[1] == name[1];
}

int fmt_blob_open(const struct fmt_chunk *chunk, const uint8_t *raw, uint64_t name[2],
		  struct fmt_cursor *content)
{
	*content = fmt_cursor(raw, chunk->raw_bytes);
	name[0] = fmt_u64(content);
	name[1] = fmt_u64(content);
	return content->bad || chunk->slice != key_of(name) ||
			       !is_name(name, content->at, fmt_left(content))
		       ? -EBADMSG
		       : 0;
}

int fmt_blobs_put(struct fmt_output *o, const uint64_t name[2], const void *data, size_t len,
		  struct fmt_error *err)
{
	struct fmt_chunk c = {.type = FMT_CHUNK_BLOB, .slice = key_of(name)};
	scoped(text_done) struct text raw = {0};

	if (!is_name(name, data, len))
		return fmt_fail(err, -EBADMSG, o->path, o->bytes, MISNAMED);
	fmt_put_u64(&raw, name[0]);
	fmt_put_u64(&raw, name[1]);
	text_bytes(&raw, data, len);
	if (raw.error)
		return fmt_fail(err, raw.error, o->path, o->bytes, "%s", strerror(-raw.error));
	return fmt_output_chunk(o, &c, raw.data, raw.len, LEVEL, err);
}

int fmt_blobs_contents(struct fmt_output *o, uint32_t number, const struct fmt_digest *contents,
		       size_t n, struct fmt_error *err)
{
	struct fmt_digest *list = (struct fmt_digest *)(uintptr_t)contents;
	const struct fmt_slice slice = {.digests = list, .n_digests = n};
	struct fmt_chunk c = {.type = FMT_CHUNK_CONTENTS, .slice = number};
	scoped(text_done) struct text raw = {0};
	int r = fmt_digests_put(&slice, &raw);

	if (r < 0)
		return fmt_fail(err, r, o->path, o->bytes, "contents of rank %u cannot be coded",
				number);
	return fmt_output_chunk(o, &c, raw.data, raw.len, LEVEL, err);
}

static int by_key(const void *a, const void *b)
{
	const struct fmt_blob_slot *x = a, *y = b;

	return array_order(x->key, y->key) ?: array_order(x->chunk, y->chunk);
}

int fmt_blobs_list(struct fmt_trace *t)
{
	const struct fmt_member *m = &t->blobs;

	if (!m->source.name)
		return 0;
	t->blob_slots = malloc((m->n_chunks + 1) * sizeof(*t->blob_slots));
	if (!t->blob_slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].type == FMT_CHUNK_BLOB)
			t->blob_slots[t->n_blobs++] =
				(struct fmt_blob_slot){(uint32_t)m->chunks[i].slice, (uint32_t)i};
	qsort(t->blob_slots, t->n_blobs, sizeof(*t->blob_slots), by_key);
	return 0;
}

/* Returns the next content with that key, from *at; NULL at the end. */
static const struct fmt_chunk *next_of_key(const struct fmt_trace *t, uint32_t key, size_t *at)
{
	if (*at >= t->n_blobs || t->blob_slots[*at].key != key)
		return NULL;
	return &t->blobs.chunks[t->blob_slots[(*at)++].chunk];
}

static size_t first_of_key(const struct fmt_trace *t, uint32_t key)
{
	return array_bound(i, 0, t->n_blobs, t->blob_slots[i].key < key);
}

uint64_t fmt_blobs_count(const struct fmt_trace *t, uint64_t *file_bytes)
{
	*file_bytes = t->blobs.source.name ? t->blobs.source.bytes : 0;
	return t->n_blobs;
}

int fmt_blob_is_listed(const struct fmt_trace *t, const uint64_t name[2])
{
	size_t at = first_of_key(t, key_of(name));

	return next_of_key(t, key_of(name), &at) != NULL;
}

int fmt_blob_read(const struct fmt_trace *t, const uint64_t name[2], uint8_t **ret, size_t *len,
		  struct fmt_error *err)
{
	size_t at = first_of_key(t, key_of(name));
	const struct fmt_chunk *chunk;
	char path[512];

	fmt_member_path(t, &t->blobs, path, sizeof(path));
	while ((chunk = next_of_key(t, key_of(name), &at))) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = *chunk;
		struct fmt_cursor content;
		uint64_t found[2];
		int r = fmt_member_read(&t->blobs, path, &c, &raw, err);

		if (r < 0)
			return r;
		if (fmt_blob_open(&c, raw, found, &content) < 0)
			return fmt_fail(err, -EBADMSG, path, c.offset, MISNAMED);
		if (found[1] != name[1] || found[0] != name[0])
			continue;
		*len = fmt_left(&content);
		memmove(raw, content.at, *len);
		*ret = take(raw);
		return 0;
	}
	return fmt_fail(err, -ENOENT, t->path, FMT_NO_OFFSET, "no content %016llx%016llx",
			(unsigned long long)name[1], (unsigned long long)name[0]);
}

int fmt_contents_get(const uint8_t *data, size_t len, struct fmt_digest **ret, size_t *n)
{
	struct fmt_cursor c = fmt_cursor(data, len);
	struct fmt_slice s = {0};
	uint64_t promised = fmt_varint(&c);
	int r = fmt_digests_get(fmt_cursor(data, len), promised, &s);

	free(s.pages);
	if (r == 0 && s.n_pages > 0) {
		free(s.digests);
		r = -EBADMSG;
	}
	if (r < 0)
		return r;
	*ret = s.digests;
	*n = s.n_digests;
	return 0;
}

int fmt_contents_read(const struct fmt_trace *t, uint32_t rank, struct fmt_digest **ret, size_t *n,
		      struct fmt_error *err)
{
	const struct fmt_rank *info = fmt_trace_rank(t, rank);
	char path[512];

	*ret = NULL;
	*n = 0;
	fmt_member_path(t, &t->blobs, path, sizeof(path));
	for (size_t i = 0; info && i < t->blobs.n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = t->blobs.chunks[i];
		int r;

		if (c.type != FMT_CHUNK_CONTENTS || c.slice != info->number)
			continue;
		r = fmt_member_read(&t->blobs, path, &c, &raw, err);
		if (r >= 0 && fmt_contents_get(raw, c.raw_bytes, ret, n) < 0)
			r = fmt_fail(err, -EBADMSG, path, c.offset, "invalid list of contents");
		return r < 0 ? r : 0;
	}
	return 0;
}
