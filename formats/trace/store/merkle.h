/* SPDX-License-Identifier: Apache-2.0 */

/* SHA-256 Merkle tree, the identity of a trace: leaf = SHA-256(0
 * bytes), node = SHA-256(1
 * left
 * right), an unpaired last node is passed up unchanged; the root of no leaves is the SHA-256 of the
 * empty string (RFC 6962). Memory does not grow with the number of leaves. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FMT_SHA_BYTES 32

struct fmt_merkle {
	uint64_t n_leaves;
	uint8_t nodes[64][FMT_SHA_BYTES]; /* one complete subtree for each bit of n_leaves */
};

/* Adds the leaf whose bytes are `head` followed by `body`. */
void fmt_merkle_add(struct fmt_merkle *m, const void *head, size_t head_len, const void *body,
		    size_t body_len);
void fmt_merkle_root(const struct fmt_merkle *m, uint8_t ret[FMT_SHA_BYTES]);
