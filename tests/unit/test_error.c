/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/error.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

TEST(test_a_long_path_keeps_its_end)
{
	struct fmt_error err;
	char path[400];

	memset(path, 'a', sizeof(path));
	strcpy(path + sizeof(path) - 6, "z.gpt");
	ck_assert_int_eq(fmt_fail(&err, -EBADMSG, path, 7, "bad %s", "magic"), -EBADMSG);
	ck_assert_uint_eq(strlen(err.file), sizeof(err.file) - 1);
	ck_assert_str_eq(err.file + strlen(err.file) - 5, "z.gpt");
	ck_assert_str_eq(err.what, "bad magic");
	ck_assert_uint_eq(err.offset, 7);
}

TEST(test_the_error_argument_is_optional)
{
	ck_assert_int_eq(fmt_fail(NULL, -ENOTSUP, "x", 0, "newer"), -ENOTSUP);
}
