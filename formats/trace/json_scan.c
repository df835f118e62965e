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
	/* Overlong forms, surrogates, and values beyond U+10FFFF. */
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

int fmt_json_next_member(const char **at, const char *end, const char **key, size_t *key_len,
			 const char **value, size_t *len)
{
	struct scan s = {*at, end, 0};

	skip_space(&s);
	if (!scan_char(&s, '{') && !scan_char(&s, ','))
		return 0;
	skip_space(&s);
	*key = s.at + 1;
	if (!scan_string(&s))
		return 0;
	*key_len = (size_t)(s.at - *key) - 1;
	skip_space(&s);
	if (!scan_char(&s, ':'))
		return 0;
	skip_space(&s);
	*value = s.at;
	if (!scan_value(&s))
		return 0;
	*len = (size_t)(s.at - *value);
	*at = s.at;
	return 1;
}

int fmt_json_member(const char *object, size_t len, const char *key, const char **value,
		    size_t *value_len)
{
	const char *at = object, *end = object + len, *found;
	size_t n;

	while (fmt_json_next_member(&at, end, &found, &n, value, value_len))
		if (n == strlen(key) && memcmp(found, key, n) == 0)
			return 1;
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

int fmt_json_integer(const char *value, size_t len, int64_t *ret)
{
	bool negative = len > 0 && value[0] == '-';
	int64_t v = 0;

	if (len == (size_t)negative || (value[negative] == '0' && len > 1))
		return 0;
	for (size_t i = negative; i < len; i++)
		if (value[i] < '0' || value[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_sub_overflow(v, value[i] - '0', &v))
			return 0;
	if (!negative && v == INT64_MIN)
		return 0;
	*ret = negative ? v : -v;
	return 1;
}

int fmt_json_member_integer(const char *object, size_t len, const char *key, int64_t *ret)
{
	const char *value;
	size_t n;

	return fmt_json_member(object, len, key, &value, &n) && fmt_json_integer(value, n, ret);
}

/* ---- escape sequences -------------------------------------------------------------------- */

static void put_utf8(struct text *t, uint32_t c)
{
	char s[4] = {(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
		     (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))};

	if (c < 0x80) {
		text_char(t, (char)c);
	} else if (c < 0x800) {
		s[2] = (char)(0xc0 | c >> 6);
		text_bytes(t, s + 2, 2);
	} else if (c < 0x10000) {
		s[1] = (char)(0xe0 | c >> 12);
		text_bytes(t, s + 1, 3);
	} else {
		text_bytes(t, s, 4);
	}
}

/* Returns the value of four hex digits at `s`, of which `left` bytes exist, or -1. */
static int32_t hex4(const char *s, size_t left)
{
	int32_t v = 0;

	if (left < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *at = s[i] ? strchr(digits, s[i]) : NULL;

		if (!at)
			return -1;
		v = v << 4 | (int32_t)((at - digits) & 15);
	}
	return v;
}

/* The sequence at `s`, which begins with "\\u": its length, or 0. */
static size_t unescape_unicode(struct text *t, const char *s, size_t left)
{
	int32_t c = hex4(s + 2, left - 2), low = -1;

	if (c < 0)
		return 0;
	if (c >= 0xd800 && c < 0xdc00 && left >= 12 && s[6] == '\\' && s[7] == 'u')
		low = hex4(s + 8, left - 8);
	if (low >= 0xdc00 && low < 0xe000) {
		put_utf8(t, (uint32_t)(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00)));
		return 12;
	}
	put_utf8(t, c >= 0xd800 && c < 0xe000 ? 0xfffd : (uint32_t)c);
	return 6;
}

size_t fmt_json_unescape(struct text *t, const char *s, size_t len)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	size_t i = 0;

	while (i < len) {
		const char *slash = memchr(s + i, '\\', len - i), *letter;
		size_t plain = slash ? (size_t)(slash - s) - i : len - i, n = 2;

		text_bytes(t, s + i, plain);
		i += plain;
		if (!slash)
			break;
		if (len - i < 2)
			return i;
		letter = s[i + 1] ? strchr(letters, s[i + 1]) : NULL;
		if (letter)
			text_char(t, bytes[letter - letters]);
		else
			n = s[i + 1] == 'u' ? unescape_unicode(t, s + i, len - i) : 0;
		if (n == 0)
			return i;
		i += n;
	}
	return i;
}
