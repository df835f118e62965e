/* SPDX-License-Identifier: Apache-2.0 */

/* Checks that a trace has exactly the files that its manifest lists. */
#include "formats/trace/store/trace_impl.h"

#include "base/array.h"

void fmt_trace_add_loss(struct fmt_trace *t, const struct fmt_error *e)
{
	fmt_damage_add(&t->damage, e);
	if (!t->lost.what[0])
		t->lost = *e;
}

/* Returns 1 for errors unrelated to the file: no memory, too many open files, a newer version. */
static int is_fatal(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -ENOTSUP;
}

/* Compares kind and rank of the file with its name. */
static int check_kind(const struct fmt_member *m, const char *path, struct fmt_error *err)
{
	static const char *const files[FMT_FILE_KINDS] = {
		[FMT_FILE_TRACE] = "names",
		[FMT_FILE_RANK] = "a rank",
		[FMT_FILE_BLOBS] = "contents",
	};
	enum fmt_file_kind kind = FMT_FILE_PACKED;
	uint32_t number;

	if (!fmt_member_kind(m->source.name, &kind, &number))
		return fmt_fail(err, -EBADMSG, path, 0, "not a name of a trace's file");
	if (m->header.kind != kind)
		return fmt_fail(err, -EBADMSG, path, 0, "not a file of %s", files[kind]);
	if (kind == FMT_FILE_RANK && m->header.number != number)
		return fmt_fail(err, -EBADMSG, path, 0, "a file of rank %u", m->header.number);
	return 0;
}

/* Compares the file's root with the manifest. A file without a readable footer has no root; this
 * damage was recorded when the file was opened. */
static int check_root(const struct fmt_trace *t, const struct fmt_member *m, const char *path,
		      struct fmt_error *err)
{
	struct fmt_manifest_entry *e = fmt_manifest_find(&t->manifest, m->source.name);

	if (t->manifest.n == 0)
		return 0;
	if (!e)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"of another trace: %s does not list it", FMT_TRACE_NAME);
	if (m->has_root && memcmp(m->root, e->root, sizeof(e->root)) != 0)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"of another trace: %s lists another root", FMT_TRACE_NAME);
	return 0;
}

/* Leaves a file out and returns 0; or returns the error if the file is not to blame. */
static int leave_out(struct fmt_trace *t, int r, const struct fmt_error *why, struct fmt_error *err)
{
	if (!is_fatal(r)) {
		fmt_trace_add_loss(t, why);
		return 0;
	}
	if (err)
		*err = *why;
	return r;
}

/* Records chunks of a file that may be missing although no index lists them. */
static void check_end(struct fmt_trace *t, const struct fmt_member *m, const char *path)
{
	struct fmt_error e;

	if (!m->lost_why)
		return;
	fmt_fail(&e, -EBADMSG, path, m->lost_at, "%s", m->lost_why);
	fmt_trace_add_loss(t, &e);
}

/* Opens a member. Returns 1; 0 if the trace has no such file or it is left out; or -errno. */
static int open_member(struct fmt_trace *t, struct fmt_member *m, struct fmt_error *err)
{
	struct fmt_manifest_entry *e;
	struct fmt_error why;
	char path[512];
	int r;

	if (!m->source.name)
		return 0;
	e = fmt_manifest_find(&t->manifest, m->source.name);
	if (e)
		e->found = 1;
	fmt_member_path(t, m, path, sizeof(path));
	r = fmt_member_open(m, path, &t->damage, &why);
	if (r == 0)
		r = check_kind(m, path, &why);
	if (r == 0)
		r = check_root(t, m, path, &why);
	if (r == 0) {
		check_end(t, m, path);
		return 1;
	}
	r = leave_out(t, r, &why, err);
	fmt_member_done(m);
	return r;
}

static void note_damage(struct fmt_trace *t, const char *path, uint64_t offset, const char *what)
{
	struct fmt_error e;

	fmt_fail(&e, -EBADMSG, path, offset, "%s", what);
	fmt_damage_add(&t->damage, &e);
}

static const struct fmt_chunk *manifest_chunk(const struct fmt_member *m)
{
	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].type == FMT_CHUNK_MANIFEST)
			return &m->chunks[i];
	return NULL;
}

/* Reads the manifest from trace.chunks. A trace without one can be read, but is reported as
 * damaged.
 */
