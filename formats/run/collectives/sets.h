/* SPDX-License-Identifier: Apache-2.0 */

/* Sets of rows that become communicators. Private to communicators.c. */
#pragma once

#include "formats/run/collectives/by_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Disjoint sets of rows (union-find). */
struct fmt_sets {
	uint32_t *parent; /* of itself: the set's own row, its smallest */
	uint32_t *next;	  /* row of the same set, in a circle */
	uint32_t *stamp;  /* by rank: the row whose set was last found there */
};

static inline uint32_t root(const struct fmt_sets *s, uint32_t i)
{
	while (s->parent[i] != i) {
		s->parent[i] = s->parent[s->parent[i]];
		i = s->parent[i];
	}
	return i;
}

static inline void join_sets(struct fmt_sets *s, uint32_t a, uint32_t b)
{
	uint32_t next = s->next[a];

	s->next[a] = s->next[b];
	s->next[b] = next;
	s->parent[a > b ? a : b] = a < b ? a : b;
}

/* Returns 1 if two sets have a rank in common. */
static inline int share_rank(const struct fmt_ends *r, struct fmt_sets *s, uint32_t a, uint32_t b)
{
	uint32_t i = a;

	do {
		s->stamp[r->rows[i].rank] = a;
		i = s->next[i];
	} while (i != a);
	i = b;
	do {
		if (s->stamp[r->rows[i].rank] == a)
			return 1;
		i = s->next[i];
	} while (i != b);
	return 0;
}

static inline void sets_done(struct fmt_sets *s)
{
	free(s->parent);
	free(s->next);
	free(s->stamp);
}

static inline int sets_init(struct fmt_sets *s, uint32_t n_rows, uint32_t n_ranks)
{
	s->parent = malloc((n_rows + (size_t)1) * sizeof(uint32_t));
	s->next = malloc((n_rows + (size_t)1) * sizeof(uint32_t));
	s->stamp = malloc((n_ranks + (size_t)1) * sizeof(uint32_t));
	if (!s->parent || !s->next || !s->stamp)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_rows; i++)
		s->parent[i] = s->next[i] = i;
	memset(s->stamp, 0xff, (n_ranks + (size_t)1) * sizeof(uint32_t));
	return 0;
}
