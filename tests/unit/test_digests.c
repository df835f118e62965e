/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/digests.h"
#include "formats/trace/store/pack.h"
#include "formats/trace/store/verify.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

static struct fmt_digest digests[] = {
	{.op = 7, .allocation = 3, .length_bytes = 200000, .digest = {1, UINT64_MAX}, .n_pages = 2},
	{.op = 7,
	 .allocation = UINT64_MAX,
	 .offset_bytes = 1ull << 40,
	 .length_bytes = 16,
	 .digest = {UINT64_MAX, 0},
	 .access = FMT_WRITTEN},
	{.op = 5, .first_page = 2, .n_pages = 1, .access = FMT_WRITTEN},
};
static uint64_t pages[] = {1, 2, 3, UINT64_MAX, 5, 6};

static void ck_same(const struct fmt_slice *a, const struct fmt_slice *b)
{
	ck_assert_uint_eq(a->n_digests, b->n_digests);
	ck_assert_uint_eq(a->n_pages, b->n_pages);
	ck_assert_mem_eq(a->pages, b->pages, a->n_pages * sizeof(*a->pages));
	for (size_t i = 0; i < a->n_digests; i++) {
		const struct fmt_digest *x = &a->digests[i], *y = &b->digests[i];

		ck_assert_uint_eq(x->op, y->op);
		ck_assert_uint_eq(x->allocation, y->allocation);
		ck_assert_uint_eq(x->offset_bytes, y->offset_bytes);
		ck_assert_uint_eq(x->length_bytes, y->length_bytes);
		ck_assert_mem_eq(x->digest, y->digest, sizeof(x->digest));
		ck_assert_uint_eq(x->first_page, y->first_page);
		ck_assert_uint_eq(x->n_pages, y->n_pages);
		ck_assert_uint_eq(x->access, y->access);
	}
}

static struct fmt_slice slice(void)
{
	return (struct fmt_slice){.digests = digests,
				  .n_digests = ARRAY_SIZE(digests),
				  .pages = pages,
				  .n_pages = ARRAY_SIZE(pages)};
}

TEST(test_round_trip)
{
	struct fmt_slice want = slice(), got = {0};
	scoped(text_done) struct text t = {0};

	ck_assert_int_eq(fmt_digests_put(&want, &t), 0);
	ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, t.len), 3, &got), 0);
	ck_same(&want, &got);
	free(got.digests);
	free(got.pages);
}

TEST(test_damage_is_refused)
{
	struct fmt_slice want = slice(), got = {0};
	scoped(text_done) struct text t = {0};

	ck_assert_int_eq(fmt_digests_put(&want, &t), 0);
	for (size_t len = 0; len < t.len; len++)
		ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, len), 3, &got), -EBADMSG);
	ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, t.len), 2, &got), -EBADMSG);
	ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, t.len), UINT64_MAX, &got), -EBADMSG);
	text_char(&t, 0);
	ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, t.len), 3, &got), -EBADMSG);
	ck_assert_ptr_null(got.digests);
}

/* Writes one buffer whose digest is of the rank's third event, which read the buffer. */
static void put_blobs(struct fmt_writer *w, const char *content, uint64_t name[2])
{
	struct fmt_digest d = {.op = 2, .length_bytes = strlen(content)};
	struct fmt_output *o;
	struct fmt_error err;

	fmt_blob_name(content, strlen(content), name);
	memcpy(d.digest, name, sizeof(d.digest));
	ck_assert_int_eq(fmt_writer_blobs(w, &o, &err), 0);
	ck_assert_int_eq(fmt_blobs_put(o, name, "another", 7, &err), -EBADMSG);
	ck_assert_int_eq(fmt_blobs_put(o, name, content, strlen(content), &err), 0);
	ck_assert_int_eq(fmt_blobs_contents(o, 1, &d, 1, &err), 0);
}

