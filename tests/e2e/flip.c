/* SPDX-License-Identifier: Apache-2.0 */

/* Flips one bit of the stored content of a digest that an operation wrote; re-execution then
 * restores the changed content.
 *
 *     flip IN OUT GPU NUMBER BYTE     writes a changed copy of trace IN to OUT
 */
#include "base/scope.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/names_code.h"
#include "formats/trace/store/trace_impl.h"
#include "formats/trace/store/writer.h"

#include <stdbool.h>
#include <stdio.h>

static void check(int r, const struct fmt_error *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "flip: %s: %s\n", err->file, err->what);
	exit(2);
}

static void copy_slices(struct fmt_trace *t, uint32_t rank, struct fmt_writer *w)
{
	struct fmt_rank_writer *out;
	struct fmt_error err = {0};

	check(fmt_writer_rank(w, rank, fmt_trace_rank(t, rank)->number, &out, &err), &err);
	for (uint32_t i = 0; i < fmt_trace_rank(t, rank)->n_slices; i++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

		check(fmt_slice_load(t, rank, i, FMT_WANT_ALL, &s, &err), &err);
		check(fmt_rank_writer_slice(out, s, &err), &err);
	}
}

/* The contents themselves. */
static void copy_blobs(struct fmt_trace *t, struct fmt_output *out)
{
	struct fmt_error err = {0};

	for (size_t i = 0; i < t->blobs.n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = t->blobs.chunks[i];
		struct fmt_cursor content;
		uint64_t name[2];

		if (c.type != FMT_CHUNK_BLOB)
			continue;
		check(fmt_member_read(&t->blobs, "blobs", &c, &raw, &err), &err);
		check(fmt_blob_open(&c, raw, name, &content), &err);
		check(fmt_blobs_put(out, name, content.at, fmt_left(&content), &err), &err);
	}
}

/* Stores a content with one bit flipped; sets `name` to its new name. */
static void flip(struct fmt_trace *t, uint64_t name[2], size_t byte, struct fmt_output *out)
{
	scoped(free_ptr) uint8_t *data = NULL;
	struct fmt_error err = {0};
	size_t len;

	check(fmt_blob_read(t, name, &data, &len, &err), &err);
	data[byte % len] ^= 1;
	fmt_blob_name(data, len, name);
	check(fmt_blobs_put(out, name, data, len, &err), &err);
}

/* Copies the rank's digests; flips the contents that operation `number` wrote. Returns the number
 * of flips. */
static int copy_list(struct fmt_trace *t, uint32_t rank, int64_t number, size_t byte,
		     struct fmt_output *out)
{
	scoped(free_ptr) struct fmt_digest *list = NULL;
	struct fmt_error err = {0};
	int flipped = 0;
	size_t n;

	check(fmt_contents_read(t, rank, &list, &n, &err), &err);
	for (size_t i = 0; i < n; i++)
		if ((int64_t)list[i].op == number && list[i].access == FMT_WRITTEN) {
			flip(t, list[i].digest, byte, out);
			flipped++;
		}
	check(fmt_blobs_contents(out, fmt_trace_rank(t, rank)->number, list, n, &err), &err);
	return flipped;
}

int main(int argc, char **argv)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	struct fmt_error err = {0};
	struct fmt_names *names = NULL;
	struct fmt_output *blobs;
	struct fmt_writer *w;
	int flipped = 0;

	if (argc != 6)
		return 2;
	check(fmt_trace_open(argv[1], &t, &err), &err);
	check(fmt_names_copy(fmt_trace_names(t), &names), &err);
	check(fmt_writer_open(argv[2], names, 0, &w, &err), &err);
	check(fmt_writer_blobs(w, &blobs, &err), &err);
	copy_blobs(t, blobs);
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++) {
		bool is_rank = fmt_trace_rank(t, i)->number == (uint32_t)atoi(argv[3]);

		copy_slices(t, i, w);
		flipped += copy_list(t, i, is_rank ? atoll(argv[4]) : -1, (size_t)atoll(argv[5]),
				     blobs);
	}
	check(fmt_writer_close(w, &err), &err);
	fmt_names_free(names);
	return flipped == 1 ? 0 : 1;
}
