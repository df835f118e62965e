/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/row_template.h"

/* The letter that stands for `c` after a backslash, or 0 where c stands for itself. */
static char escape(char c)
{
	switch (c) {
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\0':
		return '0';
	case '\\':
		return '\\';
	default:
		return 0;
	}
}

void fmt_field_text(struct text *out, const char *s, size_t len, const char *special)
{
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		char pair[2] = {'\\', escape(s[i])};

		if (!pair[1] && *special && strchr(special, s[i]))
			pair[1] = s[i];
		if (!pair[1])
			continue;
		text_bytes(out, s + from, i - from);
		text_bytes(out, pair, 2);
		from = i + 1;
	}
	text_bytes(out, s + from, len - from);
}

void fmt_field_id(struct text *out, const struct fmt_names *names, int is_text, fmt_str text,
		  int64_t number)
{
	size_t len;
	const char *bytes;

	if (!is_text) {
		text_i64(out, number);
		return;
	}
	bytes = fmt_string(names, text, &len);
	fmt_field_text(out, bytes, len, "");
}
