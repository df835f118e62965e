/* SPDX-License-Identifier: Apache-2.0 */

/* PTX: names, parameters and variables of a module in text form. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/code/image.h"

#include <ctype.h>

static int is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static const char *skip_space(const char *s)
{
	for (;;) {
		while (isspace((unsigned char)*s))
			s++;
		if (s[0] == '/' && s[1] == '/')
			s += strcspn(s, "\n");
		else
			return s;
	}
}

/* Returns the next word: a name or directive, a number, or one character. NULL at the end. */
static const char *next_word(const char **at, size_t *len)
{
	const char *s = skip_space(*at), *end = s;

	if (!*s)
		return NULL;
	if (*end == '.')
		end++;
	while (is_name(*end) || (*s == '.' && *end == ':'))
		end++;
	if (end == s)
		end++;
	*len = (size_t)(end - s);
	*at = end;
	return s;
}

static int word_is(const char *word, size_t len, const char *what)
{
	return word && strlen(what) == len && memcmp(word, what, len) == 0;
}

/* Returns the size of a type (".b8", ".u64", ".f32"); 0 if it is not a type. */
static uint32_t type_bytes(const char *word, size_t len)
{
	unsigned bits;

	if (len < 3 || len > 5 || word[0] != '.' || !strchr("busf", word[1]))
		return 0;
	bits = (unsigned)strtoul(word + 2, NULL, 10);
	return bits % 8 ? 0 : bits / 8;
}

/* Reads a declaration after .param or .global. */
struct declaration {
	const char *name;
	size_t len;
	size_t bytes;
	uint32_t align;
	int managed;
};

/* Stops before one of ",);={" and returns it. */
static char declaration(const char **at, struct declaration *ret)
{
	struct declaration d = {.align = 1};
	uint32_t type = 1;
	size_t len, count = 1;
	const char *word;

	while ((word = next_word(at, &len))) {
		if (len == 1 && strchr(",);={", *word))
			break;
		if (word_is(word, len, ".attribute")) {
			while (word && *word != ')') {
				d.managed |= word_is(word, len, ".managed");
				word = next_word(at, &len);
			}
		} else if (word_is(word, len, ".align")) {
			word = next_word(at, &len);
			d.align = word ? (uint32_t)strtoul(word, NULL, 10) : 1;
		} else if (*word == '[') {
			word = skip_space(*at);
			count = strtoul(word, NULL, 10);
			count = count < SIZE_MAX / 64 ? count : 0;
		} else if (type_bytes(word, len)) {
			type = type_bytes(word, len);
		} else if (*word != '.' && *word != ']' && !isdigit((unsigned char)*word)) {
			d.name = word;
			d.len = len;
		}
	}
	d.bytes = type * count;
	if (d.align < type)
		d.align = type;
	*ret = d;
	return word ? *word : 0;
}

static int add_param(struct emu_entry *e, const struct declaration *d)
{
	struct emu_param *grown, *last = e->n_params ? &e->params[e->n_params - 1] : NULL;
	uint32_t at = last ? last->offset + last->bytes : 0;

	grown = realloc(e->params, (size_t)(e->n_params + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	e->params = grown;
	at = (at + d->align - 1) / d->align * d->align;
	grown[e->n_params++] = (struct emu_param){at, (uint32_t)d->bytes};
	return 0;
}

static int parse_entry(struct emu_image *image, const char **at)
{
	struct declaration d;
	struct emu_entry *e;
	size_t len;
	const char *word = next_word(at, &len);

	if (!word)
		return -EBADMSG;
	e = emu_image_add(image, word, len);
	if (!e)
		return -ENOMEM;
	word = next_word(at, &len);
	while (word && *word != '{' && *word != ';') {
		if (word_is(word, len, ".param")) {
			char end = declaration(at, &d);

			if (d.bytes == 0 || d.align == 0 || d.align > 1024)
				return -EBADMSG;
			if (add_param(e, &d) < 0)
				return -ENOMEM;
			if (end == 0)
				return -EBADMSG;
		}
		if (word_is(word, len, ".maxntid")) {
			const char *number = skip_space(*at);

			e->max_threads = (int)strtoul(number, NULL, 10);
		}
		word = next_word(at, &len);
	}
	return 0;
}

static int parse_variable(struct emu_image *image, const char **at)
{
	struct declaration d;
	struct emu_variable *v;

	declaration(at, &d);
	if (!d.name)
		return 0;
	v = emu_image_add_variable(image, d.name, d.len);
	if (!v)
		return -ENOMEM;
	v->bytes = d.bytes;
	v->managed = d.managed;
	return 0;
}

int emu_image_parse_ptx(struct emu_image *image, const char *text)
{
	const char *at = text, *word;
	size_t len;
	int depth = 0, versions = 0, r = 0;

	while (r == 0 && (word = next_word(&at, &len))) {
		depth += *word == '{' ? 1 : *word == '}' ? -1 : 0;
		if (depth > 0)
			continue;
		if (word_is(word, len, ".version"))
			versions++;
		else if (versions == 0)
			return -EBADMSG; /* the first directive of a module */
		if (word_is(word, len, ".entry"))
			r = parse_entry(image, &at);
		if (word_is(word, len, ".global") || word_is(word, len, ".const"))
			r = parse_variable(image, &at);
		/* The brace after an entry's head opens its body. */
		if (at > text && at[-1] == '{' && word_is(word, len, ".entry"))
			depth++;
	}
	return r < 0 ? r : versions ? 0 : -EBADMSG;
}
