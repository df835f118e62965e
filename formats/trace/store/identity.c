/* SPDX-License-Identifier: Apache-2.0 */

/* The id of a trace, and its known damage. */
#include "formats/trace/store/merkle.h"
#include "formats/trace/store/output.h"
#include "formats/trace/store/trace_impl.h"

#include "base/array.h"

/* Computes the root of a file without a footer from its readable chunks. */
static int compute_root(const struct fmt_trace *t, const struct fmt_member *m, uint8_t ret[32])
{
	struct fmt_merkle tree = {0};
	char path[512];
	int r = fmt_merkle_add_file(&tree, &m->header);

	fmt_member_path(t, m, path, sizeof(path));
	for (size_t i = 0; r == 0 && i < m->n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = m->chunks[i];

		if (fmt_member_read(m, path, &c, &raw, NULL) >= 0)
			r = fmt_merkle_add_chunk(&tree, &c, raw);
	}
	if (r == 0)
		fmt_merkle_root(&tree, ret);
	return r;
}

static int root_of(const struct fmt_trace *t, const struct fmt_member *m, uint8_t ret[32])
{
	if (!m->has_root)
		return compute_root(t, m, ret);
	memcpy(ret, m->root, sizeof(m->root));
	return 0;
}

static int add_root(const struct fmt_trace *t, const struct fmt_member *m, struct fmt_merkle *tree)
{
	uint8_t root[32];
	int r = root_of(t, m, root);

	if (r == 0)
		fmt_merkle_add(tree, root, sizeof(root), "", 0);
	return r;
}

/* The id is the root of trace.chunks, which lists the roots of the other files; without
 * trace.chunks, it is computed from the existing files. */
static int compute_id(struct fmt_trace *t, uint8_t ret[FMT_SHA_BYTES])
{
	struct fmt_merkle tree = {0};
	const struct fmt_member *m;
	uint32_t next = 0;
	int r = 0;

	if (t->shared.source.name)
		return root_of(t, &t->shared, ret);
	while (r == 0 && (m = fmt_member_next(t, &next)))
		r = add_root(t, m, &tree);
	if (r == 0)
		fmt_merkle_root(&tree, ret);
	return r;
}

void fmt_root_text(const uint8_t root[FMT_SHA_BYTES], char ret[65])
{
	for (size_t i = 0; i < FMT_SHA_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", root[i]);
}

const char *fmt_trace_id(const struct fmt_trace *t)
{
	struct fmt_trace *own = (struct fmt_trace *)(uintptr_t)t;

	pthread_mutex_lock(&own->lock);
	if (!own->id[0] && compute_id(own, own->root) == 0)
		fmt_root_text(own->root, own->id);
	pthread_mutex_unlock(&own->lock);
	return t->id;
}

static int by_offset(const void *a, const void *b)
{
	const struct fmt_error *x = a, *y = b;

	return strcmp(x->file, y->file) ?: array_order(x->offset, y->offset);
}

int fmt_trace_damage(struct fmt_trace *t, int (*each)(void *context, const struct fmt_error *e),
		     void *context)
{
	scoped(free_ptr) struct fmt_error *copy = NULL;
	size_t n;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	n = t->damage.n;
	copy = malloc(sizeof(*copy) * (n + 1));
	if (copy && n > 0)
		memcpy(copy, t->damage.errors, sizeof(*copy) * n);
	pthread_mutex_unlock(&t->lock);
	if (!copy)
		return -ENOMEM;
	qsort(copy, n, sizeof(*copy), by_offset);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = each(context, &copy[i]);
	return r;
}
