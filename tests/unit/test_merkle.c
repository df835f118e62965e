/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/merkle.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "tests/unit/test.h"

/* The test tree of RFC 6962 implementations: the root after each leaf. */
static const struct {
	const char *leaf;
	size_t len;
	const char *root;
} rows[] = {
	{"", 0, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
	{"\0", 1, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"},
	{"\x10", 1, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"},
	{" !", 2, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"},
	{"01", 2, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"},
	{"@ABC", 4, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"},
	{"PQRSTUVW", 8, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"},
	{"`abcdefghijklmno", 16,
	 "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"},
};

static void check_root(const struct fmt_merkle *tree, const char *root)
{
	uint8_t made[FMT_SHA_BYTES];
	scoped(text_done) struct text hex = {0};

	fmt_merkle_root(tree, made);
	text_hex(&hex, made, sizeof(made));
	text_char(&hex, '\0');
	ck_assert_str_eq(hex.data, root);
}

TEST(test_roots_are_those_of_rfc_6962)
{
	struct fmt_merkle tree = {0};

	check_root(&tree, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* the hash of a leaf does not depend on how its bytes are split */
		size_t head = rows[i].len / 2;

		fmt_merkle_add(&tree, rows[i].leaf, head, rows[i].leaf + head, rows[i].len - head);
		check_root(&tree, rows[i].root);
	}
}
