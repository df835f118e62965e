/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_unordered.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"

#include <inttypes.h>

#define NAME_WIDTH 120

void fmt_unordered_done(struct fmt_unordered *u)
{
	free(u->ops);
	*u = (struct fmt_unordered){0};
}

static bool is_before(const struct fmt_unordered_op *op, uint32_t rank, fmt_number number)
{
	return op->rank < rank || (op->rank == rank && op->number < number);
}

static size_t index_of(const struct fmt_unordered *u, uint32_t rank, fmt_number number)
{
	return array_bound(i, 0, u->n, is_before(&u->ops[i], rank, number));
}

bool fmt_unordered_has(const struct fmt_unordered *u, uint32_t rank, fmt_number number)
{
	size_t i = index_of(u, rank, number);

	return i < u->n && u->ops[i].rank == rank && u->ops[i].number == number;
}

int fmt_unordered_add(struct fmt_unordered *u, const struct fmt_unordered_op *op)
{
	size_t i = index_of(u, op->rank, op->number);

	if (fmt_unordered_has(u, op->rank, op->number))
		return 0;
	if (array_reserve(&u->ops, u->n + 1, &u->cap) < 0)
		return -ENOMEM;
	memmove(&u->ops[i + 1], &u->ops[i], (u->n - i) * sizeof(*u->ops));
	u->ops[i] = *op;
	u->n++;
	return 0;
}

/* ---- counts by name */

struct named {
	fmt_str name;
	uint8_t kind;
	uint64_t n;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return array_order(x->kind, y->kind) ?: array_order(x->name, y->name);
}

static int by_count(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return array_order(y->n, x->n) ?: by_name(a, b);
}

/* Counts the operations of each kind and name. */
static int count_names(const struct fmt_unordered *u, const struct fmt_names *names,
		       struct named **ret, size_t *n)
{
	struct named *list = calloc(u->n + 1, sizeof(*list));
	size_t m = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < u->n; i++) {
		const struct fmt_template *t = fmt_template(names, u->ops[i].template);

		list[i] = (struct named){t->name, (uint8_t)t->kind, 1};
	}
	qsort(list, u->n, sizeof(*list), by_name);
	for (size_t i = 0; i < u->n; i++) {
		if (m > 0 && by_name(&list[m - 1], &list[i]) == 0)
			list[m - 1].n++;
		else
			list[m++] = list[i];
	}
	qsort(list, m, sizeof(*list), by_count);
	*ret = list;
	*n = m;
	return 0;
}

int fmt_unordered_text(const struct fmt_unordered *u, const struct fmt_names *names,
		       struct text *out)
{
	scoped(free_ptr) struct named *list = NULL;
	size_t n = 0, len;
	int r = count_names(u, names, &list, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = fmt_string(names, list[i].name, &len);

		text_printf(out, "  %" PRIu64 " %s ", list[i].n,
			    fmt_kind_name((enum fmt_kind)list[i].kind));
		fmt_text_sanitised(out, name, len, NAME_WIDTH);
		text_char(out, '\n');
	}
	return r;
}

int fmt_unordered_json(const struct fmt_unordered *u, const struct fmt_names *names,
		       struct fmt_json *j)
{
	scoped(free_ptr) struct named *list = NULL;
	size_t n = 0, len;
	int r = count_names(u, names, &list, &n);

	fmt_json_open(j, "unordered", '[');
	for (size_t i = 0; i < n; i++) {
		const char *name = fmt_string(names, list[i].name, &len);

		fmt_json_open(j, NULL, '{');
		fmt_json_str(j, "kind", fmt_kind_name((enum fmt_kind)list[i].kind));
		fmt_json_bytes(j, "name", name, len);
		fmt_json_u64(j, "operations", list[i].n);
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
	return r;
}
