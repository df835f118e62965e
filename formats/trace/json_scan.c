/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/json_scan.h"

#include "base/scope.h"
#include "formats/trace/json.h"

#include <ctype.h>

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

/* ---- scanner ----------------------------------------------------------------------------- */

int fmt_json_scan_next(struct fmt_json_scan *s, char close)
{
	if (fmt_json_accept(s, ',')) {
		if (fmt_json_peek(s) != close || !s->lenient)
			return s->at < s->end ? 1 : -1;
		s->commas++;
	}
	if (fmt_json_accept(s, close))
		return 0;
	fmt_json_expected(s, close == '}' ? "a comma or '}'" : "a comma or ']'");
	return -1;
}

static bool is_digit(const struct fmt_json_scan *s, const char *at)
{
	return at < s->end && *at >= '0' && *at <= '9';
}

static bool scan_digits(struct fmt_json_scan *s)
{
	if (!is_digit(s, s->at))
		return fmt_json_expected(s, "a digit");
	while (is_digit(s, s->at))
		s->at++;
	return true;
}

/* Unlike fmt_json_accept(), skips no white space. */
static bool scan_char(struct fmt_json_scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

bool fmt_json_at_number(const struct fmt_json_scan *s)
{
	return is_digit(s, s->at + (s->at < s->end && *s->at == '-'));
}

bool fmt_json_scan_number(struct fmt_json_scan *s)
{
	scan_char(s, '-');
	if (!scan_char(s, '0') && !scan_digits(s))
		return false;
	if (scan_char(s, '.') && !scan_digits(s))
		return false;
	if (!scan_char(s, 'e') && !scan_char(s, 'E'))
		return true;
	if (!scan_char(s, '+'))
		scan_char(s, '-');
	return scan_digits(s);
}

static bool scan_escape(struct fmt_json_scan *s)
{
	const char *from = s->at++;
	size_t digits = 0;

	if (scan_char(s, 'u')) {
		while (digits < 4 && s->at < s->end && isxdigit((unsigned char)*s->at)) {
			digits++;
			s->at++;
		}
		if (digits == 4)
			return true;
	} else if (s->at < s->end && *s->at && strchr("\"\\/bfnrt", *s->at)) {
		s->at++;
		return true;
	}
	if (s->at < s->end)
		s->at = from;
	return fmt_json_expected(s, "an escape sequence of JSON");
}

bool fmt_json_scan_string(struct fmt_json_scan *s, bool *plain)
{
	s->at++;
	*plain = true;
	for (;;) {
		size_t n;

		while (s->at < s->end && fmt_json_is_plain(*s->at))
			s->at++;
		if (s->at == s->end)
			return fmt_json_expected(s, "a closing quote");
		if (scan_char(s, '"'))
			return true;
		*plain = false;
		if (*s->at == '\\') {
			if (!scan_escape(s))
				return false;
			continue;
		}
		n = fmt_utf8_length(s->at, (size_t)(s->end - s->at));
		if ((unsigned char)*s->at < ' ' || (n == 0 && !s->lenient))
			return fmt_json_expected(s, "a character in UTF-8");
		s->at += n ? n : 1;
	}
}

static void copy_bytes(struct fmt_json_scan *s, const char *from, size_t len)
{
	if (s->copy)
		text_bytes(s->copy, from, len);
}

static bool scan_text(struct fmt_json_scan *s)
{
	scoped(text_done) struct text t = {0};
	const char *from = s->at;
	bool plain;

	if (!fmt_json_scan_string(s, &plain))
		return false;
	if (plain || !s->copy) {
		copy_bytes(s, from, (size_t)(s->at - from));
		return true;
	}
	fmt_json_unescape(&t, from + 1, (size_t)(s->at - from) - 2);
	fmt_json_string(s->copy, t.data, t.len);
	if (t.error)
		s->copy->error = t.error;
	return true;
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

static bool is_word(const struct fmt_json_scan *s, const struct word *w, const char *at)
{
	size_t len = strlen(w->word);

	if ((size_t)(s->end - at) < len)
		return false;
	if (!w->number)
		return at == s->at && memcmp(at, w->word, len) == 0;
	return s->lenient && strncasecmp(at, w->word, len) == 0 && at + len < s->end &&
	       strchr(",]} ", at[len]);
}

static bool scan_word(struct fmt_json_scan *s)
{
	bool negative = s->at < s->end && *s->at == '-';
	const char *from = s->at + (negative || (s->at < s->end && *s->at == '+')), *at = from;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct word *w = &words[i];

		if (!is_word(s, w, from))
			continue;
		s->not_numbers += w->number;
		s->at = from + strlen(w->word);
		copy_bytes(s, "\"-", w->number + (negative && *w->text == 'I'));
		copy_bytes(s, w->text, strlen(w->text));
		copy_bytes(s, "\"", w->number);
		return true;
	}
	while (at < s->end && (isalpha((unsigned char)*at) || (*at && strchr("+-()", *at))))
		at++;
	if (at == s->end)
		s->at = at; /* the word may continue */
	return fmt_json_expected(s, "a value");
}

static bool scan_any(struct fmt_json_scan *s, unsigned depth);

static bool scan_members(struct fmt_json_scan *s, char close, unsigned depth)
{
	int more;

	if (depth == 0)
		return fmt_json_expected(s, "a value that is not nested too deep");
	copy_bytes(s, s->at++, 1);
	more = !fmt_json_accept(s, close);
	while (more > 0) {
		if (close == '}') {
			if (fmt_json_peek(s) != '"')
				return fmt_json_expected(s, "a string as key");
			if (!scan_text(s))
				return false;
			if (!fmt_json_accept(s, ':'))
				return fmt_json_expected(s, "a colon");
			copy_bytes(s, ":", 1);
		}
		if (!scan_any(s, depth - 1))
			return false;
		more = fmt_json_scan_next(s, close);
		copy_bytes(s, ",", more > 0);
	}
	copy_bytes(s, &close, 1);
	return more == 0;
}

static bool scan_any(struct fmt_json_scan *s, unsigned depth)
{
	char c = fmt_json_peek(s);
	const char *from = s->at;

	if (c == '"')
		return scan_text(s);
	if (c == '[' || c == '{')
		return scan_members(s, c == '[' ? ']' : '}', depth);
	if (!fmt_json_at_number(s))
		return scan_word(s);
	if (!fmt_json_scan_number(s))
		return false;
	copy_bytes(s, from, (size_t)(s->at - from));
	return true;
}

bool fmt_json_scan_value(struct fmt_json_scan *s)
{
	return scan_any(s, FMT_JSON_DEPTH);
}

/* ---- values ------------------------------------------------------------------------------ */

int fmt_json_valid(const char *text, size_t len)
{
	struct fmt_json_scan s = {.at = text, .end = text + len};

	return fmt_json_scan_value(&s) && fmt_json_peek(&s) == '\0' && s.at == s.end;
}

/* Scans a value of an array or object. */
static int next_value(struct fmt_json_scan *s, const char **at, const char **value, size_t *len)
{
	fmt_json_peek(s);
	*value = s->at;
	if (!fmt_json_scan_value(s))
		return 0;
	*len = (size_t)(s->at - *value);
	*at = s->at;
	return 1;
}

int fmt_json_element(const char **at, const char *end, const char **element, size_t *len)
{
	struct fmt_json_scan s = {.at = *at, .end = end};

	if (!fmt_json_accept(&s, '[') && !fmt_json_accept(&s, ','))
		return 0;
	return next_value(&s, at, element, len);
}

int fmt_json_next_member(const char **at, const char *end, const char **key, size_t *key_len,
			 const char **value, size_t *len)
{
	struct fmt_json_scan s = {.at = *at, .end = end};
	bool plain;

	if ((!fmt_json_accept(&s, '{') && !fmt_json_accept(&s, ',')) || fmt_json_peek(&s) != '"')
		return 0;
	*key = s.at + 1;
	if (!fmt_json_scan_string(&s, &plain))
		return 0;
	*key_len = (size_t)(s.at - *key) - 1;
	return fmt_json_accept(&s, ':') && next_value(&s, at, value, len);
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
