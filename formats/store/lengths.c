/* SPDX-License-Identifier: Apache-2.0 */

/* Lengths of rendered files, as the writer left them. */
#include "formats/store/trace_impl.h"

/* No renderer makes so many files of a slice. */
#define LENGTHS_MAX 1024

/* Each entry: renderer, n, lengths. */
static int take_lengths(struct fmt_rank_state *r, struct fmt_cursor *c)
{
	while (fmt_left(c) > 0) {
		uint64_t slice = fmt_varint(c), renderer = fmt_varint(c), n = fmt_count(c, 1);
		uint64_t *l;

		if (c->bad || slice >= r->info.n_slices || n > LENGTHS_MAX)
			return -EBADMSG;
		l = malloc(sizeof(*l) * (n + 2));
		if (!l)
			return -ENOMEM;
		l[0] = renderer;
		l[1] = n;
		for (uint64_t i = 0; i < n; i++)
			l[i + 2] = fmt_varint(c);
		free(r->lengths[slice]);
		r->lengths[slice] = l;
	}
	return c->bad ? -EBADMSG : 0;
}

static void read_lengths(struct fmt_trace *t, struct fmt_rank_state *r)
{
	char path[512];

	r->lengths_read = 1;
	r->lengths = calloc((size_t)r->info.n_slices + 1, sizeof(*r->lengths));
	if (!r->lengths)
		return;
	fmt_member_path(t, &r->member, path, sizeof(path));
	for (size_t i = 0; i < r->member.n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = r->member.chunks[i];
		struct fmt_error damage;
		struct fmt_cursor in;

		if (c.type != FMT_CHUNK_LENGTHS)
			continue;
		if (fmt_member_read(&r->member, path, &c, &raw, &damage) < 0) {
			fmt_damage_add(&t->damage, &damage);
			continue;
		}
		in = fmt_cursor(raw, c.raw_bytes);
		take_lengths(r, &in);
	}
}

uint32_t fmt_trace_lengths(const struct fmt_trace *t, uint32_t rank, uint32_t slice,
			   uint32_t *renderer, const uint64_t **ret)
{
	struct fmt_trace *own = (struct fmt_trace *)(uintptr_t)t;
	struct fmt_rank_state *r = rank < t->n_ranks ? &own->ranks[rank] : NULL;
	const uint64_t *l = NULL;

	if (!r || slice >= r->info.n_slices)
		return 0;
	pthread_mutex_lock(&own->lock);
	if (!r->lengths_read)
		read_lengths(own, r);
	if (r->lengths)
		l = r->lengths[slice];
	pthread_mutex_unlock(&own->lock);
	if (!l)
		return 0;
	*renderer = (uint32_t)l[0];
	*ret = l + 2;
	return (uint32_t)l[1];
}
