/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "replay/device/build.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

/* Builds `n` parameters of one byte. */
static int build(const char *layout, size_t n)
{
	struct fmt_arg *args = calloc(n + 1, sizeof(*args));
	struct fmt_template template = {.kind = FMT_CALL, .args = args};
	struct rex_call call = {0};
	struct rex_context context = {0};
	struct rex_frame b = {.context = &context, .call = &call};
	struct made m = {0};
	void **pointers = NULL;
	char key[REX_KEY_BYTES];
	int r;

	ck_assert_ptr_nonnull(args);
	ck_assert_int_eq(fmt_names_new(&m.names), 0);
	args[template.n_args++] = (struct fmt_arg){.key = made_string(&m, "p.layout"),
						   .type = FMT_STRING,
						   .value = made_string(&m, layout)};
	for (size_t i = 0; i < n; i++)
		args[template.n_args++] =
			(struct fmt_arg){.key = made_string(&m, rex_key_at(key, "p", i)),
					 .type = FMT_INT,
					 .value = (int64_t)i};
	call.args = (struct rex_args){m.names, &template, NULL};
	r = rex_build_params(&b, "p", (void **)&pointers);
	for (size_t i = 0; r == 0 && i < n; i++)
		ck_assert_uint_eq(*(const uint8_t *)pointers[i], i & 255);
	rex_frame_done(&b);
	fmt_names_free(m.names);
	free(args);
	return r;
}

TEST(layouts)
{
	ck_assert_int_eq(build("", 0), 0);
	ck_assert_int_eq(build("0:1 1:1", 2), 0);
	ck_assert_int_eq(build("0:1 1", 2), -EBADMSG);
	ck_assert_int_eq(build("0:1 1:0", 2), -EBADMSG);
	ck_assert_int_eq(build("0:1 1:1", 1),
			 0); /* the bytes of the second parameter are not recorded */
}

/* A layout with more parameters than the limit is refused. */
TEST(too_many)
{
	struct text layout = {0};

	for (size_t i = 0; i < 4097; i++)
		text_str(&layout, "0:1 ");
	text_char(&layout, 0);
	layout.data[4096 * 4] = 0;
	ck_assert_int_eq(build(layout.data, 4096), 0);
	layout.data[4096 * 4] = '0';
	ck_assert_int_eq(build(layout.data, 4097), -EBADMSG);
	text_done(&layout);
}
