/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/names_templates.h"

#include "base/array.h"
#include "formats/trace/hash.h"
#include "formats/trace/store/columns.h"

/* Ids of columns: of each template its shape and its name; constant arguments have VALUES plus the
 * string number of their key. */
enum { SHAPES, NAMES, VALUES = 16 };

/* Maximum number of arguments of a template, and of all shapes of a chunk together. */
#define ARGS_MAX 65536
#define SHAPES_ARGS_MAX (1u << 24)

static int is_constant(const struct fmt_arg *a)
{
	return !a->varies && a->type != FMT_CORRELATION;
}

/* ---- writing ---- */

/* Compares all but the name and the values of constant arguments. */
static int same_shape(const struct fmt_template *a, const struct fmt_template *b)
{
	if (a->kind != b->kind || a->category != b->category || a->n_args != b->n_args)
		return 0;
	for (uint32_t i = 0; i < a->n_args; i++)
		if (a->args[i].key != b->args[i].key || a->args[i].type != b->args[i].type ||
		    a->args[i].varies != b->args[i].varies)
			return 0;
	return 1;
}

static uint32_t shape_hash(const struct fmt_template *s)
{
	uint64_t h = s->kind + 8 * (uint64_t)s->category;

	for (uint32_t i = 0; i < s->n_args; i++)
		h = (h ^ s->args[i].key * 8u ^ s->args[i].type * 2u ^ s->args[i].varies) *
		    0x9e3779b97f4a7c15u;
	return fmt_hash_number(h);
}

struct shapes {
	const struct fmt_template **shapes; /* owned: the first template of each shape */
	struct fmt_hash_table table;
	size_t n, cap;
};

static void shapes_done(struct shapes *s)
{
	free(s->shapes);
	fmt_hash_done(&s->table);
}

