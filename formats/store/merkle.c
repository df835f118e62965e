/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/merkle.h"

#include "base/scope.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

define_cleanup(free_md, EVP_MD_CTX *, EVP_MD_CTX_free);

static int sha(uint8_t prefix, const void *a, size_t a_len, const void *b, size_t b_len,
	       uint8_t ret[FMT_SHA_BYTES])
{
	scoped(free_md) EVP_MD_CTX *md = EVP_MD_CTX_new();

	if (!md || !EVP_DigestInit_ex(md, EVP_sha256(), NULL) ||
	    !EVP_DigestUpdate(md, &prefix, 1) || !EVP_DigestUpdate(md, a, a_len) ||
	    !EVP_DigestUpdate(md, b, b_len) || !EVP_DigestFinal_ex(md, ret, NULL))
		return -ENOMEM;
	return 0;
}

int fmt_merkle_add(struct fmt_merkle *m, const void *head, size_t head_len, const void *body,
		   size_t body_len)
{
	uint8_t node[FMT_SHA_BYTES];
	uint64_t bits = m->n_leaves;
	int level = 0;
	int r = sha(0, head, head_len, body, body_len, node);

	for (; r == 0 && bits & 1; bits >>= 1, level++)
		r = sha(1, m->nodes[level], FMT_SHA_BYTES, node, FMT_SHA_BYTES, node);
	if (r < 0)
		return r;
	memcpy(m->nodes[level], node, sizeof(node));
	m->n_leaves++;
	return 0;
}

int fmt_merkle_root(const struct fmt_merkle *m, uint8_t ret[FMT_SHA_BYTES])
{
	uint8_t node[FMT_SHA_BYTES];
	int have = 0;

	for (int level = 0; level < 64; level++) {
		if (!(m->n_leaves >> level & 1))
			continue;
		if (!have)
			memcpy(node, m->nodes[level], sizeof(node));
		else if (sha(1, m->nodes[level], FMT_SHA_BYTES, node, FMT_SHA_BYTES, node) < 0)
			return -ENOMEM;
		have = 1;
	}
	if (!have && !EVP_Digest("", 0, node, NULL, EVP_sha256(), NULL))
		return -ENOMEM;
	memcpy(ret, node, sizeof(node));
	return 0;
}
