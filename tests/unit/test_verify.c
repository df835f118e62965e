/* SPDX-License-Identifier: Apache-2.0 */

/* Traces with correct checksums whose contents are inconsistent: verify reports whatever a renderer
 * would fail on. */
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/trace_impl.h"
#include "formats/trace/store/verify.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include <sys/stat.h>

#define SLICES 4
#define LAUNCHES 40
#define SKIP 1
#define TWICE 2
#define SAID 2000

/* Changes the fields of a chunk of the rank's file. Returns 0, SKIP or TWICE. */
typedef int tamper(struct fmt_chunk *c);

static int keep_chunk(struct fmt_chunk *c)
{
	return 0;
}

static int drop_a_slice(struct fmt_chunk *c)
{
	return c->type == FMT_CHUNK_SLICE && c->slice == 1 ? SKIP : 0;
}

static int drop_the_last_slice(struct fmt_chunk *c)
{
	return c->type == FMT_CHUNK_SLICE && c->slice == SLICES - 1 ? SKIP : 0;
}

static int repeat_a_slice(struct fmt_chunk *c)
{
	return c->type == FMT_CHUNK_SLICE && c->slice == 2 ? TWICE : 0;
}

static int renumber_events(struct fmt_chunk *c)
{
	if (c->type == FMT_CHUNK_SLICE && c->slice == 2)
		c->first_number += 5;
	return 0;
}

static int miscount(struct fmt_chunk *c)
{
	if (c->type == FMT_CHUNK_SLICE && c->slice == 2) {
		c->n_records[FMT_CALL]--;
		c->n_records[FMT_KERNEL]++;
	}
	return 0;
}

static int promise_digests(struct fmt_chunk *c)
{
	c->n_digests += c->type == FMT_CHUNK_SLICE && c->slice == 2;
	return 0;
}

/* Writes the file of a member again, with its chunks changed, into the directory `to`. A manifest
 * is replaced by `manifest`, to which the root of another file is added. */
static void rewrite(const struct fmt_member *m, const char *to, tamper *change,
		    struct fmt_manifest *manifest)
{
	scoped(fmt_output_done) struct fmt_output out = {.fd = -1};
	struct fmt_error err;

	ck_assert_int_eq(fmt_output_open(&out, made_path(to, m->source.name), &m->header, &err), 0);
	for (size_t i = 0; i < m->n_chunks; i++) {
		struct fmt_chunk c = m->chunks[i];
		struct text list = {0};
		uint8_t *raw = NULL;
		int times;

		ck_assert_int_eq(fmt_member_read(m, "", &c, &raw, &err), 0);
		times = change(&c);
		if (c.type == FMT_CHUNK_MANIFEST) {
			fmt_manifest_put(manifest, &list);
			free(raw);
			raw = (uint8_t *)list.data;
			c.raw_bytes = list.len;
		}
		for (int k = times == SKIP; k < (times == TWICE ? 2 : 1); k++) {
			ck_assert_int_eq(
				fmt_output_chunk(&out, &c, (const char *)raw, c.raw_bytes, 1, &err),
				0);
		}
		free(raw);
	}
	ck_assert_int_eq(fmt_output_end(&out, &err), 0);
	if (m->header.kind != FMT_FILE_TRACE)
		ck_assert_int_eq(fmt_manifest_add(manifest, m->source.name, out.root), 0);
}

/* Collects problems as text, one line each. */
static int match(void *context, const struct fmt_problem *p)
{
	char *said = context;
	size_t len = strlen(said);

	snprintf(said + len, SAID - len, "%s\n", p->error.what);
	return 0;
}

static const struct {
	tamper *change;
	const char *says; /* NULL: no problem */
} rows[] = {
	{keep_chunk, NULL},
	{drop_a_slice, "slice 1 is missing"},
	{drop_the_last_slice, NULL}, /* a consistent index without the last slice: a shorter run */
	{repeat_a_slice, "another chunk of slice 2"},
	{renumber_events, "does not follow the slice before it"},
	{miscount, "invalid slice"},
	{promise_digests, "the digests of slice 2 were lost"},
};

