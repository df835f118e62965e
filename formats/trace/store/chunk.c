/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/chunk.h"

#include "base/scope.h"

#include <pthread.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

static const char file_magic[8] = "GPUTRACE";

enum { TAG_FILE = 'F', TAG_CHUNK = 'C', TAG_END = 'E' };

static int bad(const char **why, const char *what)
{
	*why = what;
	return -EBADMSG;
}

uint64_t fmt_hash(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

void fmt_header_end(struct text *t, size_t start)
{
	uint32_t len;

	if (t->error)
		return;
	len = (uint32_t)(t->len - start);
	for (int i = 0; i < 4; i++)
		t->data[start + 4 + (size_t)i] = (char)(len >> 8 * i);
	fmt_put_u64(t, fmt_hash(t->data + start, t->len - start));
}

void fmt_header_begin(struct text *t, uint8_t tag)
{
	fmt_put_u32(t, FMT_SKIP_MAGIC);
	fmt_put_u32(t, 0);
	fmt_put_u8(t, tag);
}

int fmt_header_open(const uint8_t *data, size_t len, uint8_t tag, struct fmt_cursor *ret,
		    const char **why)
{
	struct fmt_cursor c = fmt_cursor(data, len), hash;
	uint32_t magic = fmt_u32(&c), body = fmt_u32(&c);

	if (c.bad)
		return bad(why, "truncated in a header");
	if (magic != FMT_SKIP_MAGIC)
		return bad(why, "missing header");
	if (body < 9 || body > fmt_left(&c))
		return bad(why, "invalid length of a header");
	hash = fmt_cursor(data + body, 8);
	if (fmt_hash(data, body) != fmt_u64(&hash))
		return bad(why, "header fails its checksum");
	c.end = data + body;
	if (fmt_u8(&c) != tag)
		return bad(why, "header of the wrong type");
	*ret = c;
	return 0;
}

void fmt_file_fields_put(struct text *t, const struct fmt_file_header *h)
{
	fmt_put_u8(t, FMT_VERSION);
	fmt_put_u8(t, 0); /* features that a reader must support */
	fmt_put_u8(t, 0); /* features that a reader may ignore */
	fmt_put_u8(t, h->kind);
	fmt_put_u8(t, 0); /* reserved */
	fmt_put_u32(t, h->number);
	fmt_put_u32(t, h->names_rank);
}

int fmt_file_fields_get(struct fmt_cursor *c, struct fmt_file_header *ret, const char **why)
{
	uint8_t version = fmt_u8(c), required = fmt_u8(c), reserved;
	struct fmt_file_header h;

	fmt_u8(c);
	h.kind = fmt_u8(c);
	reserved = fmt_u8(c);
	h.number = fmt_u32(c);
	h.names_rank = fmt_u32(c);
	if (c->bad)
		return bad(why, "truncated file header");
	if (version != FMT_VERSION || required != 0 || reserved != 0) {
		*why = "written by a newer version of the format";
		return -ENOTSUP;
	}
	if (h.kind >= FMT_FILE_KINDS)
		return bad(why, "unknown kind of file");
	*ret = h;
	return 0;
}

void fmt_file_header_put(struct text *t, const struct fmt_file_header *h)
{
	size_t start = t->len;

	fmt_header_begin(t, TAG_FILE);
	text_bytes(t, file_magic, sizeof(file_magic));
	fmt_file_fields_put(t, h);
	fmt_header_end(t, start);
}

int fmt_file_header_get(const uint8_t *data, size_t len, struct fmt_file_header *ret,
			const char **why)
{
	const uint8_t *magic;
	struct fmt_cursor c;
	int r = fmt_header_open(data, len, TAG_FILE, &c, why);

	if (r < 0)
		return r;
	magic = fmt_bytes(&c, sizeof(file_magic));
	if (!magic || memcmp(magic, file_magic, sizeof(file_magic)) != 0)
		return bad(why, "not a trace");
	return fmt_file_fields_get(&c, ret, why);
}

void fmt_chunk_fields_put(struct text *t, const struct fmt_chunk *c)
{
	fmt_put_u8(t, c->type);
	fmt_put_varint(t, c->rank);
	fmt_put_varint(t, c->slice);
	if (c->type != FMT_CHUNK_SLICE)
		return;
	fmt_put_svarint(t, c->iteration.number);
	fmt_put_svarint(t, c->iteration.start_ns);
	fmt_put_svarint(t, c->iteration.duration_ns);
	fmt_put_varint(t, c->first_number);
	for (int k = 0; k < FMT_KINDS; k++)
		fmt_put_varint(t, c->n_records[k]);
	fmt_put_varint(t, c->n_edges);
	fmt_put_varint(t, c->n_digests);
}

static void fields_get(struct fmt_cursor *c, struct fmt_chunk *ret)
{
	ret->type = fmt_u8(c);
	ret->rank = (uint32_t)fmt_varint(c);
	ret->slice = fmt_varint(c);
	if (ret->type != FMT_CHUNK_SLICE)
		return;
	ret->iteration.number = fmt_svarint(c);
	ret->iteration.start_ns = fmt_svarint(c);
	ret->iteration.duration_ns = fmt_svarint(c);
	ret->first_number = fmt_varint(c);
	for (int k = 0; k < FMT_KINDS; k++)
		ret->n_records[k] = fmt_varint(c);
	ret->n_edges = fmt_varint(c);
	ret->n_digests = fmt_varint(c);
}

void fmt_chunk_header_put(struct text *t, const struct fmt_chunk *c)
{
	size_t start = t->len;

	fmt_header_begin(t, TAG_CHUNK);
	fmt_chunk_fields_put(t, c);
	fmt_put_varint(t, c->frame_bytes);
	fmt_put_varint(t, c->raw_bytes);
	fmt_put_u64(t, c->hash);
	fmt_header_end(t, start);
}

#define THIN_BYTES 65536
#define THIN_RATIO 1024

int fmt_chunk_is_oversized(const struct fmt_chunk *c)
{
	return (c->type == FMT_CHUNK_NAMES || c->type == FMT_CHUNK_SLICE ||
		c->type == FMT_CHUNK_MANIFEST) &&
	       c->raw_bytes > THIN_BYTES &&
	       (c->raw_bytes - THIN_BYTES) / THIN_RATIO > c->frame_bytes;
}

int fmt_chunk_header_get(const uint8_t *data, size_t len, struct fmt_chunk *ret, const char **why)
{
	struct fmt_chunk chunk = {0};
	struct fmt_cursor c;
	int r = fmt_header_open(data, len, TAG_CHUNK, &c, why);

	if (r < 0)
		return r;
	chunk.header_bytes = (uint64_t)(c.end - data) + 8;
	fields_get(&c, &chunk);
	chunk.frame_bytes = fmt_varint(&c);
	chunk.raw_bytes = fmt_varint(&c);
	chunk.hash = fmt_u64(&c);
	if (c.bad || chunk.frame_bytes > INT64_MAX || chunk.slice > UINT32_MAX)
		return bad(why, "truncated chunk header");
	if (chunk.raw_bytes > FMT_CHUNK_RAW_MAX)
		return bad(why, "chunk too large");
	*ret = chunk;
	return 0;
}

void fmt_footer_put(struct text *t, const struct fmt_footer *f)
{
	size_t start = t->len;

	fmt_header_begin(t, TAG_END);
	fmt_put_u32(t, (uint32_t)f->index_bytes);
	text_bytes(t, (const char *)f->root, sizeof(f->root));
	fmt_header_end(t, start);
}

int fmt_footer_get(const uint8_t *data, size_t len, struct fmt_footer *ret, const char **why)
{
	const uint8_t *root;
	struct fmt_cursor c;
	uint32_t index_bytes;
	int r = fmt_header_open(data, len, TAG_END, &c, why);

	if (r < 0)
		return r;
	index_bytes = fmt_u32(&c);
	root = fmt_bytes(&c, sizeof(ret->root));
	if (c.bad)
		return bad(why, "no footer");
	ret->index_bytes = index_bytes;
	memcpy(ret->root, root, sizeof(ret->root));
	return 0;
}

/* Creating a context executes CPUID, which takes longer than packing a chunk in most virtual
 * machines. So each thread keeps its contexts until it ends. */
struct contexts {
	ZSTD_CCtx *pack; /* owned, as the next one */
	ZSTD_DCtx *unpack;
};

static pthread_once_t contexts_once = PTHREAD_ONCE_INIT;
static pthread_key_t contexts_key;

static void free_contexts(void *contexts)
{
	struct contexts *c = contexts;

	ZSTD_freeCCtx(c->pack);
	ZSTD_freeDCtx(c->unpack);
	free(c);
}

static void make_contexts_key(void)
{
	if (pthread_key_create(&contexts_key, free_contexts) != 0)
		abort();
}

/* Returns the contexts of this thread, or NULL. */
static struct contexts *own_contexts(void)
{
	struct contexts *c;

	pthread_once(&contexts_once, make_contexts_key);
	c = pthread_getspecific(contexts_key);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (c && pthread_setspecific(contexts_key, c) != 0)
		free(take(c));
	return c;
}

static ZSTD_CCtx *own_pack_context(void)
{
	struct contexts *c = own_contexts();

	if (c && !c->pack)
		c->pack = ZSTD_createCCtx();
	return c ? c->pack : NULL;
}

static ZSTD_DCtx *own_unpack_context(void)
{
	struct contexts *c = own_contexts();

	if (c && !c->unpack)
		c->unpack = ZSTD_createDCtx();
	return c ? c->unpack : NULL;
}

/* Compresses raw[from .. to) and flushes or ends the frame; there must be enough memory for all of
 * it. */
static int pack_part(ZSTD_CCtx *z, ZSTD_outBuffer *out, const char *raw, size_t from, size_t to,
		     ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = {.src = raw + from, .size = to - from};
	size_t left;

	do {
		left = ZSTD_compressStream2(z, out, &in, how);
		if (ZSTD_isError(left))
			return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? -ENOMEM
										       : -EIO;
		if (left > 0 && out->pos == out->size)
			return -ENOMEM;
	} while (left > 0 || in.pos < in.size);
	return 0;
}

int fmt_frame_pack(struct text *out, const char *raw, const size_t *cuts, size_t n_cuts, int level)
{
	size_t total = cuts[n_cuts - 1], space = ZSTD_compressBound(total) + 16 * n_cuts + 64;
	ZSTD_CCtx *z = own_pack_context();
	char *at = text_reserve(out, space);
	ZSTD_outBuffer to = {.dst = at, .size = space};

	if (!z || !at)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_reset(z, ZSTD_reset_session_and_parameters)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(z, total)))
		return -EINVAL;
	for (size_t i = 0, from = 0; i < n_cuts; from = cuts[i++]) {
		int last = i + 1 == n_cuts;
		int r;

		if (!last && cuts[i] == from)
			continue;
		r = pack_part(z, &to, raw, from, cuts[i], last ? ZSTD_e_end : ZSTD_e_flush);
		if (r < 0)
			return r;
	}
	out->len += to.pos;
	return 0;
}

int fmt_frame_unpack(const uint8_t *frame, size_t len, size_t raw_bytes, uint8_t **ret,
		     const char **why)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	ZSTD_DCtx *context = own_unpack_context();
	size_t n;

	if (!context)
		return -ENOMEM;
	/* A block of 128 KiB takes at least four bytes. */
	if (raw_bytes > FMT_CHUNK_RAW_MAX || raw_bytes / 32768 > len)
		return bad(why, "chunk too large");
	/* The frame's own size must agree before memory is allocated. */
	if (ZSTD_getFrameContentSize(frame, len) != raw_bytes)
		return bad(why, "the length of the packed frame differs from its header");
	raw = malloc(raw_bytes ? raw_bytes : 1);
	if (!raw)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(context, raw, raw_bytes, frame, len);
	if (ZSTD_isError(n) || n != raw_bytes)
		return bad(why, "the packed frame does not unpack");
	*ret = take(raw);
	return 0;
}
