/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/shared.h"

#include "formats/trace/store/output.h"
#include "formats/trace/store/trace_impl.h"

#include <stdio.h>
#include <unistd.h>

/* Names are few texts: they are compressed at a higher level, and small ones at the highest. */
#define NAMES_LEVEL 9
#define SMALL_NAMES_LEVEL 19
#define NAMES_SMALL (256u << 10)

static int put_names(const struct fmt_names *names, int level, struct fmt_output *out,
		     struct fmt_error *err)
{
	scoped(text_done) struct text raw = {0};
	struct fmt_chunk c = {.type = FMT_CHUNK_NAMES};
	int r = fmt_names_put(names, &raw), high;

	if (r < 0)
		return fmt_fail(err, r, out->path, out->bytes, "%s", strerror(-r));
	high = raw.len <= NAMES_SMALL ? SMALL_NAMES_LEVEL : NAMES_LEVEL;
	return fmt_output_chunk(out, &c, raw.data, raw.len, high < level ? level : high, err);
}

static int put_manifest(const struct fmt_manifest *manifest, int level, struct fmt_output *out,
			struct fmt_error *err)
{
	scoped(text_done) struct text raw = {0};
	struct fmt_chunk c = {.type = FMT_CHUNK_MANIFEST};

	fmt_manifest_put(manifest, &raw);
	if (raw.error)
		return fmt_fail(err, raw.error, out->path, out->bytes, "out of memory");
	return fmt_output_chunk(out, &c, raw.data, raw.len, level, err);
}

int fmt_shared_write(const char *trace, const struct fmt_names *names, int level,
		     const struct fmt_manifest *manifest, struct fmt_error *err)
{
	const struct fmt_file_header h = {.kind = FMT_FILE_TRACE};
	scoped(fmt_output_done) struct fmt_output out = {.fd = -1};
	scoped(text_done) struct text path = {0}, part = {0};
	int r;

	r = fmt_file_path(&path, trace, &h);
	if (r == 0)
		text_printf(&part, "%s.part", path.data);
	if (r < 0 || part.error)
		return fmt_fail(err, -ENOMEM, trace, FMT_NO_OFFSET, "out of memory");
	unlink(part.data); /* of a killed writer */
	r = fmt_output_open(&out, part.data, &h, err);
	if (r == 0)
		r = put_names(names, level, &out, err);
	if (r == 0)
		r = put_manifest(manifest, level, &out, err);
	if (r == 0)
		r = fmt_output_end(&out, err);
	if (r == 0 && rename(part.data, path.data) < 0)
		r = fmt_fail(err, -errno, path.data, FMT_NO_OFFSET, "cannot write: %s",
			     strerror(errno));
	if (r < 0)
		unlink(part.data);
	return r;
}

/* Reads the names, numbering the ranks as in the file. */
static int read_names(const struct fmt_trace *t, struct fmt_names *names, struct fmt_error *err)
{
	struct fmt_names_decoder reading = {.reserve_bytes = fmt_names_reserve(t->bytes)};
	scoped(free_ptr) uint32_t *ranks = NULL;
	char path[512];
	int r = 0;

	for (uint32_t i = 0; i < t->n_ranks; i++)
		if (t->ranks[i].member.header.names_rank >= reading.n_ranks)
			reading.n_ranks = t->ranks[i].member.header.names_rank + 1;
	ranks = calloc(reading.n_ranks + 1u, sizeof(*ranks));
	if (!ranks)
		return fmt_fail(err, -ENOMEM, t->path, FMT_NO_OFFSET, "out of memory");
	for (uint32_t i = 0; i < reading.n_ranks; i++)
		ranks[i] = i;
	reading.ranks = ranks;
	fmt_member_path(t, &t->shared, path, sizeof(path));
	for (size_t i = 0; i < t->shared.n_chunks && r == 0; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = t->shared.chunks[i];
		struct fmt_cursor in;

		if (c.type != FMT_CHUNK_NAMES)
			continue;
		r = fmt_member_read(&t->shared, path, &c, &raw, err);
		if (r < 0)
			return r;
		in = fmt_cursor(raw, c.raw_bytes);
		r = fmt_names_get(&in, &reading, names);
		if (r < 0)
			fmt_fail(err, r, path, c.offset, "invalid names");
	}
	return r;
}

/* The identity depends on the order: ranks by number, then contents. The read manifest is sorted by
 * name. */
static int order_manifest(const struct fmt_manifest *read, struct fmt_manifest *ret)
{
	int r = 0;

	for (int contents = 0; contents < 2; contents++)
		for (size_t i = 0; i < read->n && r == 0; i++) {
			const struct fmt_manifest_entry *e = &read->entries[i];
			enum fmt_file_kind kind = FMT_FILE_RANK;
			uint32_t number;

			fmt_member_kind(e->name, &kind, &number);
			if ((kind == FMT_FILE_BLOBS) == contents)
				r = fmt_manifest_add(ret, e->name, e->root);
		}
	return r;
}

int fmt_shared_add_facts(const struct fmt_trace *t, const struct fmt_added_fact *facts, size_t n,
			 struct fmt_error *err)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(fmt_manifest_done) struct fmt_manifest manifest = {0};
	int r;

	if (t->dir_fd < 0 || t->manifest.n == 0 || t->lost.what[0])
		return fmt_fail(err, -ENOTSUP, t->path, FMT_NO_OFFSET,
				"not a complete trace directory");
	r = fmt_names_new(&names);
	if (r == 0)
		r = order_manifest(&t->manifest, &manifest);
	if (r < 0)
		return fmt_fail(err, r, t->path, FMT_NO_OFFSET, "out of memory");
	r = read_names(t, names, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		uint32_t rank = facts[i].rank;

		if (rank != FMT_WHOLE_TRACE)
			rank = t->ranks[rank].member.header.names_rank;
		r = fmt_names_fact_json(names, rank, facts[i].key, facts[i].json, facts[i].len);
		if (r < 0)
			fmt_fail(err, r, t->path, FMT_NO_OFFSET, "%s", strerror(-r));
	}
	return r < 0 ? r : fmt_shared_write(t->path, names, 0, &manifest, err);
}
