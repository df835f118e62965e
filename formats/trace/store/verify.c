/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/verify.h"

#include "base/array.h"
#include "formats/trace/images.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/chunk.h"
#include "formats/trace/store/output.h"
#include "formats/trace/store/scan.h"
#include "formats/trace/store/trace.h"
#include "formats/trace/store/trace_impl.h"

#include <inttypes.h>

/* ---- contents: compares them with the hashes and lengths in the lists and in the fact `images` */

struct seen_content {
	uint64_t name[2], bytes;
};

/* The contents found so far. */
struct seen_contents {
	struct seen_content *items; /* owned */
	size_t n, cap;
	int sorted;
};

#define MISSING "a listed content is missing"

static void seen_contents_done(struct seen_contents *s)
{
	free(s->items);
	*s = (struct seen_contents){0};
}

static int by_content(const void *a, const void *b)
{
	const struct seen_content *x = a, *y = b;

	return array_order(x->name[1], y->name[1]) ?: array_order(x->name[0], y->name[0]);
}

static const struct seen_content *find_content(struct seen_contents *s, const uint64_t name[2])
{
	const struct seen_content wanted = {.name = {name[0], name[1]}};

	if (!s->sorted && s->n > 0)
		qsort(s->items, s->n, sizeof(*s->items), by_content);
	s->sorted = 1;
	return s->n > 0 ? bsearch(&wanted, s->items, s->n, sizeof(*s->items), by_content) : NULL;
}

