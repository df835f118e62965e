/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json_impl.h"

#include "formats/trace/json.h"

#include <ctype.h>

/* ---- between values ---------------------------------------------------------------------- */

int kineto_json_next(struct kineto_reader *r, char close)
{
	if (kineto_json_accept(r, ',')) {
		if (kineto_json_peek(r) != close)
			return *r->at ? 1 : -1;
		r->counts.commas++; /* trailing comma: not JSON, but common */
	}
	if (kineto_json_accept(r, close))
		return 0;
	kineto_json_expected(r, close == '}' ? "a comma or '}'" : "a comma or ']'");
	return -1;
}

/* ---- strings ----------------------------------------------------------------------------- */

static bool intern(struct kineto_reader *r, const char *s, size_t len, uint32_t *ret)
{
	r->error = fmt_strings_add(r->j->strings, s, len, ret);
	return r->error == 0;
}

/* Returns the closing quote of the string whose text begins at r->at; NULL: not in the window. */
static const char *closing_quote(struct kineto_reader *r, bool *escaped)
{
	const char *quote = r->at;

	*escaped = false;
	while ((quote = memchr(quote, '"', (size_t)(r->end - quote)))) {
		const char *s = quote;

		*escaped = *escaped || memchr(r->at, '\\', (size_t)(quote - r->at));
		while (s > r->at && s[-1] == '\\')
			s--;
		if ((quote - s) % 2 == 0)
			return quote;
		quote++;
	}
	r->at = r->end;
	return NULL;
}

/* The text without its escapes, in r->text. */
static bool unescape(struct kineto_reader *r, const char *end)
{
	size_t at;

	r->text.len = 0;
	at = fmt_json_unescape(&r->text, r->at, (size_t)(end - r->at));
	r->error = r->text.error;
	if (r->error == 0 && at < (size_t)(end - r->at)) {
		r->at += at;
		return kineto_json_expected(r, "an escape sequence of JSON");
	}
	return r->error == 0;
}

bool kineto_json_string(struct kineto_reader *r, uint32_t *guess, uint32_t *ret)
{
	const struct fmt_interned *s = &r->j->strings->strings[*guess];
	const char *quote;
	bool escaped;

	r->at++;
	if (s->len < (size_t)(r->end - r->at) && r->at[s->len] == '"' &&
	    fmt_same_bytes(r->at, s->s, s->len)) {
		r->at += s->len + 1;
		*ret = *guess;
		return true;
	}
	quote = closing_quote(r, &escaped);
	if (!quote)
		return false;
	if (escaped) {
		if (!unescape(r, quote) || !intern(r, r->text.data, r->text.len, ret))
			return false;
	} else {
		if (!intern(r, r->at, (size_t)(quote - r->at), ret))
			return false;
		*guess = *ret;
	}
	r->at = quote + 1;
	return true;
}

/* ---- numbers and words ------------------------------------------------------------------- */

static bool digits(struct kineto_reader *r)
{
	if (*r->at < '0' || *r->at > '9')
		return kineto_json_expected(r, "a digit");
	while (*r->at >= '0' && *r->at <= '9')
		r->at++;
	return true;
}

bool kineto_json_number(struct kineto_reader *r)
{
	r->at += *r->at == '-';
	if (*r->at == '0')
		r->at++;
	else if (!digits(r))
		return false;
	if (*r->at == '.') {
		r->at++;
		if (!digits(r))
			return false;
	}
	if (*r->at != 'e' && *r->at != 'E')
		return true;
	r->at++;
	r->at += *r->at == '+' || *r->at == '-';
	return digits(r);
}

static bool ends_word(const struct kineto_reader *r, const char *s)
{
	return *s == ',' || *s == ']' || *s == '}' || *s == ' ' || (*s == '\0' && r->ended);
}

/* Words of JSON, and numbers that JSON cannot express, as C, C++ and Python print them. */
static const struct word {
	const char *word, *text;
	bool number;
} words[] = {
	{"true", "true", false},   {"false", "false", false}, {"null", "null", false},
	{"nan(ind)", "NaN", true}, {"nan", "NaN", true},      {"infinity", "Infinity", true},
	{"inf", "Infinity", true},
};

/* Returns the text of the word at r->at; NULL if unknown. *number: it is not a word of JSON. */
static const char *read_word(struct kineto_reader *r, bool *number)
{
	const char *s = r->at + (*r->at == '-' || *r->at == '+');

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct word *w = &words[i];
		size_t len = strlen(w->word);

		if (w->number ? strncasecmp(s, w->word, len) != 0
			      : s > r->at || strncmp(s, w->word, len) != 0)
			continue;
		if (w->number && !ends_word(r, s + len))
			continue;
		*number = w->number;
		r->counts.not_numbers += w->number;
		s = *r->at == '-' && w->text[0] == 'I' ? "-Infinity" : w->text;
		r->at += len + (*r->at == '-' || *r->at == '+');
		return s;
	}
	for (s = r->at; isalpha((unsigned char)*s) || (*s && strchr("+-()", *s)); s++)
		;
	if (*s == '\0' && !r->ended)
		r->at = s; /* the word may continue after the window */
	kineto_json_expected(r, "a value");
	return NULL;
}

