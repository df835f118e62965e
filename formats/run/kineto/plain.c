/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/plain.h"

/* Functions return true and have moved `at` behind what they read, or false where it is not plain,
 * or where r->error is set. */
struct plain {
	struct reader *r;
	const char *at, *end;
	size_t n_keys; /* of the event so far */
};

/* What stands behind the spaces. */
static char peek(struct plain *p)
{
	while (*p->at == ' ')
		p->at++;
	return *p->at;
}

static bool accept(struct plain *p, char c)
{
	if (peek(p) != c)
		return false;
	p->at++;
	return true;
}

/* ---- scalars ----------------------------------------------------------------------------- */

/* A text behind its opening quote, most likely `guess`, which becomes it. Guesses have been read
 * here, so none of them needs escaping. */
static bool text(struct plain *p, uint32_t *guess)
{
	const struct kineto_string *s = &p->r->j->strings->strings[*guess];
	size_t left = (size_t)(p->end - p->at), len;
	const char *quote;

	if (s->len < left && p->at[s->len] == '"' && kineto_same(p->at, s->s, s->len)) {
		p->at += s->len + 1;
		return true;
	}
	quote = memchr(p->at, '"', left);
	if (!quote)
		return false;
	len = (size_t)(quote - p->at);
	if (memchr(p->at, '\\', len) || !kineto_json_text(p->r, p->at, len, guess))
		return false;
	p->at = quote + 1;
	return true;
}

static bool digits(const char **at)
{
	const char *from = *at;

	while (**at >= '0' && **at <= '9')
		++*at;
	return *at > from;
}

static bool skip_number(const char **at)
{
	*at += **at == '-';
	if (**at == '0')
		++*at;
	else if (!digits(at))
		return false;
	if (**at == '.') {
		++*at;
		if (!digits(at))
			return false;
	}
	if (**at != 'e' && **at != 'E')
		return true;
	++*at;
	*at += **at == '+' || **at == '-';
	return digits(at);
}

/* An integer as nearly all are: up to 18 digits and nothing else. */
static bool integer(const char **at, int64_t *ret)
{
	const char *s = *at;
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9')
		v = v * 10 + (uint64_t)(*s++ - '0');
	if (s == *at || s - *at > 18 || (**at == '0' && s - *at > 1))
		return false;
	if (*s == '.' || *s == 'e' || *s == 'E')
		return false;
	*ret = (int64_t)v;
	*at = s;
	return true;
}

/* "true", "false" or "null" at `at`; or NULL. */
static const char *literal(const char *at)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return words[i];
	return NULL;
}

/* ---- values that are kept as text, without the white space ------------------------------- */

static bool copy_value(struct plain *p, char **out, unsigned depth);

static bool copy_string(struct plain *p, char **out)
{
	const char *from = p->at++;

	while (*p->at >= ' ' && *p->at <= '~' && *p->at != '"' && *p->at != '\\')
		p->at++;
	if (*p->at++ != '"')
		return false;
	*out = mempcpy(*out, from, (size_t)(p->at - from));
	return true;
}

static bool copy_char(struct plain *p, char **out, char c)
{
	if (!accept(p, c))
		return false;
	*(*out)++ = c;
	return true;
}

static bool copy_key(struct plain *p, char **out)
{
	return accept(p, '"') && (p->at--, copy_string(p, out)) && copy_char(p, out, ':');
}

static bool copy_members(struct plain *p, char **out, char open, unsigned depth)
{
	char close = open == '{' ? '}' : ']';

	*(*out)++ = *p->at++;
	if (depth == 0)
		return false;
	if (copy_char(p, out, close))
		return true;
	do {
		if ((open == '{' && !copy_key(p, out)) || !copy_value(p, out, depth - 1))
			return false;
	} while (copy_char(p, out, ','));
	return copy_char(p, out, close);
}

static bool copy_scalar(struct plain *p, char **out)
{
	const char *from = p->at, *word;

	if (!skip_number(&p->at)) {
		word = literal(from);
		if (!word)
			return false;
		p->at = from + strlen(word);
	}
	*out = mempcpy(*out, from, (size_t)(p->at - from));
	return true;
}

static bool copy_value(struct plain *p, char **out, unsigned depth)
{
	switch (peek(p)) {
	case '"':
		return copy_string(p, out);
	case '[':
	case '{':
		return copy_members(p, out, *p->at, depth);
	default:
		return copy_scalar(p, out);
	}
}

/* A list or an object. */
static bool container(struct plain *p, uint32_t *guess)
{
	struct text *t = &p->r->capture;
	char *from, *out;
	size_t len;

	t->len = 0;
	from = out = text_reserve(t, (size_t)(p->end - p->at));
	if (!from) {
		p->r->error = t->error;
		return false;
	}
	if (!copy_value(p, &out, KINETO_DEPTH))
		return false;
	len = (size_t)(out - from);
	return (kineto_string_is(p->r->j->strings, *guess, from, len) ||
		kineto_json_text(p->r, from, len, guess)) &&
	       kineto_json_value(p->r, FMT_JSON, *guess);
}

/* ---- events ------------------------------------------------------------------------------ */

static bool members(struct plain *p);

static bool arguments(struct plain *p)
{
	p->at++;
	p->r->place = ARGS;
	if (!members(p))
		return false;
	p->r->place = EVENT;
	return true;
}

static bool scalar(struct plain *p)
{
	bool is_time = p->r->place == FIELD && (p->r->key == KINETO_TS || p->r->key == KINETO_DUR);
	const char *from = p->at, *word;
	int64_t v;

	if (!is_time && integer(&p->at, &v))
		return kineto_json_value(p->r, FMT_INT, v);
	if (skip_number(&p->at))
		return kineto_json_number(p->r, from, (size_t)(p->at - from));
	word = literal(from);
	p->at = from + (word ? strlen(word) : 0);
	return word && kineto_json_literal(p->r, word);
}

static bool value(struct plain *p, uint32_t *guess)
{
	switch (peek(p)) {
	case '"':
		p->at++;
		return text(p, guess) && kineto_json_value(p->r, FMT_STRING, *guess);
	case '{':
		if (p->r->place == FIELD && p->r->key == KINETO_ARGS)
			return arguments(p);
		return container(p, guess);
	case '[':
		return container(p, guess);
	default:
		return scalar(p);
	}
}

static bool member(struct plain *p)
{
	size_t place = p->n_keys++ % PLACES;
	uint32_t *key = &p->r->shape->keys[place];

	if (!accept(p, '"') || !text(p, key) || !accept(p, ':'))
		return false;
	p->r->key = *key;
	p->r->place = p->r->place == EVENT ? FIELD : ARG;
	return value(p, &p->r->shape->texts[place]);
}

/* Up to the closing bracket. */
static bool members(struct plain *p)
{
	if (accept(p, '}'))
		return true;
	do {
		if (!member(p))
			return false;
	} while (accept(p, ','));
	return accept(p, '}');
}

/* Another one has to be behind it, since yajl would take a comma without it for right. */
static bool event(struct plain *p, uint64_t offset)
{
	kineto_json_event(p->r, offset);
	p->n_keys = 0;
	if (!accept(p, '{') || !members(p) || !accept(p, ',') || !accept(p, '{'))
		return false;
	p->at--;
	return kineto_json_event_end(p->r);
}

void kineto_plain_events(struct reader *r)
{
	struct plain p = {.r = r, .at = r->window + r->at, .end = r->window + r->end};

	while (event(&p, r->base)) {
		size_t at = (size_t)(p.at - r->window);

		r->base += at - r->at;
		r->at = at;
	}
	r->place = LIST;
}
