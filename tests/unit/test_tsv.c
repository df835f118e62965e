/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/tsv.h"

#include "formats/render/export/row_template.h"
#include "formats/render/export/time_order.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

static const struct {
	const char *field;
	size_t len;
	const char *special, *want;
} fields[] = {
	{"", 0, "", ""},
	{"plain", 5, "", "plain"},
	{"a\tb\nc\rd\\e", 9, "", "a\\tb\\nc\\rd\\\\e"},
	{"nul\0nul", 7, "", "nul\\0nul"},
	{"a;b=c", 5, "", "a;b=c"},
	{"a;b=c", 5, ";", "a\\;b=c"},
	{"a;b=c", 5, ";=", "a\\;b\\=c"},
	{"\t\t", 2, ";", "\\t\\t"},
};

TEST_ROWS(test_fields, fields)
{
	scoped(text_done) struct text t = {0};

	fmt_field_text(&t, row->field, row->len, row->special);
	ck_assert_uint_eq(t.len, strlen(row->want));
	ck_assert_mem_eq(t.data ? t.data : "", row->want, t.len);
}

TEST(test_digits)
{
	uint64_t v = 1;

	ck_assert_uint_eq(text_u64_length(0), 1);
	for (unsigned digits = 1; digits < 20; digits++, v *= 10) {
		ck_assert_uint_eq(text_u64_length(v), digits);
		ck_assert_uint_eq(text_u64_length(v * 10 - 1), digits);
	}
	ck_assert_uint_eq(text_u64_length(UINT64_MAX), 20);
}

TEST(test_order)
{
	static const int64_t starts[] = {5, 7, 9, 1, 7, 8, 0, 0, 20, 3};
	static const uint64_t want[] = {6, 7, 3, 9, 0, 1, 4, 5, 2, 8};
	scoped(fmt_time_order_done) struct fmt_time_order o = {0};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		ck_assert_int_eq(fmt_time_order_add(&o, starts[i], i), 0);
	ck_assert_int_eq(fmt_time_order_sort(&o), 0);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		ck_assert_uint_eq(o.items[i].index, want[i]);
}

/* Names with all special characters, and one event of each kind. */
struct sample {
	struct made made;
	struct fmt_slice slice;
	struct fmt_event events[4], range;
	int64_t values[8];
	struct fmt_edge edge;
	struct fmt_digest digest;
};

static void sample_init(struct sample *s)
{
	struct made *m = &s->made;

	memset(s, 0, sizeof(*s));
	made_init(m, 1);

	const struct fmt_arg kernel[] = {
		{made_string(m, "grid"), FMT_JSON, 0, made_string(m, "[1,2,3]")},
		{made_string(m, "a;b"), FMT_STRING, 1, 0},
		{made_string(m, "correlation"), FMT_CORRELATION, 0, 0},
		{made_string(m, "x"), FMT_INT, 1, 0},
	};
	const struct fmt_arg copy[] = {
		{made_string(m, "bytes"), FMT_INT, 1, 0},
		{made_string(m, "rate"), FMT_RATE, 0, 0},
	};
	s->slice.rank = 0;
	s->slice.first_number = 100;
	s->slice.events = s->events;
	s->slice.n_events = 3;
	s->slice.ranges = &s->range;
	s->slice.n_ranges = 1;
	s->slice.values = s->values;
	s->slice.n_values = 4;
	s->events[0] =
		(struct fmt_event){.template = made_template(m, FMT_CALL, "cudaMalloc", NULL, 0),
				   .start_ns = 10,
				   .duration_ns = 2};
	s->events[1] =
		(struct fmt_event){.template = made_template(m, FMT_KERNEL, "k\tk", kernel, 4),
				   .track = 1,
				   .start_ns = 12,
				   .duration_ns = 3,
				   .correlation = 9};
	s->events[2] = (struct fmt_event){.template = made_template(m, FMT_MEMCPY, "copy", copy, 2),
					  .track = 1,
					  .start_ns = 20,
					  .duration_ns = 4,
					  .first_value = 2};
	s->values[0] = made_string(m, "v;\n");
	s->values[1] = -5;
	s->values[2] = 6;
	s->range = (struct fmt_event){.template = made_template(m, FMT_MARK, "[memory]", NULL, 0),
				      .start_ns = 9};
	s->edge = (struct fmt_edge){.from = 7, .to = 101, .lag_ns = -1, .kind = FMT_EDGE_RETURN};
	s->slice.edges = &s->edge;
	s->slice.n_edges = 1;
	s->digest = (struct fmt_digest){.op = 101,
					.allocation = 3,
					.length_bytes = 64,
					.digest = {1, 2},
					.access = FMT_WRITTEN};
	s->slice.digests = &s->digest;
	s->slice.n_digests = 1;
}

