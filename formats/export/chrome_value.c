/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/chrome_value.h"

#include "base/array.h"
#include "formats/json.h"
#include "formats/value.h"

/* What is known of a string, in one half of a byte as a string and in the other as JSON. */
enum { KNOWN = 1, PLAIN = 2 };

void fmt_chrome_values_done(struct fmt_chrome_values *v)
{
	free(v->looks);
	text_done(&v->made);
}

/* Hands on what was made. */
static void put_made(struct fmt_chrome_values *v, struct fmt_sink *out)
{
	fmt_sink_bytes(out, v->made.data, v->made.len);
	v->made.len = 0;
}

static void make_string(struct fmt_chrome_values *v, const char *bytes, size_t len, bool is_json)
{
	if (is_json)
		fmt_json_value(&v->made, bytes, len);
	else
		fmt_json_string(&v->made, bytes, len);
}

/* Where what is known of a string stands, or NULL. */
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

/* Whether nothing in it is escaped, replaced or, where it is no JSON, quoted. */
static bool is_plain(struct fmt_chrome_values *v, fmt_str s, const char *bytes, size_t len,
		     bool is_json)
{
	uint8_t *look = look_of(v, s);
	int shift = is_json ? 4 : 0;

	if (!look)
		return false;
	if (!(*look >> shift & KNOWN)) {
		make_string(v, bytes, len, is_json);
		*look |= (KNOWN | (v->made.len == len + (is_json ? 0 : 2) ? PLAIN : 0)) << shift;
		v->made.len = 0;
	}
	return *look >> shift & PLAIN;
}

void fmt_chrome_string(struct fmt_chrome_values *v, fmt_str s, bool is_json, struct fmt_sink *out)
{
	size_t len;
	const char *bytes = fmt_string(v->names, s, &len);

	if (!is_plain(v, s, bytes, len, is_json)) {
		make_string(v, bytes, len, is_json);
		put_made(v, out);
		return;
	}
	if (!is_json)
		fmt_sink_bytes(out, "\"", 1);
	fmt_sink_bytes(out, bytes, len);
	if (!is_json)
		fmt_sink_bytes(out, "\"", 1);
}

void fmt_chrome_value(struct fmt_chrome_values *v, const struct fmt_event *e, const int64_t *values,
		      uint32_t arg, struct fmt_sink *out)
{
	fmt_value_json(&v->made, v->names, e, fmt_site(v->names, e->site), values, arg);
	put_made(v, out);
}
