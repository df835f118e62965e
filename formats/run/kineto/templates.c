/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/templates.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/collective.h"

#include <ctype.h>
#include <stdbool.h>
#include <xxhash.h>

/* An argument varies when it has that many values, or some and few events each. */
#define MANY_VALUES 1024
#define SOME_VALUES 64
#define FEW_EVENTS 4
#define FIRST_LOOK (32 << 10)

void kineto_templates_init(struct kineto_templates *t, struct fmt_strings *strings)
{
	memset(t, 0, sizeof(*t));
	t->strings = strings;
	t->next_look = FIRST_LOOK;
}

void kineto_templates_done(struct kineto_templates *t)
{
	free(t->templates);
	free(t->args);
	fmt_hash_done(&t->table);
	free(t->varying);
	memset(t, 0, sizeof(*t));
}

static int varying_order(const void *a, const void *b)
{
	const struct kineto_varying *x = a, *y = b;

	return array_order(x->cat, y->cat) ?: array_order(x->key, y->key);
}

int kineto_templates_is_varying(const struct kineto_templates *t, uint32_t cat, uint32_t key,
				uint8_t type)
{
	struct kineto_varying v = {cat, key};

	if (type == FMT_RATE)
		return 1;
	if (type == FMT_CORRELATION)
		return 0;
	if (type == FMT_INT && ((key >= KINETO_FIRST_VARYING && key <= KINETO_LAST_VARYING) ||
				key == KINETO_EXTERNAL_ID || key == KINETO_CORRELATION))
		return 1;
	return t->n_varying > 0 &&
	       bsearch(&v, t->varying, t->n_varying, sizeof(v), varying_order) != NULL;
}

static const uint8_t kinds[] = {
	[KINETO_CALL] = FMT_CALL,	  [KINETO_GPU_KERNEL] = FMT_KERNEL,
	[KINETO_GPU_MEMCPY] = FMT_MEMCPY, [KINETO_GPU_MEMSET] = FMT_MEMSET,
	[KINETO_GPU_SYNC] = FMT_SYNC,	  [KINETO_GPU_RANGE] = FMT_RANGE,
	[KINETO_RANGE] = FMT_RANGE,	  [KINETO_MARK] = FMT_MARK,
};

/* The number at the end of a name, and the text before it. */
static int ends_in_number(struct kineto_templates *t, struct kineto_template *s)
{
	const struct fmt_interned *name = &t->strings->strings[s->name];
	size_t n = name->len;

	while (n > 0 && isdigit((unsigned char)name->s[n - 1]))
		n--;
	if (n == name->len || n == 0 || name->len - n > 18)
		return 0;
	s->number = strtoll(name->s + n, NULL, 10);
	s->role =
		n == 13 && memcmp(name->s, "ProfilerStep#", n) == 0 ? KINETO_STEP : KINETO_NUMBERED;
	return fmt_strings_add(t->strings, name->s, n, &s->prefix);
}

static int describe_range(struct kineto_templates *t, struct kineto_template *s,
			  const struct kineto_slot_arg *args)
{
	const char *name = t->strings->strings[s->name].s;

	if (s->cat == KINETO_CAT_PYTHON)
		return 0;
	if (kineto_is_collective_range(name)) {
		s->role = KINETO_COMMS;
		return kineto_collective_describe(t->strings, s, args);
	}
	if (s->cat != KINETO_CAT_ANNOTATION && strncmp(name, "ProfilerStep#", 13) != 0)
		return 0;
	return ends_in_number(t, s);
}

static int describe_template(struct kineto_templates *t, struct kineto_template *s,
			     const struct kineto_slot_arg *args)
{
	s->kind = kinds[s->class];
	s->message_bytes = -1;
	for (size_t i = 0; i < s->n_args; i++)
		s->n_varying += args[i].varies;
	if (s->class == KINETO_RANGE)
		return describe_range(t, s, args);
	if (s->class != KINETO_GPU_KERNEL)
		return 0;
	for (size_t i = 0; i < s->n_args; i++) {
		if (args[i].key == KINETO_COLLECTIVE_NAME)
			s->kind = FMT_COLLECTIVE;
	}
	if (kineto_is_collective(t->strings->strings[s->name].s))
		s->kind = FMT_COLLECTIVE;
	return s->kind == FMT_COLLECTIVE ? kineto_collective_describe(t->strings, s, args) : 0;
}

