/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/index.h"

#include "base/array.h"
#include "base/scope.h"

enum { TAG_INDEX = 'I', TAG_MEMBERS = 'M' };

#define LEVEL 9

/* Columns of 64-bit fields. Each value is stored as the difference from the previous one. */
static const size_t common_columns[] = {
	offsetof(struct fmt_chunk, header_bytes),
	offsetof(struct fmt_chunk, frame_bytes),
	offsetof(struct fmt_chunk, slice),
};
static const size_t slice_columns[] = {
	offsetof(struct fmt_chunk, iteration.number),
	offsetof(struct fmt_chunk, iteration.start_ns),
	offsetof(struct fmt_chunk, iteration.duration_ns),
	offsetof(struct fmt_chunk, first_number),
	offsetof(struct fmt_chunk, n_records[0]),
	offsetof(struct fmt_chunk, n_records[1]),
	offsetof(struct fmt_chunk, n_records[2]),
	offsetof(struct fmt_chunk, n_records[3]),
	offsetof(struct fmt_chunk, n_records[4]),
	offsetof(struct fmt_chunk, n_records[5]),
	offsetof(struct fmt_chunk, n_records[6]),
	offsetof(struct fmt_chunk, n_records[7]),
	offsetof(struct fmt_chunk, n_edges),
	offsetof(struct fmt_chunk, n_digests),
};
_Static_assert(FMT_KINDS == 8, "a column for each kind");

static int bad(const char **why, const char *what)
{
	*why = what;
	return -EBADMSG;
}

static void put_column(struct text *t, const struct fmt_chunk *chunks, size_t n, size_t at,
		       int slices_only)
{
	int64_t last = 0, v;

	for (size_t i = 0; i < n; i++) {
		if (slices_only && chunks[i].type != FMT_CHUNK_SLICE)
			continue;
		memcpy(&v, (const char *)&chunks[i] + at, sizeof(v));
		fmt_put_svarint(t, fmt_sub(v, last));
		last = v;
	}
}

/* A column while it is read: the position of its next value, and the last value. */
struct column {
	struct fmt_cursor at;
	int64_t last;
	size_t field;
};

/* Takes the bytes of a column of `n` values from the cursor. */
static struct column take_column(struct fmt_cursor *c, size_t field, size_t n)
{
	struct column column = {.at = *c, .field = field};
	const uint8_t *at = c->at;

	for (; n > 0 && at < c->end; at++)
		n -= *at < 0x80;
	c->at = at;
	if (n > 0)
		c->bad = 1;
	column.at.end = at;
	return column;
}

/* Reads the next value of each column into one chunk. Reading by row is faster than by column,
 * since chunks are many and large. */
static void get_row(struct column *columns, size_t n, struct fmt_chunk *chunk)
{
	for (size_t i = 0; i < n; i++) {
		struct column *k = &columns[i];

		k->last = fmt_add(k->last, fmt_svarint(&k->at));
		memcpy((char *)chunk + k->field, &k->last, sizeof(k->last));
	}
}

/* Reads all columns. Returns 1 if they are truncated. */
static int get_columns(struct fmt_cursor *c, struct fmt_chunk *chunks, size_t n)
{
	struct column common[ARRAY_SIZE(common_columns)], slice[ARRAY_SIZE(slice_columns)];
	size_t n_slices = 0;
	int bad;

	for (size_t i = 0; i < n; i++)
		n_slices += chunks[i].type == FMT_CHUNK_SLICE;
	for (size_t k = 0; k < ARRAY_SIZE(common_columns); k++)
		common[k] = take_column(c, common_columns[k], n);
	for (size_t k = 0; k < ARRAY_SIZE(slice_columns); k++)
		slice[k] = take_column(c, slice_columns[k], n_slices);
	for (size_t i = 0; i < n; i++) {
		get_row(common, ARRAY_SIZE(common), &chunks[i]);
		if (chunks[i].type == FMT_CHUNK_SLICE)
			get_row(slice, ARRAY_SIZE(slice), &chunks[i]);
	}
	bad = c->bad;
	for (size_t k = 0; k < ARRAY_SIZE(common); k++)
		bad |= common[k].at.bad;
	for (size_t k = 0; k < ARRAY_SIZE(slice); k++)
		bad |= slice[k].at.bad;
	return bad;
}

/* Compresses `raw` and appends it as the rest of a header that begins at `start`. */
static int end_packed(struct text *t, size_t start, const struct text *raw)
{
	size_t len = raw->len;
	int r;

	if (raw->error)
		return raw->error;
	fmt_put_varint(t, len);
	r = fmt_frame_pack(t, raw->data, &len, 1, LEVEL);
	if (r < 0)
		return r;
	fmt_header_end(t, start);
	return t->error;
}

/* Minimum size of a chunk; and the maximum uncompressed size of its index entry: a type and a value
 * of each column. */
#define CHUNK_MIN 32
#define ROW_MAX (1 + 10 * (ARRAY_SIZE(common_columns) + ARRAY_SIZE(slice_columns)))

/* Unpacks the rest of a header of a file of `file_bytes` bytes: the counterpart of end_packed(). */
static int open_packed(struct fmt_cursor *c, uint64_t file_bytes, uint8_t **ret,
		       struct fmt_cursor *inside, const char **why)
{
	uint64_t len = fmt_varint(c);
	int r = c->bad ? bad(why, "truncated index")
		: len / ROW_MAX > file_bytes / CHUNK_MIN
			? bad(why, "index too large for its file")
			: fmt_frame_unpack(c->at, fmt_left(c), len, ret, why);

