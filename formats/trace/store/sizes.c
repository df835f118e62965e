/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/sizes.h"

#include "base/array.h"
#include "formats/trace/store/slice_code.h"
#include "formats/trace/store/trace_impl.h"

enum {
	ROW_STRUCTURES,
	ROW_PATCHES,
	ROW_TIMES,
	ROW_NAMES,
	ROW_DIGESTS,
	ROW_OTHER,
	ROW_CONTENTS,
	ROW_CHUNK_HEADERS,
	ROW_FILES,
	ROWS,
};
_Static_assert(ROWS <= FMT_SIZE_ROWS, "space for all rows");

static const struct fmt_size_row empty[ROWS] = {
	[ROW_STRUCTURES] = {"slice", "events, values, edges", 0, 0},
	[ROW_PATCHES] = {"slice", "the same, as a patch", 0, 0},
	[ROW_TIMES] = {"slice", "times", 0, 0},
	[ROW_NAMES] = {"names", "", 0, 0},
	[ROW_DIGESTS] = {"digests", "", 0, 0},
	[ROW_CONTENTS] = {"contents", "", 0, 0},
	[ROW_OTHER] = {"other", "", 0, 0},
	[ROW_CHUNK_HEADERS] = {"headers", "of chunks", 0, 0},
	[ROW_FILES] = {"headers", "and indexes of files", 0, 0},
};

static int row_of(uint8_t type)
{
	switch (type) {
	case FMT_CHUNK_NAMES:
		return ROW_NAMES;
	case FMT_CHUNK_DIGESTS:
		return ROW_DIGESTS;
	case FMT_CHUNK_BLOB:
	case FMT_CHUNK_CONTENTS:
		return ROW_CONTENTS;
	case FMT_CHUNK_MANIFEST:
		return ROW_FILES;
	default:
		return ROW_OTHER;
	}
}

/* Returns the size of these bytes when compressed alone. */
static int packed_bytes(const uint8_t *from, size_t len, uint64_t *ret)
{
	scoped(text_done) struct text frame = {0};
	int r = fmt_frame_pack(&frame, (const char *)from, &len, 1, 9);

	*ret = frame.len;
	return r;
}

/* Divides the frame of a slice in proportion to the sizes of its two parts when compressed
 * alone. */
static int divide_frame(struct fmt_size_row *rows, const struct fmt_chunk *c, const uint8_t *raw)
{
	struct fmt_slice_head head;
	uint64_t structure = 0, times = 0, records = 0;
	struct fmt_size_row *row;
	int r = fmt_slice_head_get(fmt_cursor(raw, c->raw_bytes), &head);

	if (r < 0)
		return r;
	r = packed_bytes(raw, (size_t)(head.times.base - raw), &structure);
	if (r == 0)
		r = packed_bytes(head.times.base, (size_t)(head.low_bytes.end - head.times.base),
				 &times);
	if (r < 0)
		return r;
	for (int k = 0; k < FMT_KINDS; k++)
		records += c->n_records[k];
	times = c->frame_bytes * times / (structure + times);
	row = &rows[head.back ? ROW_PATCHES : ROW_STRUCTURES];
	row->bytes += c->frame_bytes - times;
	row->items += records;
	rows[ROW_TIMES].bytes += times;
	rows[ROW_TIMES].items += records;
	return 0;
}

static int count_slice(const struct fmt_trace *t, const struct fmt_member *m,
		       const struct fmt_chunk *found, struct fmt_size_row *rows)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_chunk c = *found;
	char path[512];
	int r;

	fmt_member_path(t, m, path, sizeof(path));
	r = fmt_member_read(m, path, &c, &raw, NULL);
	return r < 0 ? r : divide_frame(rows, &c, raw);
}

static int count_member(struct fmt_trace *t, const struct fmt_member *m, struct fmt_size_row *rows,
			struct fmt_error *err)
{
	uint64_t chunks = 0;

	for (size_t i = 0; i < m->n_chunks; i++) {
		const struct fmt_chunk *c = &m->chunks[i];
		int row = row_of(c->type), r = -EBADMSG;

		chunks += c->header_bytes + c->frame_bytes;
		rows[ROW_CHUNK_HEADERS].bytes += c->header_bytes;
		rows[ROW_CHUNK_HEADERS].items++;
		if (c->type == FMT_CHUNK_SLICE)
			r = count_slice(t, m, c, rows);
		if (r < 0 && r != -EBADMSG)
			return fmt_fail(err, r, t->path, c->offset, "%s", strerror(-r));
		if (r < 0) {
			rows[row].bytes += c->frame_bytes;
			rows[row].items++;
		}
	}
	rows[ROW_FILES].bytes += m->source.bytes - chunks;
	rows[ROW_FILES].items++;
	return 0;
}

int fmt_sizes(struct fmt_trace *t, struct fmt_size_row rows[FMT_SIZE_ROWS], struct fmt_error *err)
{
	const struct fmt_member *m;
	uint64_t members = 0;
	uint32_t next = 0;
	int r = 0, n = 0;

	memcpy(rows, empty, sizeof(empty));
	while (r == 0 && (m = fmt_member_next(t, &next))) {
		r = count_member(t, m, rows, err);
		members += m->source.bytes;
	}
	if (r < 0)
		return r;
	/* Overhead of a packed file. */
	rows[ROW_FILES].bytes += t->bytes - members;
	for (int i = 0; i < ROWS; i++)
		if (rows[i].bytes > 0)
			rows[n++] = rows[i];
	return n;
}
