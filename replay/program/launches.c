/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/program/launches.h"

#include "base/array.h"

int launches_begin(struct launches *t, size_t n, uint64_t first, uint64_t last)
{
	t->size = 0;
	t->hashed = n > 0 && last - first >= 8 * (uint64_t)n + 1024;
	if (n == 0)
		return 0;
	t->first = first;
	if (!t->hashed) {
		t->size = (size_t)(last - first) + 1;
	} else {
		for (t->size = 64; t->size < 2 * n; t->size *= 2)
			;
		if (array_reserve(&t->key, t->size, &t->key_cap) < 0)
			return t->size = 0, -ENOMEM;
	}
	if (array_reserve(&t->value, t->size, &t->value_cap) < 0)
		return t->size = 0, -ENOMEM;
	memset(t->value, 0, t->size * sizeof(*t->value));
	return 0;
}

void launches_done(struct launches *t)
{
	free(t->value);
	free(t->key);
	*t = (struct launches){0};
}