TEST(test_inconsistent_slices)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(fmt_manifest_done) struct fmt_manifest manifest = {0};
		scoped(made_removep) char *dir = made_directory();
		char from[500], to[500], said[SAID] = "";
		struct fmt_verified v;
		struct fmt_trace *t;
		struct fmt_error err;
		scoped(made_done) struct made m;

		snprintf(from, sizeof(from), "%s/from", dir);
		snprintf(to, sizeof(to), "%s/to", dir);
		made_init(&m, 1);
		made_write(&m, from, 1, SLICES, LAUNCHES, 1);
		ck_assert_int_eq(mkdir(to, 0777), 0);
		t = made_open(from);
		rewrite(&t->ranks[0].member, to, rows[i].change, &manifest);
		rewrite(&t->shared, to, keep_chunk, &manifest);
		fmt_trace_close(t);
		ck_assert_int_eq(fmt_verify(to, match, said, &v, &err), 0);
		if (rows[i].says)
			ck_assert_msg(strstr(said, rows[i].says) != NULL, "row %zu: '%s'", i, said);
		else
			ck_assert_msg(v.problems == 0, "row %zu: %s", i, said);
	}
}

/* Checks a trace with a code image and a buffer. `more` is added to the buffer's length in its
 * list, `more_of_image` to the image's length in the fact, and `other_name` changes the list's
 * name. */
static void check_contents(int more, int more_of_image, int other_name, const char *says)
{
	static const char image[] = ".version 8.0", buffer[] = "what a buffer held";
	scoped(made_removep) char *dir = made_directory();
	char path[500], said[SAID] = "", json[200];
	struct fmt_digest d = {.length_bytes = sizeof(buffer) + (size_t)more};
	struct fmt_output *out;
	struct fmt_writer *w;
	struct fmt_verified v;
	struct fmt_error err;
	uint64_t name[2];
	scoped(made_done) struct made m;

	snprintf(path, sizeof(path), "%s/run", dir);
	made_init(&m, 1);
	fmt_blob_name(image, sizeof(image), name);
	snprintf(json, sizeof(json),
		 "[{\"kind\": \"ptx\", \"bytes\": %zu, \"content\": \"%016llx%016llx\"}]",
		 sizeof(image) + (size_t)more_of_image, (unsigned long long)name[1],
		 (unsigned long long)name[0]);
	ck_assert_int_eq(
		fmt_names_fact_json(m.names, FMT_WHOLE_TRACE, "images", json, strlen(json)), 0);
	w = made_begin(&m, path, 1, 1, LAUNCHES, 1);
	ck_assert_int_eq(fmt_writer_blobs(w, &out, &err), 0);
	ck_assert_int_eq(fmt_blobs_put(out, name, image, sizeof(image), &err), 0);
	fmt_blob_name(buffer, sizeof(buffer), name);
	ck_assert_int_eq(fmt_blobs_put(out, name, buffer, sizeof(buffer), &err), 0);
	name[1] ^= (uint64_t)other_name; /* the index is sorted by the other half */
	memcpy(d.digest, name, sizeof(name));
	ck_assert_int_eq(fmt_blobs_contents(out, 0, &d, 1, &err), 0);
	ck_assert_int_eq(fmt_writer_close(w, &err), 0);
	ck_assert_int_eq(fmt_verify(path, match, said, &v, &err), 0);
	ck_assert_msg(says ? strstr(said, says) != NULL : v.problems == 0, "'%s' for '%s'", said,
		      says ? says : "");
}

TEST(test_contents_of_wrong_length)
{
	check_contents(0, 0, 0, NULL);
	check_contents(3, 0, 0, "the length of a content differs from its list");
	check_contents(0, -2, 0, "the length of an image differs from its content");
	check_contents(0, 0, 1, "a listed content is missing");
}
