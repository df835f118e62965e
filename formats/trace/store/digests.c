/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/digests.h"

#include "base/scope.h"

/* Minimum size of a digest: a byte for each of seven numbers, and its 128 bits. */
#define DIGEST_MIN 23

static int pages_fit(const struct fmt_digest *d, uint64_t n_words)
{
	return d->n_pages == 0 || ((uint64_t)d->first_page + 2 * (uint64_t)d->n_pages <= n_words);
}

int fmt_digests_put(const struct fmt_slice *s, struct text *out)
{
	struct fmt_digest before = {0};

	fmt_put_varint(out, s->n_digests);
	fmt_put_varint(out, s->n_pages);
	for (size_t i = 0; i < s->n_digests; i++) {
		const struct fmt_digest *d = &s->digests[i];

		if (!pages_fit(d, s->n_pages) || d->access >= FMT_ACCESSES)
			return -EINVAL;
		fmt_put_svarint(out, (int64_t)(d->op - before.op));
		fmt_put_svarint(out, (int64_t)(d->allocation - before.allocation));
		fmt_put_varint(out, d->offset_bytes);
		fmt_put_varint(out, d->length_bytes);
		fmt_put_u8(out, d->access);
		fmt_put_varint(out, d->first_page);
		fmt_put_varint(out, d->n_pages);
		before = *d;
	}
	for (size_t i = 0; i < s->n_digests; i++) {
		fmt_put_u64(out, s->digests[i].digest[0]);
		fmt_put_u64(out, s->digests[i].digest[1]);
	}
	for (size_t i = 0; i < s->n_pages; i++)
		fmt_put_u64(out, s->pages[i]);
	return out->error;
}

static void get_digest(struct fmt_cursor *c, const struct fmt_digest *before, struct fmt_digest *d)
{
	uint64_t first_page, n_pages;

	d->op = before->op + (uint64_t)fmt_svarint(c);
	d->allocation = before->allocation + (uint64_t)fmt_svarint(c);
	d->offset_bytes = fmt_varint(c);
	d->length_bytes = fmt_varint(c);
	d->access = fmt_u8(c);
	first_page = fmt_varint(c);
	n_pages = fmt_varint(c);
	d->first_page = (uint32_t)first_page;
	d->n_pages = (uint32_t)n_pages;
	if (d->access >= FMT_ACCESSES || first_page > UINT32_MAX || n_pages > UINT32_MAX)
		c->bad = 1;
}

int fmt_digests_get(struct fmt_cursor in, uint64_t n, struct fmt_slice *s)
{
	uint64_t n_digests = fmt_count(&in, DIGEST_MIN), n_pages = fmt_count(&in, 8), taken = 0;
	scoped(free_ptr) struct fmt_digest *digests = NULL;
	scoped(free_ptr) uint64_t *pages = NULL;

	if (in.bad || n_digests != n)
		return -EBADMSG;
	digests = calloc(n_digests + 1, sizeof(*digests));
	pages = calloc(n_pages + 1, sizeof(*pages));
	if (!digests || !pages)
		return -ENOMEM;
	for (uint64_t i = 0; i < n_digests; i++) {
		get_digest(&in, i > 0 ? &digests[i - 1] : &(struct fmt_digest){0}, &digests[i]);
		taken += 2 * (uint64_t)digests[i].n_pages;
		/* Digests must not share pages, so that copying all of them takes no more memory
		 * than the file has. */
		if (!pages_fit(&digests[i], n_pages) || taken > n_pages)
			in.bad = 1;
	}
	for (uint64_t i = 0; i < n_digests; i++) {
		digests[i].digest[0] = fmt_u64(&in);
		digests[i].digest[1] = fmt_u64(&in);
	}
	for (uint64_t i = 0; i < n_pages; i++)
		pages[i] = fmt_u64(&in);
	if (in.bad || fmt_left(&in) > 0)
		return -EBADMSG;
	s->digests = take(digests);
	s->n_digests = n_digests;
	s->pages = take(pages);
	s->n_pages = n_pages;
	return 0;
}
