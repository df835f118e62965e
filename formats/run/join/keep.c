/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/blobs.h"

struct blob {
	uint64_t name[2];
	uint32_t part;
	size_t at;
};

struct blobs {
	struct blob *list; /* owned */
	size_t n, cap;
};

static void blobs_done(struct blobs *b)
{
	free(b->list);
}

static int by_name(const void *a, const void *b)
{
	const struct blob *x = a, *y = b;

	return array_order(x->name[1], y->name[1]) ?: array_order(x->name[0], y->name[0])
	       ?: array_order(x->part, y->part);
}

static int list_blobs(struct join *j, struct blobs *b)
{
	for (uint32_t part = 0; part < j->options->n_paths; part++) {
		size_t at = 0, len, next;

		for (;; at = next) {
			scoped(free_ptr) uint8_t *data = NULL;
			struct blob found = {.part = part};
			int r;

			next = at;
			r = fmt_blob_next(j->parts[part].trace, &next, found.name, &data, &len,
					  j->err);
			if (r < 0)
				return r;
			if (r == 0)
				break;
			if (array_reserve(&b->list, b->n + 1, &b->cap) < 0)
				return -ENOMEM;
			found.at = at;
			b->list[b->n++] = found;
		}
	}
	if (b->n > 0)
		qsort(b->list, b->n, sizeof(*b->list), by_name);
	return 0;
}

static int put_blobs(struct join *j, struct blobs *b, struct fmt_output *out)
{
	int r = 0;

	for (size_t i = 0; i < b->n && r == 0; i++) {
		scoped(free_ptr) uint8_t *data = NULL;
		struct blob *of = &b->list[i];
		size_t len;

		if (i > 0 && memcmp(of->name, b->list[i - 1].name, sizeof(of->name)) == 0)
			continue;
		r = fmt_blob_next(j->parts[of->part].trace, &of->at, of->name, &data, &len, j->err);
		if (r == 1)
			r = fmt_blobs_put(out, of->name, data, len, j->err);
	}
	return r;
}

int join_keep(struct join *j, struct fmt_writer *w)
{
	scoped(blobs_done) struct blobs b = {0};
	struct fmt_output *out;
	int r = list_blobs(j, &b);

	if (r < 0 || b.n == 0)
		return r;
	r = fmt_writer_blobs(w, &out, j->err);
	if (r == 0)
		r = put_blobs(j, &b, out);
	for (uint32_t i = 0; i < j->run.n_ranks && r == 0; i++)
		if (j->readings[i].n_contents > 0)
			r = fmt_blobs_contents(out, j->ranks[i].number, j->readings[i].contents,
					       j->readings[i].n_contents, j->err);
	return r;
}
