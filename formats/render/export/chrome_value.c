/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/chrome_value.h"

#include "base/array.h"
#include "formats/trace/json.h"

/* Cached properties of a string: it needs no escapes and no replacements, as a string or (without
 * quotes) as JSON. */
enum { PLAIN_STRING = 1, PLAIN_JSON = 2 };

void fmt_chrome_values_done(struct fmt_chrome_values *v)
{
	free(v->looks);
}

/* The slot of the cached properties of a string, or NULL. */
static uint8_t *look_of(struct fmt_chrome_values *v, fmt_str s)
{
	size_t n = fmt_n_strings(v->names);

	if (n > v->n_looks) {
		if (array_reserve(&v->looks, n, &v->looks_cap) < 0)
			return NULL;
		memset(v->looks + v->n_looks, 0, n - v->n_looks);
		v->n_looks = n;
	}
	return s < n ? &v->looks[s] : NULL;
}

static void put_plain(struct text *out, const char *bytes, size_t len, bool is_json)
{
	char *at = text_reserve(out, len + 2);

	if (!at)
		return;
	if (!is_json)
		*at++ = '"';
	at = text_put(at, bytes, len);
	if (!is_json)
		*at++ = '"';
	text_end(out, at);
}

void fmt_chrome_string(struct fmt_chrome_values *v, fmt_str s, bool is_json, struct text *out)
{
	uint8_t plain = is_json ? PLAIN_JSON : PLAIN_STRING, *look = look_of(v, s);
	uint64_t before = out->flushed + out->len;
	size_t len;
	const char *bytes = fmt_string(v->names, s, &len);

	if (look && *look & plain) {
		put_plain(out, bytes, len, is_json);
		return;
	}
	if (is_json)
		fmt_json_value(out, bytes, len);
	else
		fmt_json_string(out, bytes, len);
	if (look && out->flushed + out->len - before == len + (is_json ? 0 : 2))
		*look |= plain;
}
