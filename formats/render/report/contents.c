/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/contents.h"

#include "base/array.h"

#include <inttypes.h>

struct fmt_held {
	const struct fmt_digest *digest;
	const uint64_t *pages;
	size_t position; /* in the order in which they were added */
};

void fmt_contents_done(struct fmt_contents *c)
{
	free(c->items);
	memset(c, 0, sizeof(*c));
}

int fmt_contents_add(struct fmt_contents *c, const struct fmt_slice *s)
{
	if (array_reserve(&c->items, c->n + s->n_digests, &c->cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_digests; i++) {
		const struct fmt_digest *d = &s->digests[i];

		c->items[c->n] = (struct fmt_held){d, s->pages + d->first_page, c->n};
		c->n++;
	}
	c->sorted = 0;
	return 0;
}

/* By operation, what it reads before what it writes, else in order. */
static int by_op(const void *x, const void *y)
{
	const struct fmt_held *a = x, *b = y;

	return array_order(a->digest->op, b->digest->op)
	       ?: array_order(a->digest->access, b->digest->access)
	       ?: array_order(a->position, b->position);
}

/* The first of the operation's, and how many there are. */
static const struct fmt_held *held_of(struct fmt_contents *c, fmt_number op, size_t *ret_n)
{
	size_t low, n = 0;

	if (!c->sorted && c->n > 0)
		qsort(c->items, c->n, sizeof(*c->items), by_op);
	c->sorted = 1;
	low = array_bound(i, 0, c->n, c->items[i].digest->op < op);
	while (low + n < c->n && c->items[low + n].digest->op == op)
		n++;
	*ret_n = n;
	return c->items + low;
}

static int same_buffer(const struct fmt_digest *a, const struct fmt_digest *b)
{
	return a->access == b->access && a->length_bytes == b->length_bytes;
}

static void describe(const struct fmt_held *h, const struct fmt_held *other, struct text *out)
{
	static const char *const verbs[FMT_ACCESSES] = {"read", "wrote", "began with",
							"ended with"};
	const struct fmt_digest *d = h->digest;
	uint32_t page = 0;

	text_printf(out,
		    " that %s %" PRIu64 " byte%s at %" PRIu64 " of allocation %" PRIu64
		    ", digest %016" PRIx64 "%016" PRIx64,
		    verbs[d->access], d->length_bytes, d->length_bytes == 1 ? "" : "s",
		    d->offset_bytes, d->allocation, d->digest[0], d->digest[1]);
	while (page < d->n_pages && page < other->digest->n_pages &&
	       memcmp(h->pages + 2 * page, other->pages + 2 * page, 16) == 0)
		page++;
	if (page < d->n_pages)
		text_printf(out, ", page %" PRIu32 " of %" PRIu32, page, d->n_pages);
}

int fmt_contents_differ(struct fmt_contents *a, fmt_number x, struct fmt_contents *b, fmt_number y,
			struct text *first, struct text *second)
{
	size_t n, m;
	const struct fmt_held *p = held_of(a, x, &n), *q = held_of(b, y, &m);

	if (n != m)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!same_buffer(p[i].digest, q[i].digest))
			return 0;
	for (size_t i = 0; i < n; i++) {
		if (memcmp(p[i].digest->digest, q[i].digest->digest, 16) == 0)
			continue;
		describe(&p[i], &q[i], first);
		describe(&q[i], &p[i], second);
		return 1;
	}
	return 0;
}
