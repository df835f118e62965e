/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/patch.h"

#include "base/array.h"
#include "base/scope.h"

/* Shorter pieces cost more than their bytes. */
#define PIECE_MIN 16

static size_t slot_of(const struct fmt_patch_base *f, const uint8_t *at)
{
	uint64_t a, b;

	memcpy(&a, at, 8);
	memcpy(&b, at + 8, 8);
	return (size_t)((a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu) * 0x165667b19e3779f9u >>
			f->shift);
}

void fmt_patch_base_trim(struct fmt_patch_base *b)
{
	free(b->offsets);
	b->offsets = NULL;
}

void fmt_patch_base_done(struct fmt_patch_base *b)
{
	fmt_patch_base_trim(b);
	text_done(&b->bytes);
}

/* The first offset of equal pieces is kept. */
static int index_base(struct fmt_patch_base *f)
{
	unsigned int bits = 8;

	while (bits < 24 && (size_t)1 << bits < f->bytes.len)
		bits++;
	f->shift = 64 - bits;
	f->offsets = calloc((size_t)1 << bits, sizeof(*f->offsets));
	if (!f->offsets)
		return -ENOMEM;
	for (size_t i = 0; i + PIECE_MIN <= f->bytes.len; i++) {
		uint32_t *offset = &f->offsets[slot_of(f, (uint8_t *)f->bytes.data + i)];

		if (!*offset)
			*offset = (uint32_t)i + 1;
	}
	return 0;
}

/* Length of the match between the base at `offset` and `at`; 0 if shorter than PIECE_MIN. */
static size_t piece_length(const struct fmt_patch_base *f, size_t offset, const uint8_t *at,
			   size_t left)
{
	const char *base = f->bytes.data + offset;
	size_t most = offset < f->bytes.len ? f->bytes.len - offset : 0, n = 0;

	if (most > left)
		most = left;
	while (most - n >= 8 && memcmp(base + n, at + n, 8) == 0)
		n += 8;
	while (n < most && base[n] == (char)at[n])
		n++;
	return n < PIECE_MIN ? 0 : n;
}

/* Returns the longer of the piece at `expected` and the one in the index. */
static size_t find_piece(const struct fmt_patch_base *f, size_t expected, const uint8_t *at,
			 size_t left, size_t *ret)
{
	size_t n = piece_length(f, expected, at, left), indexed, other;

	*ret = expected;
	if (left < PIECE_MIN)
		return 0;
	indexed = f->offsets[slot_of(f, at)];
	other = indexed ? piece_length(f, indexed - 1, at, left) : 0;
	if (other <= n)
		return n;
	*ret = indexed - 1;
	return other;
}

int64_t fmt_patch_put(struct fmt_patch_base *base, const uint8_t *bytes, size_t len,
		      struct text *out)
{
	scoped(text_done) struct text pieces = {0}, literals = {0};
	uint64_t n_pieces = 0, literal = 0;
	size_t expected = 0, offset = 0;
	int64_t copied = 0;

	if (!base->offsets && index_base(base) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < len;) {
		size_t n = find_piece(base, expected, bytes + i, len - i, &offset);

		if (n == 0) {
			text_char(&literals, (char)bytes[i++]);
			literal++;
			expected++;
			continue;
		}
		fmt_put_varint(&pieces, literal);
		fmt_put_svarint(&pieces, (int64_t)offset - (int64_t)expected);
		fmt_put_varint(&pieces, n);
		n_pieces++;
		i += n;
		copied += (int64_t)n;
		expected = offset + n;
		literal = 0;
	}
	fmt_put_varint(out, n_pieces);
	text_bytes(out, pieces.data, pieces.len);
	text_bytes(out, literals.data, literals.len);
	return pieces.error || literals.error || out->error ? -ENOMEM : copied;
}

/* Each piece takes at least this many bytes of a patch. */
#define ENTRY_BYTES 3

int fmt_patch_apply(struct fmt_cursor patch, const uint8_t *base, size_t base_len, uint64_t limit,
		    struct text *out)
{
	uint64_t n = fmt_count(&patch, ENTRY_BYTES), made = 0, expected = 0;
	struct fmt_cursor pieces = patch, literals = patch;

	for (uint64_t i = 0; i < 3 * n; i++)
		fmt_varint(&literals);
	for (uint64_t i = 0; i < n && !patch.bad && !literals.bad; i++) {
		uint64_t literal = fmt_varint(&pieces);
		uint64_t offset = expected + literal + (uint64_t)fmt_svarint(&pieces);
		uint64_t bytes = fmt_varint(&pieces);
		const uint8_t *at = fmt_bytes(&literals, literal);

		if (!at || offset > base_len || bytes > base_len - offset || bytes > limit - made ||
		    literal > limit - made - bytes)
			return -EBADMSG;
		text_bytes(out, (const char *)at, literal);
		text_bytes(out, (const char *)base + offset, bytes);
		made += literal + bytes;
		expected = offset + bytes;
	}
	if (patch.bad || literals.bad || fmt_left(&literals) > limit - made)
		return -EBADMSG;
	text_bytes(out, (const char *)literals.at, fmt_left(&literals));
	return out->error;
}
