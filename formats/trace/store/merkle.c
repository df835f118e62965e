/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/merkle.h"

#include <nettle/sha2.h>
#include <string.h>

static void sha(uint8_t prefix, const void *a, size_t a_len, const void *b, size_t b_len,
		uint8_t ret[FMT_SHA_BYTES])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, 1, &prefix);
	sha256_update(&sha, a_len, a);
	sha256_update(&sha, b_len, b);
	sha256_digest(&sha, FMT_SHA_BYTES, ret);
}

void fmt_merkle_add(struct fmt_merkle *m, const void *head, size_t head_len, const void *body,
		    size_t body_len)
{
	uint8_t node[FMT_SHA_BYTES];
	uint64_t bits = m->n_leaves;
	int level = 0;

	sha(0, head, head_len, body, body_len, node);
	for (; bits & 1; bits >>= 1, level++)
		sha(1, m->nodes[level], FMT_SHA_BYTES, node, FMT_SHA_BYTES, node);
	memcpy(m->nodes[level], node, sizeof(node));
	m->n_leaves++;
}

void fmt_merkle_root(const struct fmt_merkle *m, uint8_t ret[FMT_SHA_BYTES])
{
	struct sha256_ctx nothing;
	int have = 0;

	for (int level = 0; level < 64; level++) {
		if (!(m->n_leaves >> level & 1))
			continue;
		if (have)
			sha(1, m->nodes[level], FMT_SHA_BYTES, ret, FMT_SHA_BYTES, ret);
		else
			memcpy(ret, m->nodes[level], FMT_SHA_BYTES);
		have = 1;
	}
	if (have)
		return;
	sha256_init(&nothing);
	sha256_digest(&nothing, FMT_SHA_BYTES, ret);
}
