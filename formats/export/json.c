/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/json.h"

#include <math.h>

/* The length of the UTF-8 character at `s`, or 0 where none starts. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 0 || n > left || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct text *t, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char *const letters = "btnvfr"; /* from 8 on; \v is no JSON */
	char buf[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	if (c == '"' || c == '\\') {
		buf[1] = (char)c;
		text_bytes(t, buf, 2);
	} else if (c >= 8 && c <= 13 && c != 11) {
		buf[1] = letters[c - 8];
		text_bytes(t, buf, 2);
	} else {
		text_bytes(t, buf, 6);
	}
}

void fmt_json_string(struct text *t, const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t i = 0;

	text_char(t, '"');
	while (i < len) {
		size_t from = i, n;

		while (i < len && is_plain(u[i]))
			i++;
		text_bytes(t, s + from, i - from);
		if (i == len)
			break;
		n = utf8_length(u + i, len - i);
		if (n > 1)
			text_bytes(t, s + i, n);
		else if (n == 1)
			put_escaped(t, u[i]);
		else
			text_str(t, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	text_char(t, '"');
}

/* ---- is it JSON? */

struct scan {
	const char *at, *end;
	unsigned depth;
};

static bool scan_value(struct scan *s);

static void skip_space(struct scan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool scan_char(struct scan *s, char c)
{
	if (s->at >= s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool scan_digits(struct scan *s)
{
	const char *from = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > from;
}

static bool scan_number(struct scan *s)
{
	scan_char(s, '-');
	if (!scan_char(s, '0') && !scan_digits(s))
		return false;
	if (scan_char(s, '.') && !scan_digits(s))
		return false;
	if (scan_char(s, 'e') || scan_char(s, 'E')) {
		if (!scan_char(s, '+'))
			scan_char(s, '-');
		return scan_digits(s);
	}
	return true;
}

static bool scan_escape(struct scan *s)
{
	if (s->at >= s->end)
		return false;
	if (*s->at != 'u' && *s->at)
		return strchr("\"\\/bfnrt", *s->at++) != NULL;
	if (!scan_char(s, 'u'))
		return false;
	for (int i = 0; i < 4; i++, s->at++) {
		if (s->at >= s->end || !strchr("0123456789abcdefABCDEF", *s->at) || !*s->at)
			return false;
	}
	return true;
}

static bool scan_string(struct scan *s)
{
	if (!scan_char(s, '"'))
		return false;
	while (s->at < s->end && *s->at != '"') {
		size_t n = utf8_length((const unsigned char *)s->at, (size_t)(s->end - s->at));

		if (n == 0 || (unsigned char)*s->at < ' ')
			return false;
		if (*s->at == '\\') {
			s->at++;
			if (!scan_escape(s))
				return false;
		} else {
			s->at += n;
		}
	}
	return scan_char(s, '"');
}

static bool scan_members(struct scan *s, char close)
{
	if (++s->depth > 64)
		return false;
	skip_space(s);
	if (!scan_char(s, close)) {
		do {
			skip_space(s);
			if (close == '}') {
				if (!scan_string(s))
					return false;
				skip_space(s);
				if (!scan_char(s, ':'))
					return false;
			}
			if (!scan_value(s))
				return false;
			skip_space(s);
		} while (scan_char(s, ','));
		if (!scan_char(s, close))
			return false;
	}
	s->depth--;
	return true;
}

static bool scan_value(struct scan *s)
{
	skip_space(s);
	if (s->at >= s->end)
		return false;
	switch (*s->at) {
	case '"':
		return scan_string(s);
	case '{':
		s->at++;
		return scan_members(s, '}');
	case '[':
		s->at++;
		return scan_members(s, ']');
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return scan_number(s);
	}
}

int fmt_json_valid(const char *text, size_t len)
{
	struct scan s = {text, text + len, 0};

	if (!scan_value(&s))
		return 0;
	skip_space(&s);
	return s.at == s.end;
}

void fmt_json_value(struct text *t, const char *s, size_t len)
{
	if (fmt_json_valid(s, len))
		text_bytes(t, s, len);
	else
		fmt_json_string(t, s, len);
}

int fmt_json_element(const char **at, const char *end, const char **element, size_t *len)
{
	struct scan s = {*at, end, 0};

	skip_space(&s);
	if (!scan_char(&s, '[') && !scan_char(&s, ','))
		return 0;
	skip_space(&s);
	*element = s.at;
	if (!scan_value(&s))
		return 0;
	*len = (size_t)(s.at - *element);
	*at = s.at;
	return 1;
}

/* ---- documents */

static void put_break(struct fmt_json *j)
{
	if (j->depth > j->broken || j->depth == 0)
		return;
	text_char(j->text, '\n');
	for (unsigned i = 0; i < j->depth; i++)
		text_str(j->text, "  ");
}

static void put_key(struct fmt_json *j, const char *key)
{
	if (j->more)
		text_str(j->text, j->depth > j->broken ? ", " : ",");
	put_break(j);
	if (key) {
		fmt_json_string(j->text, key, strlen(key));
		text_str(j->text, ": ");
	}
	j->more = true;
}

void fmt_json_open(struct fmt_json *j, const char *key, char bracket)
{
	put_key(j, key);
	text_char(j->text, bracket);
	j->depth++;
	j->more = false;
}

void fmt_json_close(struct fmt_json *j, char bracket)
{
	bool broken = j->more && j->depth <= j->broken;

	j->depth--;
	if (broken) {
		text_char(j->text, '\n');
		for (unsigned i = 0; i < j->depth; i++)
			text_str(j->text, "  ");
	}
	text_char(j->text, bracket);
	if (j->depth == 0)
		text_char(j->text, '\n');
	j->more = true;
}

void fmt_json_i64(struct fmt_json *j, const char *key, int64_t v)
{
	put_key(j, key);
	text_i64(j->text, v);
}

void fmt_json_u64(struct fmt_json *j, const char *key, uint64_t v)
{
	put_key(j, key);
	text_u64(j->text, v);
}

void fmt_json_double(struct fmt_json *j, const char *key, double v, int decimals)
{
	put_key(j, key);
	if (isfinite(v))
		text_printf(j->text, "%.*f", decimals, v);
	else
		text_str(j->text, "null");
}

void fmt_json_bool(struct fmt_json *j, const char *key, bool v)
{
	put_key(j, key);
	text_str(j->text, v ? "true" : "false");
}

void fmt_json_str(struct fmt_json *j, const char *key, const char *s)
{
	put_key(j, key);
	fmt_json_string(j->text, s, strlen(s));
}

void fmt_json_verbatim(struct fmt_json *j, const char *key, const char *s, size_t len)
{
	put_key(j, key);
	fmt_json_value(j->text, s, len);
}
