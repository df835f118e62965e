/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause.h"

#include "tests/unit/test.h"
#include "tests/unit/training.h"

static struct fmt_trace *make(const char *folder, const char *name, uint32_t ranks,
			      uint32_t iterations, uint32_t layers, uint64_t seed)
{
	struct training t;

	training_init(&t, ranks, iterations, layers);
	t.made.seed = seed;
	return training_open(&t, folder, name);
}

static struct fmt_trace *make_calling(const char *folder, const char *name, uint32_t layers,
				      uint32_t polls, int64_t address)
{
	struct training t;

	training_init(&t, 2, 2, layers);
	t.polls = polls;
	t.address = address;
	return training_open(&t, folder, name);
}

#define KERNEL "kernel cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>"
#define COPY "memcpy Memcpy DtoH (Device -> Pageable) of 4096 bytes"

static const struct {
	uint32_t ranks, iterations, layers;
	int parts;
	int64_t rank;
	const char *track;
	fmt_number number;
	const char *first, *second;
} rows[] = {
	{2, 2, 4, 0, -1, "", 0, "", ""},
	{3, 2, 4, 1, -1, "", 0, "2 ranks", "3 ranks"},
	{2, 3, 4, 1, 1, "stream 7", 108, "nothing", KERNEL},
	{2, 2, 5, 1, 0, "stream 7", 38, COPY, KERNEL},
};

START_TEST(test_first_difference)
{
	char *folder = made_directory();
	struct fmt_trace *a = make(folder, "a", 2, 2, 4, 1);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fmt_cause d = {0};
		struct fmt_error err = {.what = ""};
		char name[8] = {'b', (char)('0' + i)};
		struct fmt_trace *b =
			make(folder, name, rows[i].ranks, rows[i].iterations, rows[i].layers, 2);

		ck_assert_int_eq(fmt_cause_find(a, b, &FMT_CAUSE_ALL(true), &d, &err), 0);
		ck_assert_int_eq(d.kind != FMT_CAUSE_NONE, rows[i].parts);
		text_char(&d.first, 0);
		text_char(&d.second, 0);
		ck_assert_str_eq(d.first.data, rows[i].first);
		ck_assert_str_eq(d.second.data, rows[i].second);
		if (rows[i].parts) {
			ck_assert_int_eq(d.rank, rows[i].rank);
			ck_assert_str_eq(d.track, rows[i].track);
			ck_assert_uint_eq(d.number, rows[i].number);
		}
		fmt_cause_done(&d);
		fmt_trace_close(b);
	}
	fmt_trace_close(a);
	made_remove(folder);
}
END_TEST

/* An argument with the name of a size may hold an address, which differs between runs. */
static const struct {
	uint32_t layers, polls;
	bool calls;
	int parts;
} calling[] = {
	{4, 0, true, 0}, {4, 0, false, 0}, {4, 3, true, 0}, {4, 3, false, 0}, {5, 0, false, 1},
};

START_TEST(test_calls_of_threads)
{
	char *folder = made_directory();
	struct fmt_trace *a = make_calling(folder, "a", 4, 0, 94812022513184);

	for (size_t i = 0; i < ARRAY_SIZE(calling); i++) {
		struct fmt_cause d = {0};
		struct fmt_error err = {.what = ""};
		char name[8] = {'b', (char)('0' + i)};
		struct fmt_trace *b = make_calling(folder, name, calling[i].layers,
						   calling[i].polls, 94879063891536);

		ck_assert_int_eq(fmt_cause_find(a, b, &FMT_CAUSE_ALL(calling[i].calls), &d, &err),
				 0);
		ck_assert_int_eq(d.kind != FMT_CAUSE_NONE, calling[i].parts);
		fmt_cause_done(&d);
		fmt_trace_close(b);
	}
	fmt_trace_close(a);
	made_remove(folder);
}
END_TEST

TESTS("cause", test_first_difference, test_calls_of_threads)
