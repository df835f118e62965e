/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/brief.h"

#include "base/scope.h"
#include "tests/unit/test.h"

#define ELEMENTWISE "void at::native::vectorized_elementwise_kernel<4, at::native::"
#define CAT "void at::native::(anonymous namespace)::CatArrayBatchedCopy"
#define REST ", std::array<char*, 3ul> >(int, at::native::Functor, std::array<char*, 3ul>)"

/* The names in a table, the width, and the expected short forms and labels. */
static const struct {
	size_t most;
	const char *names[4], *shown[4], *labels[4];
} tables[] = {
	{40,
	 {"volta_sgemm_128x32_nn", "Memcpy HtoD (Pageable -> Device)",
	  "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)", "void k<1>(int)"},
	 {"volta_sgemm_128x32_nn", "Memcpy HtoD (Pageable -> Device)", "ncclDevKernel_SendRecv",
	  "k<1>"},
	 {"volta_sgemm_128x32_nn", "Memcpy HtoD (Pageable -> Device)", "SendRecv", "k"}},
	/* The names differ in a template argument far from the start. */
	{60,
	 {ELEMENTWISE "CUDAFunctor_add<float>" REST, ELEMENTWISE "neg_kernel_cuda<float>" REST},
	 {"vectorized_elem…CUDAFunctor_add<float>, std::array<char*, 3…",
	  "vectorized_elem…neg_kernel_cuda<float>, std::array<char*, 3…"},
	 {"vectorized_elem…CUDAFunctor_add<float>, std::array<char*, 3…",
	  "vectorized_elem…neg_kernel_cuda<float>, std::array<char*, 3…"}},
	/* The names differ in the function name, which alone makes a good label. */
	{60,
	 {CAT "<float, unsigned int, 2, 64, 64>(float*)",
	  CAT "_aligned16_contig<float, unsigned int, 2, 64, 64>(float*)"},
	 {"CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>",
	  "CatArrayBatchedCopy_aligned16_contig<flo…ned int, 2, 64, 64>"},
	 {"CatArrayBatchedCopy", "CatArrayBatchedCopy_aligned16_contig"}},
	/* The names differ in their parameters only. */
	{40,
	 {"f(int)", "f(long)", "g(int)"},
	 {"f(int)", "f(long)", "g"},
	 {"f(int)", "f(long)", "g"}},
	/* The names differ in their namespace only. */
	{20,
	 {"void a::kernel<float, 128, 2>(int)", "void b::kernel<float, 128, 2>(int)",
	  "void c::kernel<float, 128, 1>(int)"},
	 {"a::kernel<flo…28, 2>", "b::kernel<flo…28, 2>", "kernel<float,…28, 1>"},
	 {"a::kernel<flo…28, 2>", "b::kernel<flo…28, 2>", "kernel<float,…28, 1>"}},
	/* The names differ in the middle and at the end, so no window contains both differences. */
	{12,
	 {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaxb", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaayb",
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaxb"},
	 {"aaaaaaaa…axb #1", "aaaaaaaa…ayb", "aaaaaaaa…axb #2"},
	 {NULL}},
};

static void check_form(const char *want, struct text *got)
{
	text_char(got, 0);
	ck_assert_str_eq(got->data, want);
	text_done(got);
}

TEST_ROWS(test_tables, tables)
{
	scoped(fmt_brief_done) struct fmt_brief b = {0};

	for (uint32_t k = 0; k < 4 && row->names[k]; k++)
		ck_assert_int_eq(fmt_brief_add(&b, k, row->names[k], strlen(row->names[k])), 0);
	ck_assert_int_eq(fmt_brief_shorten(&b, row->most), 0);
	for (uint32_t k = 0; k < 4 && row->names[k]; k++) {
		struct text shown = {0}, label = {0};

		fmt_brief_put(&b, k, row->most, &shown);
		check_form(row->shown[k], &shown);
		if (!row->labels[k])
			continue;
		fmt_brief_label(&b, k, row->most, &label);
		check_form(row->labels[k], &label);
	}
}

/* Random names over a small alphabet, so that they are similar: short forms must be distinct, and
 * not much longer than the width. */
TEST(test_all_differ)
{
	enum { NAMES = 400, MOST = 24 };
	static char names[NAMES][80];
	struct text shown[NAMES] = {0};
	scoped(fmt_brief_done) struct fmt_brief b = {0};
	uint32_t random = 1;

	for (uint32_t i = 0; i < NAMES; i++) {
		size_t len = 30 + i % 40;

		for (size_t k = 0; k < len; k++) {
			random = random * 1664525 + 1013904223;
			names[i][k] = k < 20 ? 'a' : "aaaaab<,\xc3"[(random >> 16) % 9];
		}
		ck_assert_int_eq(fmt_brief_add(&b, NAMES - i, names[i], len), 0);
	}
	ck_assert_int_eq(fmt_brief_shorten(&b, MOST), 0);
	for (uint32_t i = 0; i < NAMES; i++) {
		fmt_brief_put(&b, NAMES - i, MOST, &shown[i]);
		ck_assert_uint_le(shown[i].len, MOST + 2 * strlen("…") + 6);
		text_char(&shown[i], 0);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_msg(strcmp(shown[i].data, shown[k].data) != 0 ||
					      strcmp(names[i], names[k]) == 0,
				      "%s and %s are both %s", names[i], names[k], shown[i].data);
	}
	for (uint32_t i = 0; i < NAMES; i++)
		text_done(&shown[i]);
}