/* Returns the number of a template's shape, which is added if new; -ENOMEM. */
static int64_t shape_of(struct shapes *s, const struct fmt_template *template)
{
	uint32_t hash = shape_hash(template);
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&s->table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&s->table, hash, i, same_shape(s->shapes[i], template));
	if (slot->number)
		return slot->number - 1;
	if (array_reserve(&s->shapes, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	s->shapes[s->n] = template;
	fmt_hash_set(&s->table, slot, hash, (uint32_t)s->n);
	return (int64_t)s->n++;
}

static void put_shapes(const struct shapes *s, struct text *out)
{
	fmt_put_varint(out, s->n);
	for (size_t i = 0; i < s->n; i++) {
		const struct fmt_template *shape = s->shapes[i];

		fmt_put_u8(out, shape->kind);
		fmt_put_varint(out, shape->category);
		fmt_put_varint(out, shape->n_args);
		for (uint32_t k = 0; k < shape->n_args; k++) {
			fmt_put_varint(out, shape->args[k].key);
			fmt_put_u8(out, shape->args[k].type);
			fmt_put_u8(out, shape->args[k].varies);
		}
	}
}

int fmt_templates_put(const struct fmt_names *n, struct text *out)
{
	scoped(fmt_columns_out_done) struct fmt_columns_out columns = {0};
	scoped(shapes_done) struct shapes shapes = {0};
	scoped(text_done) struct text bytes = {0};
	uint32_t end = fmt_n_templates(n);
	int r;

	for (uint32_t i = 0; i < end; i++) {
		const struct fmt_template *s = fmt_template(n, i);
		int64_t shape = shape_of(&shapes, s);

		if (shape < 0)
			return (int)shape;
		fmt_columns_add(&columns, SHAPES, shape);
		fmt_columns_add(&columns, NAMES, s->name);
		for (uint32_t k = 0; k < s->n_args; k++)
			if (is_constant(&s->args[k]))
				fmt_columns_add(&columns, VALUES + (uint64_t)s->args[k].key,
						s->args[k].value);
	}
	put_shapes(&shapes, out);
	fmt_put_varint(out, end);
	r = fmt_columns_put(&columns, 0, &bytes);
	fmt_put_varint(out, bytes.len);
	text_bytes(out, bytes.data, bytes.len);
	return r < 0 ? r : out->error;
}

/* ---- reading ---- */

struct shape {
	uint8_t kind;
	fmt_str category;
	uint32_t n_args, first_arg;
};

struct templates {
	struct shape *shapes;
	struct fmt_arg *shape_args, *args; /* of all shapes; of a template */
	struct fmt_column **constants;	   /* of each of shape_args; NULL if it varies */
	struct fmt_column *shape_of, *name_of;
	uint64_t n_shapes;
	size_t n_shape_args, shape_args_cap, args_cap;
	struct fmt_columns columns;
};

static void templates_done(struct templates *t)
{
	free(t->shapes);
	free(t->shape_args);
	free(t->args);
	free(t->constants);
	fmt_columns_done(&t->columns);
}

/* Each argument of a shape takes at least this many bytes, and each shape. */
#define ENTRY_BYTES 3

static int get_shape(struct fmt_cursor *c, struct templates *t, struct shape *shape)
{
	uint64_t n_args;

	shape->kind = fmt_u8(c);
	shape->category = (fmt_str)fmt_varint(c);
	n_args = fmt_count(c, ENTRY_BYTES);
	shape->first_arg = (uint32_t)t->n_shape_args;
	shape->n_args = (uint32_t)n_args;
	if (c->bad || shape->kind >= FMT_KINDS || n_args > ARGS_MAX ||
	    t->n_shape_args + n_args > SHAPES_ARGS_MAX)
		return -EBADMSG;
	if (array_reserve(&t->shape_args, t->n_shape_args + n_args, &t->shape_args_cap) < 0 ||
	    array_reserve(&t->args, n_args, &t->args_cap) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < n_args; i++) {
		struct fmt_arg a = {.key = (fmt_str)fmt_varint(c)};

		a.type = fmt_u8(c);
		a.varies = fmt_u8(c);
		if (a.type >= FMT_TYPES || a.varies > 1)
			return -EBADMSG;
		t->shape_args[t->n_shape_args++] = a;
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_columns(struct templates *t, struct fmt_cursor in)
{
	int r = fmt_columns_get(in, &t->columns);

	if (r < 0)
		return r;
	t->constants = calloc(t->n_shape_args + 1, sizeof(struct fmt_column *));
	if (!t->constants)
		return -ENOMEM;
	t->shape_of = fmt_columns_find(&t->columns, SHAPES);
	t->name_of = fmt_columns_find(&t->columns, NAMES);
	for (size_t i = 0; i < t->n_shape_args; i++)
		if (is_constant(&t->shape_args[i]))
			t->constants[i] = fmt_columns_find(&t->columns,
							   VALUES + (uint64_t)t->shape_args[i].key);
	return 0;
}

static int get_template(struct templates *t, struct fmt_template *ret)
{
	uint64_t number = (uint64_t)fmt_column_next(t->shape_of);
	const struct shape *shape;

	if (number >= t->n_shapes)
		return -EBADMSG;
	shape = &t->shapes[number];
	*ret = (struct fmt_template){
		.kind = shape->kind,
		.category = shape->category,
		.name = (fmt_str)fmt_column_next(t->name_of),
		.n_args = shape->n_args,
		.args = t->args,
	};
	for (uint32_t i = 0; i < shape->n_args; i++) {
		uint32_t arg = shape->first_arg + i;

		t->args[i] = t->shape_args[arg];
		if (!is_constant(&t->args[i]))
			continue;
		if (!t->constants[arg])
			return -EBADMSG;
		t->args[i].value = fmt_column_next(t->constants[arg]);
	}
	return 0;
}

int fmt_templates_get(struct fmt_cursor *c,
		      int (*each)(const struct fmt_template *s, void *context), void *context)
{
	scoped(templates_done) struct templates t = {.n_shapes = fmt_count(c, ENTRY_BYTES)};
	uint64_t n, bytes;
	const uint8_t *at;
	int r = 0;

	t.shapes = calloc(t.n_shapes + 1, sizeof(*t.shapes));
	t.args = malloc(sizeof(*t.args));
	if (!t.shapes || !t.args)
		return -ENOMEM;
	t.args_cap = 1;
	for (uint64_t i = 0; i < t.n_shapes && r == 0; i++)
		r = get_shape(c, &t, &t.shapes[i]);
	if (r < 0)
		return r;
	n = fmt_varint(c);
	bytes = fmt_count(c, 1);
	at = fmt_bytes(c, bytes);
	/* The shape of each template takes a byte. */
	if (c->bad || n > bytes)
		return -EBADMSG;
	r = get_columns(&t, fmt_cursor(at, bytes));
	for (uint64_t i = 0; i < n && r == 0; i++) {
		struct fmt_template template;

		r = get_template(&t, &template);
		if (r == 0)
			r = each(&template, context);
	}
	return r < 0 ? r : fmt_columns_end(&t.columns);
}
