/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/names_sites.h"

#include "base/array.h"
#include "base/scope.h"

/* Values of a key that were met last, the last one first. */
#define RECENT 32
/* Of the name of a site, among the keys; and of other parts that are no arguments. */
#define KEY_NAME 0xffffff1u
#define KEY_CATEGORY 0xffffff2u
#define KEY_KEY 0xffffff3u
#define SHAPE 0xffffff4u
#define SHAPE_NUMBER 0xffffff5u
#define N_ARGS 0xffffff6u
#define TYPE 0xffffff7u
#define KIND 0xffffff8u
/* Added to a key where it is not the value that is told, but its place among the recent ones. */
#define PLACE 0x8000000u

#define ARGS_MAX 65536
#define ARGS_TOTAL_MAX (1u << 27)

enum { GUESS_NEW, GUESS_SAME, GUESS_RECENT, GUESS_ELSE };
enum { SHAPE_OF_NAME, SHAPE_BEFORE, SHAPE_TOLD, SHAPE_NEW };

struct shape {
	uint8_t kind;
	fmt_str category;
	uint32_t n_args;
	struct fmt_arg *args; /* owned; values are not used */
};

struct recent {
	uint32_t key; /* plus 1; 0: free */
	uint32_t n;
	int64_t values[RECENT];
};

struct fmt_sites_code {
	struct fmt_coder coder;
	struct fmt_contexts contexts;
	uint32_t next;
	uint32_t last_shape;
	struct shape *shapes;
	size_t n_shapes, shapes_cap;
	struct recent *recent; /* open addressing by key */
	size_t n_recent, recent_slots;
	struct fmt_arg *args; /* decoding: of the site */
	size_t args_cap;
	uint64_t total_args;
	int error;
};

