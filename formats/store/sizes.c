/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/sizes.h"

#include "base/array.h"
#include "formats/store/slice_code.h"
#include "formats/store/trace_impl.h"

#include <math.h>

enum {
	ROW_NAMES = FMT_COLUMNS,
	ROW_DIGESTS,
	ROW_LENGTHS,
	ROW_PARITY,
	ROW_OTHER,
	ROW_CONTENTS,
	ROW_CHUNK_HEADERS,
	ROW_FILES,
	ROWS,
};
_Static_assert(ROWS <= FMT_SIZE_ROWS, "room for all rows");

static const struct fmt_size_row empty[ROWS] = {
	[FMT_COLUMN_HEAD] = {"slice", "lanes, units, frame", 0, 0},
	[FMT_COLUMN_SITES] = {"slice", "sites", 0, 0},
	[FMT_COLUMN_HOST_TIMES] = {"slice", "times of threads", 0, 0},
	[FMT_COLUMN_VALUES] = {"slice", "values of threads", 0, 0},
	[FMT_COLUMN_CALLS] = {"slice", "calls of operations", 0, 0},
	[FMT_COLUMN_OP_TIMES] = {"slice", "times of operations", 0, 0},
	[FMT_COLUMN_OP_VALUES] = {"slice", "values of operations", 0, 0},
	[FMT_COLUMN_EDGES] = {"slice", "edges", 0, 0},
	[ROW_NAMES] = {"names", "", 0, 0},
	[ROW_DIGESTS] = {"digests", "", 0, 0},
	[ROW_LENGTHS] = {"lengths", "", 0, 0},
	[ROW_PARITY] = {"parity", "", 0, 0},
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
	case FMT_CHUNK_LENGTHS:
		return ROW_LENGTHS;
	case FMT_CHUNK_BLOB:
	case FMT_CHUNK_CONTENTS:
		return ROW_CONTENTS;
	case FMT_CHUNK_PARITY:
		return ROW_PARITY;
	default:
		return ROW_OTHER;
	}
}

/* Divides the frame of a slice by what its bits were spent on; the head gets what is left over. */
static void divide(struct fmt_size_row *rows, const struct fmt_chunk *c,
		   const double bits[FMT_COLUMNS])
{
	static const uint8_t host[] = {FMT_COLUMN_SITES, FMT_COLUMN_HEAD};
	uint64_t left = c->frame_bytes, ops = 0, hosts = c->n_records[FMT_CALL];

	for (int k = FMT_KERNEL; k <= FMT_SYNC; k++)
		ops += c->n_records[k];
	hosts += c->n_records[FMT_RANGE] + c->n_records[FMT_MARK];
	for (int i = 1; i < FMT_COLUMNS; i++) {
		uint64_t bytes = (uint64_t)llround(bits[i] / 8);

		bytes = bytes < left ? bytes : left;
		rows[i].bytes += bytes;
		left -= bytes;
	}
	rows[FMT_COLUMN_HEAD].bytes += left;
	for (size_t i = 0; i < ARRAY_SIZE(host); i++)
		rows[host[i]].items += ops + hosts;
	rows[FMT_COLUMN_HOST_TIMES].items += hosts;
	rows[FMT_COLUMN_VALUES].items += hosts;
	rows[FMT_COLUMN_CALLS].items += ops;
	rows[FMT_COLUMN_OP_TIMES].items += ops;
	rows[FMT_COLUMN_OP_VALUES].items += ops;
	rows[FMT_COLUMN_EDGES].items += c->n_edges;
}

static int count_member(struct fmt_trace *t, const struct fmt_member *m, uint32_t rank,
			struct fmt_size_row *rows, struct fmt_error *err)
{
	uint64_t chunks = 0;

	for (size_t i = 0; i < m->n_chunks; i++) {
		const struct fmt_chunk *c = &m->chunks[i];
		double bits[FMT_COLUMNS] = {0};
		int row = row_of(c->type), r = -EBADMSG;

		chunks += c->header_bytes + c->frame_bytes;
		rows[ROW_CHUNK_HEADERS].bytes += c->header_bytes;
		rows[ROW_CHUNK_HEADERS].items++;
		if (c->type == FMT_CHUNK_SLICE && rank < t->n_ranks)
			r = fmt_slice_bits(t, rank, (uint32_t)c->slice, bits, err);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (r == 0) {
			divide(rows, c, bits);
		} else {
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
	uint64_t members = 0;
	int r = 0, n = 0;

	memcpy(rows, empty, sizeof(empty));
	if (t->shared.source.name) {
		r = count_member(t, &t->shared, UINT32_MAX, rows, err);
		members += t->shared.source.bytes;
	}
	if (r == 0 && t->blobs.source.name) {
		r = count_member(t, &t->blobs, UINT32_MAX, rows, err);
		members += t->blobs.source.bytes;
	}
	for (uint32_t i = 0; r == 0 && i < t->n_ranks; i++) {
		r = count_member(t, &t->ranks[i].member, i, rows, err);
		members += t->ranks[i].member.source.bytes;
	}
	if (r < 0)
		return r;
	/* What a packed file has of its own. */
	rows[ROW_FILES].bytes += t->bytes - members;
	for (int i = 0; i < ROWS; i++)
		if (rows[i].bytes > 0)
			rows[n++] = rows[i];
	return n;
}
