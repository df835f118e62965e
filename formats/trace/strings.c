/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/strings.h"

#include "base/array.h"

#include <xxhash.h>

int fmt_strings_init(struct fmt_strings *t)
{
	*t = (struct fmt_strings){0};
	if (array_reserve(&t->strings, 1, &t->cap) < 0)
		return -ENOMEM;
	t->strings[t->n++] = (struct fmt_interned){.s = ""};
	return 0;
}

void fmt_strings_done(struct fmt_strings *t)
{
	arena_done(&t->arena);
	free(t->strings);
	fmt_hash_done(&t->table);
	*t = (struct fmt_strings){0};
}

int fmt_strings_add(struct fmt_strings *t, const char *s, size_t len, uint32_t *ret)
{
	uint32_t hash = (uint32_t)XXH3_64bits(s, len);
	struct fmt_hash_slot *slot;
	char *copy;

	if (len == 0) {
		*ret = 0;
		return 0;
	}
	if (fmt_hash_reserve(&t->table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&t->table, hash, i, fmt_strings_is(t, i, s, len));
	if (slot->number) {
		*ret = slot->number - 1;
		return 0;
	}
	if (t->n >= UINT32_MAX - 1 || len >= UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&t->strings, t->n + 1, &t->cap) < 0)
		return -ENOMEM;
	copy = arena_take(&t->arena, len + 1, 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, s, len);
	copy[len] = '\0';
	t->strings[t->n] = (struct fmt_interned){copy, (uint32_t)len};
	fmt_hash_set(&t->table, slot, hash, (uint32_t)t->n);
	*ret = (uint32_t)t->n++;
	return 0;
}

uint32_t fmt_strings_find(const struct fmt_strings *t, const char *s, size_t len)
{
	uint32_t hash = (uint32_t)XXH3_64bits(s, len);
	const struct fmt_hash_slot *slot =
		fmt_hash_find(&t->table, hash, i, fmt_strings_is(t, i, s, len));

	return len > 0 && slot->number ? slot->number - 1 : 0;
}