	if (r == 0)
		*inside = fmt_cursor(*ret, len);
	return r;
}

int fmt_index_put(struct text *t, const struct fmt_file_header *h, const struct fmt_chunk *chunks,
		  size_t n)
{
	scoped(text_done) struct text raw = {0};
	size_t start = t->len;

	fmt_header_begin(t, TAG_INDEX);
	fmt_file_fields_put(t, h);
	fmt_put_varint(&raw, n);
	for (size_t i = 0; i < n; i++)
		fmt_put_u8(&raw, chunks[i].type);
	for (size_t k = 0; k < ARRAY_SIZE(common_columns); k++)
		put_column(&raw, chunks, n, common_columns[k], 0);
	for (size_t k = 0; k < ARRAY_SIZE(slice_columns); k++)
		put_column(&raw, chunks, n, slice_columns[k], 1);
	return end_packed(t, start, &raw);
}

/* Computes the offsets of the chunks from their lengths. */
static int compute_offsets(struct fmt_chunk *chunks, size_t n, uint32_t number, const char **why)
{
	uint64_t at = FMT_FILE_HEADER_BYTES;

	for (size_t i = 0; i < n; i++) {
		struct fmt_chunk *k = &chunks[i];

		if (k->header_bytes > FMT_CHUNK_HEADER_MAX || k->frame_bytes > INT64_MAX / 2 ||
		    at > INT64_MAX / 2 || k->slice > UINT32_MAX)
			return bad(why, "invalid length in the index");
		k->rank = number;
		k->offset = at;
		at += k->header_bytes + k->frame_bytes;
	}
	return 0;
}

int fmt_index_get(const uint8_t *data, size_t len, uint64_t file_bytes,
		  struct fmt_file_header *header, struct fmt_chunk **ret, size_t *n,
		  const char **why)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	scoped(free_ptr) struct fmt_chunk *chunks = NULL;
	struct fmt_file_header h;
	struct fmt_cursor outer, c;
	uint64_t count;
	int r = fmt_header_open(data, len, TAG_INDEX, &outer, why);

	if (r == 0)
		r = fmt_file_fields_get(&outer, &h, why);
	if (r == 0)
		r = open_packed(&outer, file_bytes, &raw, &c, why);
	if (r < 0)
		return r;
	count = fmt_count(&c, 1 + ARRAY_SIZE(common_columns));
	if (count > file_bytes / CHUNK_MIN)
		return bad(why, "index too large for its file");
	chunks = calloc(count + 1, sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		chunks[i].type = fmt_u8(&c);
	if (get_columns(&c, chunks, count))
		return bad(why, "truncated index");
	r = compute_offsets(chunks, count, h.number, why);
	if (r < 0)
		return r;
	*header = h;
	*ret = take(chunks);
	*n = count;
	return 0;
}

int fmt_members_put(struct text *t, const struct fmt_member_span *members, size_t n)
{
	scoped(text_done) struct text raw = {0};
	size_t start = t->len;

	fmt_header_begin(t, TAG_MEMBERS);
	fmt_put_varint(&raw, n);
	for (size_t i = 0; i < n; i++) {
		fmt_put_varint(&raw, strlen(members[i].name));
		text_str(&raw, members[i].name);
		fmt_put_varint(&raw, members[i].data_bytes);
		fmt_put_varint(&raw, members[i].tail_bytes);
	}
	return end_packed(t, start, &raw);
}

int fmt_is_member_name(const char *name, size_t len)
{
	static const char of[] =
		"-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (size_t i = 0; i < len; i++)
		if (!memchr(of, name[i], sizeof(of) - 1))
			return 0;
	return len > 0 && name[0] != '.';
}

static int get_member(struct fmt_cursor *c, struct fmt_member_span *ret)
{
	uint64_t len = fmt_varint(c);
	const uint8_t *name = fmt_bytes(c, len);

	if (!name || len >= sizeof(ret->name) || !fmt_is_member_name((const char *)name, len))
		return -EBADMSG;
	memcpy(ret->name, name, len);
	ret->name[len] = '\0';
	ret->data_bytes = fmt_varint(c);
	ret->tail_bytes = fmt_varint(c);
	return c->bad || ret->data_bytes > INT64_MAX / 4 || ret->tail_bytes > INT64_MAX / 4
		       ? -EBADMSG
		       : 0;
}

int fmt_members_get(const uint8_t *data, size_t len, uint64_t file_bytes,
		    struct fmt_member_span **ret, size_t *n, const char **why)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	scoped(free_ptr) struct fmt_member_span *members = NULL;
	struct fmt_cursor outer, c;
	uint64_t count;
	int r = fmt_header_open(data, len, TAG_MEMBERS, &outer, why);

	if (r == 0)
		r = open_packed(&outer, file_bytes, &raw, &c, why);
	if (r < 0)
		return r;
	count = fmt_count(&c, 4);
	if (count > file_bytes / FMT_FILE_HEADER_BYTES)
		return bad(why, "index too large for its file");
	members = calloc(count + 1, sizeof(*members));
	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (get_member(&c, &members[i]) < 0)
			return bad(why, "invalid name or length of a member");
	*ret = take(members);
	*n = count;
	return 0;
}
