/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/milestones.h"

#include "base/array.h"
#include "base/scope.h"
#include "fs/lengths.h"

/* The pieces of one file. */
struct wanted {
	struct fs_tree *tree;
	const struct fs_node *where;
	int piece;
};

/* The sum of lengths before a position. */
struct milestone {
	uint64_t before; /* bytes of the earlier pieces */
	uint32_t rank, next;
};

#define MILESTONE_PIECES 32

struct milestones {
	size_t n;
	struct milestone *items;
};

static void milestones_drop(void *value)
{
	struct milestones *m = value;

	free(m->items);
	free(m);
}

static int milestones_make(void *context, void **ret, size_t *bytes)
{
	const struct wanted *w = context;
	struct fs_piece p = {.tree = w->tree, .number = w->piece};
	struct milestones *m = calloc(1, sizeof(*m));
	struct fmt_walk walk = fs_tree_walk(w->tree, w->where), here = walk;
	uint64_t before = 0, length;
	size_t cap = 0;
	int r = m ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && fs_piece_next(&p, &walk); i++) {
		if (i % MILESTONE_PIECES == 0) {
			r = array_reserve(&m->items, m->n + 1, &cap);
			if (r == 0)
				m->items[m->n++] = (struct milestone){before, here.rank, here.next};
		}
		if (r == 0)
			r = fs_piece_length(&p, &length);
		before += r == 0 ? length : 0;
		here = walk;
	}
	if (r < 0) {
		if (m)
			milestones_drop(m);
		return r;
	}
	*bytes = sizeof(*m) + cap * sizeof(*m->items);
	*ret = m;
	return 0;
}

struct fmt_walk fs_milestones_skip(struct fs_tree *t, const struct fs_node *where, int piece,
				   uint64_t *skip)
{
	struct wanted w = {t, where, piece};
	struct fs_item_ops maker = {milestones_make, milestones_drop, &w};
	struct fs_key key = {fs_ino_of(*where), UINT64_MAX};
	struct fmt_walk found = fs_tree_walk(t, where);
	struct fs_item *item;
	const struct milestones *m;
	size_t low = 0, n;

	if (*skip == 0 || found.part.iteration != FMT_ANY ||
	    fs_cache_get(t->cache, key, &maker, &item) < 0)
		return found;
	m = fs_item_value(item);
	for (n = m->n; n > 1; n -= n / 2)
		if (m->items[low + n / 2].before <= *skip)
			low += n / 2;
	if (m->n > 0) {
		found.rank = m->items[low].rank;
		found.next = m->items[low].next;
		*skip -= m->items[low].before;
	}
	fs_cache_put(t->cache, item);
	return found;
}
