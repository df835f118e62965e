/* SPDX-License-Identifier: Apache-2.0 */

/* Maps correlation numbers of one slice to the launching calls. Correlation numbers mostly count
 * up, so the table is an array; if they are sparse, it is a hash table. Not thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct launches {
	uint32_t *value; /* 0: none */
	uint64_t *key;	 /* of the hash table */
	size_t size, value_cap, key_cap;
	uint64_t first;
	int hashed;
};

/* Empties the table and reserves space for n numbers in [first, last]. 0 or -ENOMEM. */
int launches_begin(struct launches *t, size_t n, uint64_t first, uint64_t last);
void launches_done(struct launches *t);

static inline size_t launches_slot(const struct launches *t, uint64_t correlation)
{
	size_t i;

	if (!t->hashed)
		return (size_t)(correlation - t->first);
	i = (size_t)((correlation * 0x9e3779b97f4a7c15u) >> 20) & (t->size - 1);
	while (t->value[i] != 0 && t->key[i] != correlation)
		i = (i + 1) & (t->size - 1);
	return i;
}

/* Stores a value other than 0; replaces an earlier one. */
static inline void launches_put(struct launches *t, uint64_t correlation, uint32_t value)
{
	size_t i = launches_slot(t, correlation);

	t->value[i] = value;
	if (t->hashed)
		t->key[i] = correlation;
}

/* Returns the value, or 0. */
static inline uint32_t launches_get(const struct launches *t, uint64_t correlation)
{
	if (t->size == 0 || (!t->hashed && correlation - t->first >= t->size))
		return 0;
	return t->value[launches_slot(t, correlation)];
}