static int read_manifest(struct fmt_trace *t, struct fmt_error *err)
{
	struct fmt_member *m = &t->shared;
	const struct fmt_chunk *found = manifest_chunk(m);
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_error damage;
	struct fmt_chunk c;
	char path[512];
	int r;

	fmt_member_path(t, m, path, sizeof(path));
	if (!found) {
		note_damage(t, path, FMT_NO_OFFSET, "the list of files is lost");
		return 0;
	}
	c = *found;
	r = fmt_member_read(m, path, &c, &raw, &damage);
	if (r < 0)
		fmt_damage_add(&t->damage, &damage);
	else
		r = fmt_manifest_get(raw, c.raw_bytes, &t->manifest);
	if (r == -EBADMSG)
		note_damage(t, path, c.offset, "the list of files is malformed");
	return is_fatal(r) ? fmt_fail(err, r, path, c.offset, "%s", strerror(-r)) : 0;
}

/* Opens trace.chunks, which names and lists the other files. */
static int open_shared(struct fmt_trace *t, struct fmt_error *err)
{
	int r;

	if (!t->shared.source.name)
		note_damage(t, t->path, FMT_NO_OFFSET,
			    "no " FMT_TRACE_NAME
			    ": the trace was not finished, or files are missing");
	r = open_member(t, &t->shared, err);
	return r == 1 ? read_manifest(t, err) : r;
}

/* Opens the file of a rank and lists its slices; returns as open_member() does. */
static int open_rank(struct fmt_trace *t, struct fmt_rank_state *rank, struct fmt_error *err)
{
	struct fmt_error why;
	int r = open_member(t, &rank->member, err);
	char path[512];

	if (r <= 0)
		return r;
	fmt_member_path(t, &rank->member, path, sizeof(path));
	r = fmt_rank_list_slices(rank, path, &why);
	if (r == 0)
		return 1;
	r = leave_out(t, r, &why, err);
	fmt_rank_done(rank);
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct fmt_member *x = &((const struct fmt_rank_state *)a)->member;
	const struct fmt_member *y = &((const struct fmt_rank_state *)b)->member;

	return array_order(x->header.number, y->header.number)
		       ?: array_order(x->source.data_at, y->source.data_at);
}

/* Leaves out all but the first file of a rank. */
static void drop_duplicates(struct fmt_trace *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_ranks; i++) {
		struct fmt_rank_state *rank = &t->ranks[i];
		uint32_t number = rank->member.header.number;
		struct fmt_error why;
		char path[512];

		if (n == 0 || t->ranks[n - 1].member.header.number != number) {
			t->ranks[n++] = *rank;
			continue;
		}
		fmt_member_path(t, &rank->member, path, sizeof(path));
		fmt_fail(&why, -EBADMSG, path, rank->member.source.data_at,
			 "another file of rank %u", number);
		fmt_trace_add_loss(t, &why);
		fmt_rank_done(rank);
	}
	t->n_ranks = n;
}

/* Opens the rank files, and sorts the used ones by number. */
static int open_ranks(struct fmt_trace *t, struct fmt_error *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_ranks; i++) {
		struct fmt_rank_state rank = t->ranks[i];
		int r = open_rank(t, &rank, err);

		memset(&t->ranks[i], 0, sizeof(t->ranks[i]));
		if (r < 0)
			return r;
		if (r == 1)
			t->ranks[n++] = rank;
	}
	t->n_ranks = n;
	if (n > 0)
		qsort(t->ranks, n, sizeof(*t->ranks), by_number);
	drop_duplicates(t);
	return 0;
}

static void note_missing(struct fmt_trace *t)
{
	for (size_t i = 0; i < t->manifest.n; i++) {
		const struct fmt_manifest_entry *e = &t->manifest.entries[i];
		const struct fmt_member as_if = {
			.source = {.fd = t->packed_fd, .name = (char *)(uintptr_t)e->name}};
		struct fmt_error missing;
		char path[512];

		if (e->found)
			continue;
		fmt_member_path(t, &as_if, path, sizeof(path));
		fmt_fail(&missing, -EBADMSG, path, FMT_NO_OFFSET, "missing");
		fmt_trace_add_loss(t, &missing);
	}
}

int fmt_trace_open_members(struct fmt_trace *t, struct fmt_error *err)
{
	int r = open_shared(t, err);

	if (r >= 0)
		r = open_member(t, &t->blobs, err);
	if (r >= 0)
		r = open_ranks(t, err);
	if (r < 0)
		return r;
	note_missing(t);
	if (t->n_ranks > 0 || (t->manifest.n > 0 && t->lost.what[0]))
		return 0;
	if (!t->lost.what[0])
		return fmt_fail(err, -EBADMSG, t->path, FMT_NO_OFFSET, "%s",
				t->mounted_id[0]
					? "not the trace that is mounted: a mount hides it, "
					  "or it was replaced"
					: "not a trace");
	if (err)
		*err = t->lost;
	return -EBADMSG;
}

int fmt_trace_check_complete(const struct fmt_trace *t, struct fmt_error *err)
{
	if (!t->lost.what[0])
		return 0;
	if (err)
		*err = t->lost;
	return -EBADMSG;
}
