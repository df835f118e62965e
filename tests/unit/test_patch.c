/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/patch.h"

#include "base/scope.h"
#include "tests/unit/test.h"

TEST(test_patches_restore_their_input)
{
	scoped(fmt_patch_base_done) struct fmt_patch_base from = {0};
	uint8_t base[3000], bytes[3000];
	scoped(text_done) struct text patch = {0};
	scoped(text_done) struct text made = {0};
	uint64_t seed = 1;
	int64_t copied;

	for (size_t i = 0; i < sizeof(base); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		base[i] = (uint8_t)(seed >> 56);
	}
	memcpy(bytes, base + 1000, 1500); /* moved, with a change in the middle */
	memcpy(bytes + 1500, base, 1500);
	bytes[700] ^= 1;
	text_bytes(&from.bytes, (const char *)base, sizeof(base));
	copied = fmt_patch_put(&from, bytes, sizeof(bytes), &patch);
	ck_assert_int_eq(copied, sizeof(bytes) - 1);
	ck_assert_uint_lt(patch.len, 20);
	ck_assert_int_eq(fmt_patch_apply(fmt_cursor(patch.data, patch.len), base, sizeof(base),
					 sizeof(bytes), &made),
			 0);
	ck_assert_uint_eq(made.len, sizeof(bytes));
	ck_assert_mem_eq(made.data, bytes, sizeof(bytes));
	/* An output beyond the limit, and a copy beyond the end of a shorter base. */
	ck_assert_int_eq(fmt_patch_apply(fmt_cursor(patch.data, patch.len), base, sizeof(base),
					 sizeof(bytes) - 1, &made),
			 -EBADMSG);
	ck_assert_int_eq(fmt_patch_apply(fmt_cursor(patch.data, patch.len), base, 1400,
					 sizeof(bytes), &made),
			 -EBADMSG);
}