static uint32_t hash_of(const struct kineto_template *s, const struct kineto_slot_arg *args)
{
	uint64_t head = ((uint64_t)s->cat << 32 | s->name) * 0x9e3779b97f4a7c15u;

	head += (uint64_t)s->class << 32 | s->n_args;
	if (s->refined)
		head ^= (uint64_t)s->message_bytes * 31 + s->op + s->dtype + 1;
	return (uint32_t)XXH3_64bits_withSeed(args, s->n_args * sizeof(*args), head);
}

static bool same_template(const struct kineto_templates *t, const struct kineto_template *a,
			  const struct kineto_template *b, const struct kineto_slot_arg *args)
{
	if (a->cat != b->cat || a->name != b->name || a->class != b->class ||
	    a->n_args != b->n_args || a->refined != b->refined)
		return false;
	if (a->refined &&
	    (a->op != b->op || a->dtype != b->dtype || a->message_bytes != b->message_bytes))
		return false;
	return a->n_args == 0 || memcmp(t->args + a->args, args, a->n_args * sizeof(*args)) == 0;
}

/* Appends a template, its arguments copied. */
static int append_template(struct kineto_templates *t, const struct kineto_template *s,
			   const struct kineto_slot_arg *args, uint32_t *ret)
{
	if (t->n >= UINT32_MAX - 2 || t->n_args + s->n_args > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&t->templates, t->n + 1, &t->cap) < 0)
		return -ENOMEM;
	t->templates[t->n] = *s;
	if (!s->refined) {
		if (array_reserve(&t->args, t->n_args + s->n_args, &t->args_cap) < 0)
			return -ENOMEM;
		if (s->n_args > 0)
			memcpy(t->args + t->n_args, args, s->n_args * sizeof(*args));
		t->templates[t->n].args = (uint32_t)t->n_args;
		t->n_args += s->n_args;
	}
	*ret = (uint32_t)t->n++;
	return 0;
}

static int review_variation(struct kineto_templates *t, bool last);

/* Adds a template, or finds an equal one. A refined template shares the arguments of its
 * original. */
static int intern_template(struct kineto_templates *t, struct kineto_template *s,
			   const struct kineto_slot_arg *args, uint32_t *ret)
{
	uint32_t hash = hash_of(s, args);
	struct fmt_hash_slot *slot;
	int r;

	if (fmt_hash_reserve(&t->table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&t->table, hash, i, same_template(t, &t->templates[i], s, args));
	if (slot->number) {
		*ret = slot->number - 1;
		t->templates[*ret].events++;
		return 0;
	}
	r = s->refined ? 0 : describe_template(t, s, args);
	if (r < 0)
		return r;
	s->events = 1;
	r = append_template(t, s, args, ret);
	if (r < 0)
		return r;
	fmt_hash_set(&t->table, slot, hash, *ret);
	return s->refined || t->n < t->next_look ? 0 : review_variation(t, false);
}

int kineto_templates_add(struct kineto_templates *t, enum kineto_class class, uint32_t cat,
			 uint32_t name, const struct kineto_slot_arg *args, size_t n_args,
			 uint32_t *ret)
{
	struct kineto_template s = {
		.class = (uint8_t) class, .cat = cat, .name = name, .n_args = (uint32_t)n_args};

	return intern_template(t, &s, args, ret);
}

int kineto_templates_refine(struct kineto_templates *t, uint32_t template, uint32_t op,
			    uint32_t dtype, int64_t message_bytes, uint32_t *ret)
{
	struct kineto_template s = t->templates[template];

	s.refined = 1;
	s.op = op;
	s.dtype = dtype;
	s.message_bytes = message_bytes;
	return intern_template(t, &s, t->args + s.args, ret);
}

/* ---- varying arguments ------------------------------------------------------------------- */

/* A value of an argument of a template. */
struct seen {
	struct kineto_varying varying;
	int64_t value;
	uint64_t events;
};

static int seen_order(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = varying_order(&x->varying, &y->varying);

	if (order != 0)
		return order;
	return array_order(x->value, y->value);
}

static size_t gather_values(const struct kineto_templates *t, struct seen *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct kineto_template *s = &t->templates[i];

		for (size_t k = 0; k < s->n_args; k++) {
			const struct kineto_slot_arg *a = &t->args[s->args + k];

			if (!a->varies && a->type != FMT_CORRELATION)
				ret[n++] = (struct seen){{s->cat, a->key}, a->value, s->events};
		}
	}
	qsort(ret, n, sizeof(*ret), seen_order);
	return n;
}