static int add_content(struct seen_contents *s, const struct fmt_chunk *c, const uint8_t *raw,
		       const char **why)
{
	struct seen_content seen;
	struct fmt_cursor content;

	if (fmt_blob_open(c, raw, seen.name, &content) < 0) {
		*why = "the name of the content is not its hash";
		return 0;
	}
	seen.bytes = fmt_left(&content);
	if (array_reserve(&s->items, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	s->items[s->n++] = seen;
	s->sorted = 0;
	return 0;
}

static const char *check_list(struct seen_contents *s, const struct fmt_digest *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct seen_content *found = find_content(s, list[i].digest);

		if (!found)
			return MISSING;
		if (found->bytes != list[i].length_bytes)
			return "the length of a content differs from its list";
	}
	return NULL;
}

/* Checks a chunk of blobs.chunks with the payload `raw`. Adds contents to `s`; compares lists with
 * the contents added. *why is NULL, or the problem. Returns 0 or -ENOMEM. */
static int check_contents(struct seen_contents *s, const struct fmt_chunk *c, const uint8_t *raw,
			  const char **why)
{
	scoped(free_ptr) struct fmt_digest *list = NULL;
	size_t n = 0;
	int r;

	*why = NULL;
	if (c->type == FMT_CHUNK_BLOB)
		return add_content(s, c, raw, why);
	if (c->type != FMT_CHUNK_CONTENTS)
		return 0;
	r = fmt_contents_get(raw, c->raw_bytes, &list, &n);
	if (r == -EBADMSG)
		*why = "invalid list of contents";
	else if (r == 0)
		*why = check_list(s, list, n);
	return r == -EBADMSG ? 0 : r;
}

/* Compares the images of the trace with the contents, all of which were added. Returns NULL, or the
 * problem. */
static const char *check_images(struct seen_contents *s, const struct fmt_names *names)
{
	const char *at = fmt_fact_value(names, FMT_WHOLE_TRACE, FMT_FACT_IMAGES);
	const char *end = at ? at + strlen(at) : NULL;
	struct fmt_image image;

	while (at && fmt_image_next(&at, end, &image)) {
		const struct seen_content *found =
			image.has_name ? find_content(s, image.name) : NULL;

		if (image.has_name && !found)
			return MISSING;
		if (found && found->bytes != image.bytes)
			return "the length of an image differs from its content";
	}
	return NULL;
}

/* ---- files */

struct verifying {
	struct fmt_trace *t;
	enum fmt_verify_depth depth;
	struct fmt_verified *result;
	struct fmt_problem *problems;
	size_t n, cap;
	struct seen_contents contents;
	/* the current member */
	struct fmt_member *member;
	struct fmt_rank_state *rank; /* NULL: the shared names */
	uint32_t rank_index;
	size_t first; /* index of the member's first problem; problems of a member are found almost
			 in file order */
	char path[512];
};

static void verifying_done(struct verifying *v)
{
	seen_contents_done(&v->contents);
	fmt_trace_close(v->t);
	free(v->problems);
}

static const char *type_name(uint8_t type)
{
	static const char *const names[] = {
		[FMT_CHUNK_NAMES] = "names",	   [FMT_CHUNK_SLICE] = "slice",
		[FMT_CHUNK_DIGESTS] = "digests",   [FMT_CHUNK_BLOB] = "blob",
		[FMT_CHUNK_CONTENTS] = "contents", [FMT_CHUNK_MANIFEST] = "manifest",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "unknown";
}

/* Adds a problem, or returns the existing one at that offset. */
static struct fmt_problem *add_problem(struct verifying *v, uint64_t offset, const char *what)
{
	struct fmt_problem p = {.chunk = -1, .rank = -1, .slice = -1};

	fmt_fail(&p.error, -EBADMSG, v->path, offset, "%s", what);
	if (v->rank)
		p.rank = v->rank->info.number;
	for (size_t i = v->n; i > v->first && v->problems[i - 1].error.offset >= offset; i--)
		if (v->problems[i - 1].error.offset == offset)
			return &v->problems[i - 1];
	if (array_reserve(&v->problems, v->n + 1, &v->cap) < 0)
		return NULL;
	v->problems[v->n] = p;
	return &v->problems[v->n++];
}

static void say_chunk(struct fmt_problem *p, const struct verifying *v, const struct fmt_chunk *c,
		      int64_t chunk_index)
{
	if (!p)
		return;
	p->chunk = chunk_index;
	p->type = type_name(c->type);
	if (c->type != FMT_CHUNK_SLICE && c->type != FMT_CHUNK_DIGESTS)
		return;
	p->slice = (int64_t)c->slice;
	if (v->rank && c->slice < v->rank->info.n_slices)
		p->iteration = v->rank->slices[c->slice].iteration.number;
}

static int same_fields(const struct fmt_chunk *a, const struct fmt_chunk *b)
{
	scoped(text_done) struct text x = {0}, y = {0};

	fmt_chunk_fields_put(&x, a);
	fmt_chunk_fields_put(&y, b);
	return !x.error && !y.error && x.len == y.len && memcmp(x.data, y.data, x.len) == 0 &&
	       a->offset == b->offset && a->header_bytes == b->header_bytes &&
	       a->frame_bytes == b->frame_bytes;
}

/* Decodes the slice, and checks that readers find this chunk under its number. Returns 1 if its
 * bytes are unchanged. */
static int check_slice(struct verifying *v, const struct fmt_chunk *c, int64_t chunk_index)
{
	struct fmt_slice *s = NULL;
	struct fmt_error err;
	int r;

	v->result->slices++;
	if (c->slice < v->rank->info.n_slices && v->rank->chunk_of[c->slice] != chunk_index + 1) {
		fmt_fail(&err, -EBADMSG, "", 0, "another chunk of slice %" PRIu64, c->slice);
		say_chunk(add_problem(v, c->offset, err.what), v, c, chunk_index);
		return 1; /* not damage of these bytes */
	}
	if (v->depth == FMT_VERIFY_BYTES)
		return 1;
	r = fmt_slice_load(v->t, v->rank_index, (uint32_t)c->slice, FMT_WANT_ALL, &s, &err);
	if (r < 0)
		say_chunk(add_problem(v, c->offset, err.what), v, c, chunk_index);
	fmt_slice_free(s);
	return r == 0;
}

/* Checks the payload of a chunk: its checksum and decoding. Returns 1 if it is intact. */
static int check_chunk(struct verifying *v, const struct fmt_chunk *found, int64_t chunk_index,
		       struct fmt_merkle *tree)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_chunk c = *found;
	const char *why = NULL;
	struct fmt_error err;
	int r = fmt_member_read(v->member, v->path, &c, &raw, &err);

	v->result->chunks++;
	if (r != 0) {
		say_chunk(add_problem(v, found->offset, err.what), v, found, chunk_index);
		return 0;
	}
	if (fmt_merkle_add_chunk(tree, &c, raw) < 0)
		return 0;
	if (v->member == &v->t->blobs && check_contents(&v->contents, &c, raw, &why) < 0)
		return 0;
	if (why)
		say_chunk(add_problem(v, found->offset, why), v, &c, chunk_index);
	return c.type == FMT_CHUNK_SLICE && v->rank ? check_slice(v, &c, chunk_index) : 1;
}

/* Checks that the slices of a rank are consecutive. Readers show all slices from 0 to n_slices, and
 * number events across them. For a file without lost chunks. */
static void check_sequence(struct verifying *v)
{
	const struct fmt_rank_state *rank = v->rank;
	uint64_t next = 0;
	struct fmt_error e;

	for (uint32_t i = 0; i < rank->info.n_slices; i++) {
		const struct fmt_chunk *c;

		if (rank->chunk_of[i] == 0) {
			fmt_fail(&e, -EBADMSG, "", 0, "slice %u is missing", i);
			add_problem(v, FMT_NO_OFFSET, e.what);
			return;
		}
		c = &rank->member.chunks[rank->chunk_of[i] - 1];
		if (c->first_number != next)
			say_chunk(add_problem(v, c->offset,
					      "a slice whose first event does not follow the slice "
					      "before it"),
				  v, c, (int64_t)rank->chunk_of[i] - 1);
		next = c->first_number;
		for (int k = 0; k < FMT_RANGE; k++)
			next += c->n_records[k];
	}
}

/* Checks that need all chunks of a member, for an undamaged member. */
static void check_whole(struct verifying *v)
{
	const char *why = NULL;

	if (v->rank)
		check_sequence(v);
	if (v->member == &v->t->blobs)
		why = check_images(&v->contents, fmt_trace_names(v->t));
	if (why)
		add_problem(v, FMT_NO_OFFSET, why);
}

/* Reports skipped bytes as the chunks that the index lists there; without such chunks, as bytes. */
static void say_lost(struct verifying *v, uint64_t at, uint64_t bytes, const char *why)
{
	const struct fmt_member *m = v->member;
	size_t first = array_bound(i, 0, m->n_chunks, m->chunks[i].offset < at);
	int any = 0;

	for (size_t i = first; i < m->n_chunks && m->chunks[i].offset < at + bytes; i++) {
		const struct fmt_chunk *c = &m->chunks[i];

		any = 1;
		say_chunk(add_problem(v, c->offset, why), v, c, (int64_t)i);
	}
	if (!any)
		add_problem(v, at, why);
}

static int has_root(const struct fmt_merkle *tree, const uint8_t root[FMT_SHA_BYTES])
{
	uint8_t made[FMT_SHA_BYTES];

	fmt_merkle_root(tree, made);
	return memcmp(made, root, sizeof(made)) == 0;
}

static int check_member(struct verifying *v)
{
	scoped(fmt_scan_done) struct fmt_scan scan;
	struct fmt_merkle tree = {0};
	struct fmt_frame f;
	int whole = 1, header = 0, fd = fmt_source_open(&v->member->source), r;
	int64_t chunk_index = 0;

	if (fd < 0)
		return fd;
	fmt_member_path(v->t, v->member, v->path, sizeof(v->path));
	v->result->files++;
	v->first = v->n;
	fmt_scan_init(&scan, &v->member->source, fd);
	r = fmt_merkle_add_file(&tree, &v->member->header);
	while (r == 0 && (r = fmt_scan_next(&scan, &f)) == 1) {
		r = 0;
		if (f.lost_bytes > 0) {
			say_lost(v, f.lost_at, f.lost_bytes, f.why);
			whole = 0;
		}
		header |= f.tag == 'F' && f.offset == 0;
		if (f.tag == 'C') {
			const struct fmt_member *m = v->member;

			while ((size_t)chunk_index < m->n_chunks &&
			       m->chunks[chunk_index].offset < f.offset)
				chunk_index++;
			if ((size_t)chunk_index >= m->n_chunks ||
			    !same_fields(&m->chunks[chunk_index], &f.chunk))
				say_chunk(add_problem(v, f.offset,
						      "the chunk's header differs from the index"),
					  v, &f.chunk, chunk_index);
			whole &= check_chunk(v, &f.chunk, chunk_index, &tree);
		}
		if (f.tag == 'E' && whole && !has_root(&tree, f.footer.root))
			add_problem(v, f.offset,
				    "the root in the footer is not that of the chunks");
	}
	if (r == 0 && scan.why)
		say_lost(v, scan.end, v->member->source.bytes - scan.end, scan.why);
	if (r == 0 && !header)
		add_problem(v, 0, "the file header is damaged");
	if (r == 0 && whole)
		check_whole(v);
	fmt_source_close(&v->member->source, fd);
	return r;
}

static int compare_positions(const struct fmt_error *x, const struct fmt_error *y)
{
	return strcmp(x->file, y->file) ?: array_order(x->offset, y->offset);
}

static int by_offset(const void *a, const void *b)
{
	return compare_positions(&((const struct fmt_problem *)a)->error,
				 &((const struct fmt_problem *)b)->error);
}

static void sort_problems(struct verifying *v)
{
	if (v->n > 0)
		qsort(v->problems, v->n, sizeof(*v->problems), by_offset);
}

/* Adds damage found by opening and loading, unless it is among the first v->first problems, which
 * are sorted. */
static int take_damage(void *context, const struct fmt_error *e)
{
	struct verifying *v = context;
	size_t at = array_bound(i, 0, v->first, compare_positions(&v->problems[i].error, e) < 0);

	if (at < v->first && compare_positions(&v->problems[at].error, e) == 0)
		return 0;
	if (array_reserve(&v->problems, v->n + 1, &v->cap) < 0)
		return -ENOMEM;
	v->problems[v->n++] =
		(struct fmt_problem){.error = *e, .chunk = -1, .rank = -1, .slice = -1};
	return 0;
}

/* Compares the id in the footer of a packed file with that of its members. The footer's header was
 * checked on opening. */
static void check_packed(struct verifying *v)
{
	char id[65];

	if (!v->t->has_packed_root)
		return;
	fmt_root_text(v->t->packed_root, id);
	if (strcmp(id, fmt_trace_id(v->t)) == 0)
		return;
	v->rank = NULL;
	snprintf(v->path, sizeof(v->path), "%s", v->t->path);
	add_problem(v, v->t->bytes - FMT_FOOTER_BYTES,
		    "the id in the footer is not that of the files");
}

int fmt_verify(const char *path, int (*each)(void *context, const struct fmt_problem *p),
	       void *context, struct fmt_verified *ret, struct fmt_error *err)
{
	return fmt_verify_to(path, FMT_VERIFY_ALL, each, context, ret, err);
}

int fmt_verify_to(const char *path, enum fmt_verify_depth depth,
		  int (*each)(void *context, const struct fmt_problem *p), void *context,
		  struct fmt_verified *ret, struct fmt_error *err)
{
	scoped(verifying_done) struct verifying v = {.result = ret, .depth = depth};
	uint32_t next = 0;
	int r = fmt_trace_open_damaged(path, &v.t, err);

	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->bytes = fmt_trace_bytes(v.t);
	while (r == 0 && (v.member = fmt_member_next(v.t, &next))) {
		v.rank_index = next - 2;
		v.rank = v.rank_index < v.t->n_ranks ? &v.t->ranks[v.rank_index] : NULL;
		r = check_member(&v);
	}
	if (r < 0)
		return fmt_fail(err, r, v.path, FMT_NO_OFFSET, "cannot read: %s", strerror(-r));
	check_packed(&v);
	sort_problems(&v);
	v.first = v.n;
	r = fmt_trace_damage(v.t, take_damage, &v);
	if (r < 0)
		return fmt_fail(err, r, path, FMT_NO_OFFSET, "%s", strerror(-r));
	sort_problems(&v);
	ret->problems = v.n;
	snprintf(ret->id, sizeof(ret->id), "%s", fmt_trace_id(v.t));
	for (size_t i = 0; r == 0 && each && i < v.n; i++)
		r = each(context, &v.problems[i]);
	return r;
}
