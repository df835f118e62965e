/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/json.h"

size_t fmt_utf8_length(const char *bytes, size_t left)
{
	const unsigned char *s = (const unsigned char *)bytes;
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
		size_t n = fmt_utf8_length(s->at, (size_t)(s->end - s->at));

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

int fmt_json_member(const char *object, size_t len, const char *key, const char **value,
		    size_t *value_len)
{
	struct scan s = {object, object + len, 0};

	skip_space(&s);
	if (!scan_char(&s, '{'))
		return 0;
	do {
		const char *from;
		bool found;

		skip_space(&s);
		from = s.at;
		if (!scan_string(&s))
			return 0;
		found = (size_t)(s.at - from) == strlen(key) + 2 &&
			!memcmp(from + 1, key, strlen(key));
		skip_space(&s);
		if (!scan_char(&s, ':'))
			return 0;
		skip_space(&s);
		from = s.at;
		if (!scan_value(&s))
			return 0;
		*value = from;
		*value_len = (size_t)(s.at - from);
		if (found)
			return 1;
		skip_space(&s);
	} while (scan_char(&s, ','));
	return 0;
}

size_t fmt_json_member_text(const char *object, size_t len, const char *key, const char **ret)
{
	const char *value;
	size_t n;

	if (!fmt_json_member(object, len, key, &value, &n) || *value != '"')
		return 0;
	*ret = value + 1;
	return n - 2;
}

int64_t fmt_json_member_i64(const char *object, size_t len, const char *key, int64_t otherwise)
{
	const char *value;
	uint64_t v = 0;
	size_t n, i;

	if (!fmt_json_member(object, len, key, &value, &n) ||
	    (*value != '-' && (*value < '0' || *value > '9')))
		return otherwise;
	for (i = *value == '-'; i < n && value[i] >= '0' && value[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(value[i] - '0');
	return (int64_t)(*value == '-' ? -v : v);
}