int fmt_sites_start(uint32_t next, struct fmt_sites_code **ret)
{
	struct fmt_sites_code *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->next = next ? next : 1;
	if (fmt_contexts_init(&s->contexts, NULL) < 0) {
		fmt_sites_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void fmt_sites_free(struct fmt_sites_code *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_shapes; i++)
		free(s->shapes[i].args);
	free(s->shapes);
	free(s->recent);
	free(s->args);
	fmt_coder_done(&s->coder);
	fmt_contexts_done(&s->contexts);
	free(s);
}

struct fmt_coder *fmt_sites_coder(struct fmt_sites_code *s)
{
	return &s->coder;
}

/* ---- recent values ---- */

static int grow_recent(struct fmt_sites_code *s)
{
	size_t slots = s->recent_slots ? s->recent_slots * 2 : 64;
	struct recent *grown = calloc(slots, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < s->recent_slots; i++) {
		size_t at = s->recent[i].key * 0x9e3779b1u & (slots - 1);

		if (!s->recent[i].key)
			continue;
		while (grown[at].key)
			at = (at + 1) & (slots - 1);
		grown[at] = s->recent[i];
	}
	free(s->recent);
	s->recent = grown;
	s->recent_slots = slots;
	return 0;
}

static struct recent *recent_of(struct fmt_sites_code *s, uint32_t key)
{
	size_t at;

	if (s->n_recent * 2 >= s->recent_slots && grow_recent(s) < 0) {
		s->error = -ENOMEM;
		return NULL;
	}
	at = (key + 1) * 0x9e3779b1u & (s->recent_slots - 1);
	while (s->recent[at].key && s->recent[at].key != key + 1)
		at = (at + 1) & (s->recent_slots - 1);
	if (!s->recent[at].key) {
		s->recent[at].key = key + 1;
		s->n_recent++;
	}
	return &s->recent[at];
}

static uint32_t place_of(const struct recent *r, int64_t v)
{
	uint32_t i = 0;

	while (i < r->n && r->values[i] != v)
		i++;
	return i;
}

static void to_front(struct recent *r, uint32_t place, int64_t v)
{
	if (place == r->n && r->n < RECENT)
		r->n++;
	if (place >= RECENT)
		place = RECENT - 1;
	memmove(r->values + 1, r->values, sizeof(*r->values) * place);
	r->values[0] = v;
}

/* ---- parts ---- */

static int64_t number(struct fmt_sites_code *s, uint32_t what, int64_t v)
{
	return fmt_code_int(&s->coder, &s->contexts, FMT_NAME_NUMBER, what, FMT_NO_PAIR, v);
}

/* A value of `key` at a site of that name; a text can be the next new string. */
static int64_t code_value(struct fmt_sites_code *s, uint32_t key, fmt_str name, int is_text,
			  int64_t v)
{
	struct recent *recent = recent_of(s, key);
	struct fmt_context *last =
		fmt_context(&s->contexts, fmt_context_key(FMT_NAME_NUMBER, 7, key, name), NULL);
	int has = last->has;
	int64_t same = last->a;
	uint32_t guess = GUESS_ELSE, place;

	if (!recent || s->contexts.error)
		return v;
	place = place_of(recent, v);
	if (is_text && v == s->next)
		guess = GUESS_NEW;
	else if (has && v == same)
		guess = GUESS_SAME;
	else if (place < recent->n)
		guess = GUESS_RECENT;
	guess = fmt_code_kind(&s->coder, &s->contexts, FMT_NAME_GUESS, key, (uint32_t)has, guess);
	if (guess == GUESS_NEW) {
		v = s->next;
	} else if (guess == GUESS_SAME) {
		v = same;
	} else if (guess == GUESS_RECENT) {
		uint64_t told = (uint64_t)number(s, PLACE + key, place);

		v = told < recent->n ? recent->values[told] : 0;
	} else if (is_text) {
		v = fmt_sub(s->next, number(s, key, fmt_sub(s->next, v)));
	} else {
		v = number(s, key, v);
	}
	if (is_text && v == s->next)
		s->next++;
	to_front(recent, place_of(recent, v), v);
	last->has = 1;
	last->a = v;
	return v;
}

static int same_shape(const struct shape *a, const struct fmt_site *b)
{
	if (a->kind != b->kind || a->category != b->category || a->n_args != b->n_args)
		return 0;
	for (uint32_t i = 0; i < a->n_args; i++)
		if (a->args[i].key != b->args[i].key || a->args[i].type != b->args[i].type ||
		    a->args[i].varies != b->args[i].varies)
			return 0;
	return 1;
}

/* Adds a shape: that of *site, or the one that is decoded. */
static int new_shape(struct fmt_sites_code *s, const struct fmt_site *site)
{
	struct shape shape;
	int64_t n;

	shape.kind = (uint8_t)fmt_code_kind(&s->coder, &s->contexts, FMT_NAME_GUESS, KIND, 0,
					    site->kind);
	shape.category = (fmt_str)code_value(s, KEY_CATEGORY, 0, 1, site->category);
	n = number(s, N_ARGS, site->n_args);
	if (n < 0 || n > ARGS_MAX || array_reserve(&s->shapes, s->n_shapes + 1, &s->shapes_cap) < 0)
		return n < 0 || n > ARGS_MAX ? -EBADMSG : -ENOMEM;
	shape.n_args = (uint32_t)n;
	shape.args = calloc((size_t)n + 1, sizeof(*shape.args));
	if (!shape.args)
		return -ENOMEM;
	s->shapes[s->n_shapes++] = shape;
	for (uint32_t i = 0; i < shape.n_args; i++) {
		struct fmt_arg arg = {0};
		uint32_t type;

		if (!s->coder.decoding)
			arg = site->args[i];
		type = fmt_code_kind(&s->coder, &s->contexts, FMT_NAME_GUESS, TYPE, 0,
				     (uint32_t)arg.type << 1 | arg.varies);
		shape.args[i].type = (uint8_t)(type >> 1);
		shape.args[i].varies = type & 1;
		shape.args[i].key = (fmt_str)code_value(s, KEY_KEY, 0, 1, arg.key);
		if (s->coder.in.bad || shape.args[i].type >= FMT_TYPES)
			return -EBADMSG;
	}
	return 0;
}

/* The shape of a site, as a number. */
static int code_shape(struct fmt_sites_code *s, const struct fmt_site *site, uint32_t *ret)
{
	struct fmt_context *k = fmt_context(
		&s->contexts, fmt_context_key(FMT_NAME_NUMBER, 5, SHAPE, site->name), NULL);
	uint32_t of_name = k->has ? (uint32_t)k->a : 0, found = 0, guess = SHAPE_NEW;
	int r = 0;

	if (!s->coder.decoding) {
		while (found < s->n_shapes && !same_shape(&s->shapes[found], site))
			found++;
		if (found < s->n_shapes)
			guess = k->has && found == of_name ? SHAPE_OF_NAME
				: found == s->last_shape   ? SHAPE_BEFORE
							   : SHAPE_TOLD;
	}
	guess = fmt_code_kind(&s->coder, &s->contexts, FMT_NAME_GUESS, SHAPE, (uint32_t)k->has,
			      guess);
	if (guess == SHAPE_OF_NAME)
		found = of_name;
	else if (guess == SHAPE_BEFORE)
		found = s->last_shape;
	else if (guess == SHAPE_TOLD)
		found = (uint32_t)number(s, SHAPE_NUMBER, found);
	else {
		found = (uint32_t)s->n_shapes;
		r = new_shape(s, site);
	}
	if (r < 0 || found >= s->n_shapes || s->contexts.error)
		return r < 0 ? r : s->contexts.error ? s->contexts.error : -EBADMSG;
	k->has = 1;
	k->a = found;
	s->last_shape = found;
	*ret = found;
	return 0;
}

static int is_text(uint8_t type)
{
	return type == FMT_STRING || type == FMT_JSON;
}

/* Makes room for the decoded site's arguments, as its shape has them. */
static int take_shape(struct fmt_sites_code *s, const struct shape *shape, struct fmt_site *site)
{
	if (array_reserve(&s->args, (size_t)shape->n_args + 1, &s->args_cap) < 0)
		return -ENOMEM;
	memcpy(s->args, shape->args, sizeof(*s->args) * shape->n_args);
	site->kind = shape->kind;
	site->category = shape->category;
	site->n_args = shape->n_args;
	site->args = s->args;
	return 0;
}

int fmt_sites_code(struct fmt_sites_code *s, struct fmt_site *site)
{
	uint32_t shape = 0;
	int r;

	site->name = (fmt_str)code_value(s, KEY_NAME, 0, 1, site->name);
	r = code_shape(s, site, &shape);
	if (r == 0 && s->coder.decoding)
		r = take_shape(s, &s->shapes[shape], site);
	if (r < 0)
		return r;
	s->total_args += site->n_args;
	if (s->total_args > ARGS_TOTAL_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < site->n_args; i++) {
		const struct fmt_arg *a = &site->args[i];
		int64_t v;

		if (a->varies || a->type == FMT_CORRELATION)
			continue;
		v = code_value(s, a->key & 0x7ffffff, site->name, is_text(a->type), a->value);
		if (s->coder.decoding)
			s->args[i].value = v;
		if (s->coder.in.bad)
			return -EBADMSG;
	}
	return s->error ? s->error : s->contexts.error;
}