/* Marks arguments with many values as varying; `last`: also those with several values that occur in
 * few events each. */
static int mark_varying(struct kineto_templates *t, const struct seen *seen, size_t n, bool last)
{
	size_t n_varying = t->n_varying;

	for (size_t from = 0, to; from < n; from = to) {
		uint64_t events = 0, values = 0;

		for (to = from;
		     to < n && varying_order(&seen[from].varying, &seen[to].varying) == 0; to++) {
			values += to == from || seen[to].value != seen[to - 1].value;
			events += seen[to].events;
		}
		if (values < MANY_VALUES &&
		    (!last || values < SOME_VALUES || values * FEW_EVENTS < events))
			continue;
		if (kineto_templates_is_varying(t, seen[from].varying.cat, seen[from].varying.key,
						FMT_STRING))
			continue;
		if (array_reserve(&t->varying, n_varying + 1, &t->varying_cap) < 0)
			return -ENOMEM;
		t->varying[n_varying++] = seen[from].varying;
	}
	t->n_varying = n_varying;
	if (n_varying > 0)
		qsort(t->varying, n_varying, sizeof(*t->varying), varying_order);
	return 0;
}

static int review_variation(struct kineto_templates *t, bool last)
{
	scoped(free_ptr) struct seen *seen = malloc((t->n_args + 1) * sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	t->next_look = t->n * 2;
	return mark_varying(t, seen, gather_values(t, seen), last);
}

int kineto_templates_finish(struct kineto_templates *t)
{
	int r = review_variation(t, true);

	if (r < 0)
		return r;
	for (size_t i = 0; i < t->n; i++) {
		struct kineto_template *s = &t->templates[i];

		for (size_t k = 0; k < s->n_args; k++) {
			struct kineto_slot_arg *a = &t->args[s->args + k];

			if (!a->varies && kineto_templates_is_varying(t, s->cat, a->key, a->type))
				a->moved = 1;
			s->converts |= a->moved ||
				       (a->varies && a->type != FMT_INT && a->type != FMT_RATE);
		}
	}
	return 0;
}

/* ---- order ------------------------------------------------------------------------------- */

static int text_order(const struct kineto_templates *t, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(t->strings->strings[a].s, t->strings->strings[b].s);
}

static int arg_order(const struct kineto_templates *t, const struct kineto_slot_arg *a,
		     const struct kineto_slot_arg *b)
{
	int order = text_order(t, a->key, b->key);

	if (order != 0 || a->type != b->type)
		return order ? order : a->type - b->type;
	if (a->type == FMT_STRING || a->type == FMT_JSON)
		return text_order(t, (uint32_t)a->value, (uint32_t)b->value);
	return array_order(a->value, b->value);
}

int kineto_template_compare(const struct kineto_templates *t, uint32_t a, uint32_t b)
{
	const struct kineto_template *x = &t->templates[a], *y = &t->templates[b];
	int order;

	if (a == b)
		return 0;
	if (x->class != y->class)
		return x->class - y->class;
	order = text_order(t, x->name, y->name);
	if (order == 0)
		order = text_order(t, x->cat, y->cat);
	if (order != 0 || x->n_args != y->n_args)
		return order ? order : x->n_args < y->n_args ? -1 : 1;
	for (size_t i = 0; i < x->n_args && order == 0; i++)
		order = arg_order(t, &t->args[x->args + i], &t->args[y->args + i]);
	return order;
}