static void check_blobs(const char *path, const char *content, const uint64_t name[2], char id[65])
{
	struct fmt_digest *list;
	struct fmt_verified verified;
	struct fmt_trace *t = made_open(path);
	struct fmt_error err;
	uint8_t *data;
	size_t n;

	ck_assert_int_eq(fmt_blob_read(t, name, &data, &n, &err), 0);
	ck_assert_uint_eq(n, strlen(content));
	ck_assert_mem_eq(data, content, n);
	free(data);
	ck_assert_int_eq(fmt_blob_read(t, (uint64_t[2]){name[0], ~name[1]}, &data, &n, &err),
			 -ENOENT);
	ck_assert_int_eq(fmt_contents_read(t, 1, &list, &n, &err), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(list[0].op, 2);
	ck_assert_mem_eq(list[0].digest, name, 16);
	free(list);
	ck_assert_int_eq(fmt_contents_read(t, 0, &list, &n, &err), 0);
	ck_assert_uint_eq(n, 0);
	snprintf(id, 65, "%s", fmt_trace_id(t));
	fmt_trace_close(t);
	ck_assert_int_eq(fmt_verify(path, NULL, NULL, &verified, &err), 0);
	ck_assert_uint_eq(verified.problems, 0);
	ck_assert_str_eq(verified.id, id);
}

TEST(test_a_trace_keeps_contents)
{
	const char *content = "what a buffer held";
	scoped(made_removep) char *dir = made_directory();
	char path[3][600], without[600], id[4][65] = {""};
	struct fmt_verified verified;
	struct fmt_writer *w;
	struct fmt_error err;
	scoped(made_done) struct made m;
	uint64_t name[2];

	for (int i = 0; i < 3; i++)
		snprintf(path[i], sizeof(path[i]), "%s/run%d", dir, i);
	made_init(&m, 2);
	snprintf(without, sizeof(without), "%s/without", dir);
	made_write(&m, without, 2, 2, 100, 1);
	ck_assert_int_eq(fmt_verify(without, NULL, NULL, &verified, &err), 0);
	w = made_begin(&m, path[0], 2, 2, 100, 1);
	put_blobs(w, content, name);
	ck_assert_int_eq(fmt_writer_close(w, &err), 0);
	check_blobs(path[0], content, name, id[0]);
	ck_assert_str_ne(id[0], verified.id);
	for (int level = 0; level < 10; level += 9) {
		ck_assert_int_eq(fmt_pack(path[0], path[1], level, &err), 0);
		check_blobs(path[1], content, name, id[1]);
		ck_assert_str_eq(id[0], id[1]);
		ck_assert_int_eq(fmt_unpack(path[1], path[2], &err), 0);
		check_blobs(path[2], content, name, id[2]);
		ck_assert_str_eq(id[0], id[2]);
		snprintf(path[1], sizeof(path[1]), "%s/packed", dir);
		snprintf(path[2], sizeof(path[2]), "%s/unpacked", dir);
	}
}

TEST(test_missing_pages)
{
	struct fmt_digest d = {.first_page = 4, .n_pages = 2};
	struct fmt_slice s = {.digests = &d, .n_digests = 1, .pages = pages, .n_pages = 6};
	scoped(text_done) struct text t = {0};

	ck_assert_int_eq(fmt_digests_put(&s, &t), -EINVAL);
}

/* Digests that share pages are refused: a small file could expand to very many pages. */
TEST(test_shared_pages_are_refused)
{
	struct fmt_digest d[2] = {{.n_pages = 2}, {.first_page = 4, .n_pages = 1}};
	struct fmt_slice s = {.digests = d, .n_digests = 2, .pages = pages, .n_pages = 6};
	struct fmt_slice got = {0};
	scoped(text_done) struct text t = {0};

	ck_assert_int_eq(fmt_digests_put(&s, &t), 0);
	ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, t.len), 2, &got), 0);
	fmt_slice_done(&got);
	t.len = 0;
	d[1].n_pages = 2;
	d[1].first_page = 2;
	ck_assert_int_eq(fmt_digests_put(&s, &t), 0);
	ck_assert_int_eq(fmt_digests_get(fmt_cursor(t.data, t.len), 2, &got), -EBADMSG);
}

TEST(test_a_trace_keeps_digests)
{
	scoped(made_removep) char *dir = made_directory();
	char path[600];
	scoped(made_done) struct made m;
	struct fmt_writer *w;
	struct fmt_rank_writer *r;
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	struct fmt_slice *s, *got, digested = slice();
	struct fmt_error err;

	snprintf(path, sizeof(path), "%s/run", dir);
	made_init(&m, 1);
	s = made_slice(&m, 0, 0, 100, 0);
	s->digests = digests;
	s->n_digests = digested.n_digests;
	s->pages = pages;
	s->n_pages = digested.n_pages;
	ck_assert_int_eq(fmt_writer_open(path, m.names, 0, &w, &err), 0);
	ck_assert_int_eq(fmt_writer_rank(w, 0, 0, &r, &err), 0);
	ck_assert_int_eq(fmt_rank_writer_slice(r, s, &err), 0);
	ck_assert_int_eq(fmt_writer_close(w, &err), 0);
	s->digests = NULL;
	s->pages = NULL;
	fmt_slice_free(s);

	t = made_open(path);
	ck_assert_uint_eq(fmt_trace_slice(t, 0, 0)->n_digests, digested.n_digests);
	ck_assert_int_eq(fmt_slice_load(t, 0, 0, FMT_WANT_ALL, &got, &err), 0);
	ck_same(&digested, got);
	fmt_slice_free(got);
	ck_assert_int_eq(fmt_slice_load(t, 0, 0, FMT_WANT_CALLS, &got, &err), 0);
	ck_assert_uint_eq(got->n_digests, 0);
	fmt_slice_free(got);
}
