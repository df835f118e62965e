/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/spans.h"

#include "base/array.h"

void rec_spans_done(struct rec_spans *s)
{
	free(s->spans);
	*s = (struct rec_spans){0};
}

/* The first span that ends behind the address. */
static size_t from(const struct rec_spans *s, uint64_t address)
{
	return array_bound(i, 0, s->n, s->spans[i].end <= address);
}

static void drop(struct rec_spans *s, size_t at, size_t n)
{
	memmove(s->spans + at, s->spans + at + n, (s->n - at - n) * sizeof(*s->spans));
	s->n -= n;
}

int rec_spans_add(struct rec_spans *s, uint64_t start, uint64_t bytes)
{
	uint64_t end = start + bytes;
	size_t at, n = 0;

	if (end <= start)
		return 0;
	if (array_reserve(&s->spans, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	at = from(s, start);
	while (at + n < s->n && s->spans[at + n].start < end)
		n++;
	if (n > 0)
		drop(s, at, n);
	memmove(s->spans + at + 1, s->spans + at, (s->n - at) * sizeof(*s->spans));
	s->spans[at] = (struct rec_span){start, end};
	s->n++;
	return 0;
}

void rec_spans_remove(struct rec_spans *s, uint64_t start)
{
	size_t at = s->n > 0 ? from(s, start) : 0;

	if (at < s->n && s->spans[at].start == start)
		drop(s, at, 1);
}

const struct rec_span *rec_spans_find(const struct rec_spans *s, uint64_t address)
{
	size_t at = s->n > 0 ? from(s, address) : 0;

	return at < s->n && s->spans[at].start <= address ? &s->spans[at] : NULL;
}