static bool is_number(struct kineto_reader *r)
{
	return (*r->at >= '0' && *r->at <= '9') ||
	       (*r->at == '-' && r->at[1] >= '0' && r->at[1] <= '9');
}

/* ---- values as text ---------------------------------------------------------------------- */

static bool capture_string(struct kineto_reader *r)
{
	const char *from = r->at++, *quote;
	bool escaped;

	while (*r->at >= ' ' && *r->at <= '~' && *r->at != '"' && *r->at != '\\')
		r->at++;
	if (*r->at == '"') {
		text_bytes(&r->capture, from, (size_t)(++r->at - from));
		return true;
	}
	r->at = from + 1;
	quote = closing_quote(r, &escaped);
	if (!quote || !unescape(r, quote))
		return false;
	fmt_json_string(&r->capture, r->text.data, r->text.len);
	r->at = quote + 1;
	return true;
}

static bool capture_scalar(struct kineto_reader *r)
{
	const char *from = r->at, *word;
	bool number;

	if (is_number(r)) {
		if (!kineto_json_number(r))
			return false;
		text_bytes(&r->capture, from, (size_t)(r->at - from));
		return true;
	}
	word = read_word(r, &number);
	if (!word)
		return false;
	if (number)
		fmt_json_string(&r->capture, word, strlen(word));
	else
		text_str(&r->capture, word);
	return true;
}

static bool capture(struct kineto_reader *r, unsigned depth);

static bool capture_key(struct kineto_reader *r)
{
	if (kineto_json_peek(r) != '"')
		return kineto_json_expected(r, "a string as key");
	if (!capture_string(r))
		return false;
	if (!kineto_json_accept(r, ':'))
		return kineto_json_expected(r, "a colon");
	text_char(&r->capture, ':');
	return true;
}

static bool capture_members(struct kineto_reader *r, char close, unsigned depth)
{
	int more = 1;

	if (depth == 0)
		return kineto_json_refuse(r, "a value is nested too deep");
	text_char(&r->capture, *r->at++);
	if (kineto_json_accept(r, close))
		more = 0;
	while (more > 0) {
		if ((close == '}' && !capture_key(r)) || !capture(r, depth - 1))
			return false;
		more = kineto_json_next(r, close);
		if (more > 0)
			text_char(&r->capture, ',');
	}
	text_char(&r->capture, close);
	return more == 0;
}

static bool capture(struct kineto_reader *r, unsigned depth)
{
	switch (kineto_json_peek(r)) {
	case '"':
		return capture_string(r);
	case '[':
		return capture_members(r, ']', depth);
	case '{':
		return capture_members(r, '}', depth);
	default:
		return capture_scalar(r);
	}
}

bool kineto_json_capture(struct kineto_reader *r)
{
	r->capture.len = 0;
	if (!capture(r, KINETO_DEPTH))
		return false;
	r->error = r->capture.error;
	return r->error == 0;
}

/* ---- arguments --------------------------------------------------------------------------- */

static bool scalar_argument(struct kineto_reader *r, struct kineto_arg *ret)
{
	const char *s = r->at, *word;
	bool number = false;
	uint32_t string;

	if (is_number(r)) {
		if (!kineto_json_number(r))
			return false;
		if (fmt_json_integer(s, (size_t)(r->at - s), &ret->value)) {
			ret->type = FMT_INT;
			return true;
		}
		word = s;
	} else {
		word = read_word(r, &number);
		if (!word)
			return false;
	}
	if (!intern(r, word, word == s ? (size_t)(r->at - s) : strlen(word), &string))
		return false;
	ret->type = number ? FMT_STRING : FMT_JSON;
	ret->value = string;
	return true;
}

bool kineto_json_argument(struct kineto_reader *r, struct kineto_guess *guess,
			  struct kineto_arg *ret)
{
	uint32_t string;
	char c = kineto_json_peek(r);

	if (c == '"') {
		if (!kineto_json_string(r, &guess->text, &string))
			return false;
		ret->type = FMT_STRING;
		ret->value = string;
		return true;
	}
	if (c != '{' && c != '[')
		return scalar_argument(r, ret);
	if (!kineto_json_capture(r))
		return false;
	if (!fmt_strings_is(r->j->strings, guess->json, r->capture.data, r->capture.len) &&
	    !intern(r, r->capture.data, r->capture.len, &guess->json))
		return false;
	ret->type = FMT_JSON;
	ret->value = guess->json;
	return true;
}
