/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/json.h"

#include <math.h>

static void put_escaped(struct text *t, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char *const letters = "btnvfr"; /* for 8 to 13; JSON has no \v */
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

		while (i < len && fmt_json_is_plain(s[i]))
			i++;
		text_bytes(t, s + from, i - from);
		if (i == len)
			break;
		n = fmt_utf8_length(s + i, len - i);
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

void fmt_json_value(struct text *t, const char *s, size_t len)
{
	if (fmt_json_valid(s, len))
		text_bytes(t, s, len);
	else
		fmt_json_string(t, s, len);
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
	fmt_json_bytes(j, key, s, strlen(s));
}

void fmt_json_bytes(struct fmt_json *j, const char *key, const char *s, size_t len)
{
	put_key(j, key);
	fmt_json_string(j->text, s, len);
}

void fmt_json_verbatim(struct fmt_json *j, const char *key, const char *s, size_t len)
{
	put_key(j, key);
	fmt_json_value(j->text, s, len);
}
