/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/slice_code.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#define LAUNCHES 200

/* Returns the chunk header that a writer makes for the slice. */
static struct fmt_chunk chunk_of(const struct fmt_slice *s, const struct fmt_names *n, size_t bytes)
{
	struct fmt_chunk c = {.type = FMT_CHUNK_SLICE,
			      .slice = s->index,
			      .iteration = s->iteration,
			      .first_number = s->first_number,
			      .n_edges = s->n_edges,
			      .raw_bytes = bytes};

	for (size_t i = 0; i < s->n_events; i++)
		c.n_records[fmt_template(n, s->events[i].template)->kind]++;
	for (size_t i = 0; i < s->n_ranges; i++)
		c.n_records[fmt_template(n, s->ranges[i].template)->kind]++;
	return c;
}

static int get_slice(const struct made *m, const struct text *raw, size_t len,
		     const struct fmt_chunk *c, const struct text *base, struct fmt_slice **ret)
{
	struct fmt_cursor of_base = fmt_cursor(base ? base->data : "", base ? base->len : 0);
	struct fmt_slice_head head;
	int r = fmt_slice_head_get(fmt_cursor(raw->data, len), &head);

	return r < 0 ? r : fmt_slice_get(&head, c, m->names, 0, base ? &of_base : NULL, ret);
}

TEST(test_round_trip)
{
	struct fmt_slice_parts parts[2] = {0};
	struct text raw[2] = {0};
	scoped(made_done) struct made m;
	int64_t copied;

	made_init(&m, 1);
	for (uint32_t k = 0; k < 2; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *slice =
			made_slice(&m, 0, k, LAUNCHES, k * 2 * LAUNCHES);
		scoped(fmt_slice_freep) struct fmt_slice *got = NULL;
		const struct text *base = k ? &parts[0].structure : NULL;
		struct fmt_patch_base of = {.bytes = parts[0].structure}; /* not owned */
		struct fmt_chunk c;

		ck_assert_int_eq(fmt_slice_encode(slice, m.names, 0, &parts[k]), 0);
		copied = fmt_slice_put(&parts[k], k ? &of : NULL, k, &raw[k]);
		fmt_patch_base_trim(&of);
		ck_assert_int_eq(copied > (int64_t)parts[k].structure.len / 2, k);
		c = chunk_of(slice, m.names, raw[k].len);
		ck_assert_int_eq(get_slice(&m, &raw[k], raw[k].len, &c, base, &got), 0);
		ck_assert(same_slice(slice, got, m.names));
	}
	ck_assert_uint_lt(raw[1].len, raw[0].len);
	for (int k = 0; k < 2; k++) {
		fmt_slice_parts_done(&parts[k]);
		text_done(&raw[k]);
	}
}

/* A header with wrong counts, a payload cut at any byte, a patch without its base. */
TEST(test_invalid_slices_are_refused)
{
	scoped(fmt_slice_parts_done) struct fmt_slice_parts parts = {0};
	scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
	struct fmt_slice *got = NULL;
	scoped(text_done) struct text raw = {0};
	scoped(text_done) struct text patched = {0};
	struct fmt_patch_base base = {0};
	struct fmt_chunk c;
	scoped(made_done) struct made m;

	made_init(&m, 1);
	slice = made_slice(&m, 0, 0, 20, 0);
	ck_assert_int_eq(fmt_slice_encode(slice, m.names, 0, &parts), 0);
	ck_assert_int_eq(fmt_slice_put(&parts, NULL, 0, &raw), 0);
	base.bytes = parts.structure; /* not owned */
	ck_assert_int_gt(fmt_slice_put(&parts, &base, 1, &patched), 0);
	fmt_patch_base_trim(&base);
	c = chunk_of(slice, m.names, raw.len);
	for (size_t len = 0; len < raw.len; len++)
		ck_assert_int_eq(get_slice(&m, &raw, len, &c, NULL, &got), -EBADMSG);
	ck_assert_int_eq(get_slice(&m, &patched, patched.len, &c, NULL, &got), -EBADMSG);
	ck_assert_int_eq(get_slice(&m, &raw, raw.len, &c, &parts.structure, &got), -EBADMSG);
	c.n_records[FMT_CALL]--;
	c.n_records[FMT_KERNEL]++;
	ck_assert_int_eq(get_slice(&m, &raw, raw.len, &c, NULL, &got), -EBADMSG);
	ck_assert_ptr_null(got);
}