static const char *const rows[FMT_TABLES] = {
	[FMT_TABLE_CALLS] = "100\t10\t2\t100\t7\tcudaMalloc\tcall\t0\t-\n",
	[FMT_TABLE_KERNELS] = "101\t12\t3\t0\t20\tk\\tk\t[1,2,3]\t-\t-\t-\t9\ta\\;b=v\\;\\n;x=-5\n",
	[FMT_TABLE_MEMCPY] = "102\t20\t4\t0\t20\tcopy\t6\t0\trate=1.5\n",
	[FMT_TABLE_MEMSET] = "",
	[FMT_TABLE_COLLECTIVES] = "",
	[FMT_TABLE_SYNCS] = "inferred\treturn\tevent-wait\t7\t101\t-1\t12\t3\t0\t20\tk\\tk\t9\t-\n",
	[FMT_TABLE_MEMORY] = ("9\t0\t100\t7\t[memory]\t-\t-\t-\t-\t0\t-\n"
			      "10\t2\t100\t7\tcudaMalloc\t-\t-\t-\t-\t0\t-\n"),
	[FMT_TABLE_DIGESTS] = "101\twritten\t3\t0\t64\t00000000000000010000000000000002\t0\n",
};

TEST(test_rows)
{
	scoped(fmt_tsv_freep) struct fmt_tsv *x = NULL;
	uint64_t lengths[FMT_TABLES];
	struct sample s;

	sample_init(&s);
	ck_assert_int_eq(fmt_tsv_new(s.made.names, &x), 0);
	ck_assert_int_eq(fmt_tsv_lengths(x, &s.slice, lengths), 0);
	for (int i = 0; i < FMT_TABLES; i++) {
		scoped(text_done) struct text t = {0};

		ck_assert_int_eq(fmt_tsv_rows(x, (enum fmt_table)i, &s.slice, &t), 0);
		text_char(&t, 0);
		ck_assert_str_eq(t.data, rows[i]);
		ck_assert_uint_eq(lengths[i], t.len - 1);
	}
	made_done(&s.made);
}

TEST(test_headers_have_as_many_columns_as_rows)
{
	for (int i = 0; i < FMT_TABLES; i++) {
		scoped(text_done) struct text t = {0};
		size_t in_header = 0, in_row = 0;

		fmt_table_header((enum fmt_table)i, &t);
		for (size_t k = 0; k < t.len; k++)
			in_header += t.data[k] == '\t';
		for (const char *c = rows[i]; *c && *c != '\n'; c++)
			in_row += *c == '\t';
		if (*rows[i])
			ck_assert_uint_eq(in_header, in_row);
	}
}

TEST(test_lengths_are_those_of_the_rows)
{
	scoped(fmt_tsv_freep) struct fmt_tsv *x = NULL;
	scoped(made_done) struct made m;

	made_init(&m, 2);
	ck_assert_int_eq(fmt_tsv_new(m.names, &x), 0);
	for (uint32_t k = 0; k < 6; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *s =
			made_slice(&m, k % 2, k, 100 * k, 1000 * k);
		uint64_t lengths[FMT_TABLES];

		ck_assert_int_eq(fmt_tsv_lengths(x, s, lengths), 0);
		for (int i = 0; i < FMT_TABLES; i++) {
			scoped(text_done) struct text t = {0};

			ck_assert_int_eq(fmt_tsv_rows(x, (enum fmt_table)i, s, &t), 0);
			ck_assert_uint_eq(lengths[i], t.len);
		}
	}
}

/* Invalid references in a slice: each row breaks one. */
TEST(test_invalid_references)
{
	scoped(fmt_tsv_freep) struct fmt_tsv *x = NULL;
	uint64_t lengths[FMT_TABLES];
	struct sample s;

	sample_init(&s);
	ck_assert_int_eq(fmt_tsv_new(s.made.names, &x), 0);
	for (int i = 0; i < 5; i++) {
		struct sample broken = s;

		broken.slice.events = broken.events;
		broken.slice.edges = &broken.edge;
		if (i == 0)
			broken.events[0].template = 1u << 30;
		else if (i == 1)
			broken.events[1].track = 77;
		else if (i == 2)
			broken.events[1].first_value = 3;
		else if (i == 3)
			broken.edge.to = 5;
		else
			broken.edge.rule = 200;
		ck_assert_int_eq(fmt_tsv_lengths(x, &broken.slice, lengths), -EBADMSG);
	}
	made_done(&s.made);
}
