/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/chrome_template.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/json.h"
#include "formats/trace/value.h"

#include <stdatomic.h>

/* ---- strings */

/* Cached properties of a string: it needs no escapes and no replacements, as a string or (without
 * quotes) as JSON. */
enum { PLAIN_STRING = 1, PLAIN_JSON = 2 };

int fmt_chrome_values_init(struct fmt_chrome_values *v, const struct fmt_names *names)
{
	v->names = names;
	v->n_strings = fmt_n_strings(names);
	v->escape_flags = calloc(v->n_strings + (size_t)1, sizeof(*v->escape_flags));
	return v->escape_flags ? 0 : -ENOMEM;
}

void fmt_chrome_values_done(struct fmt_chrome_values *v)
{
	free(v->escape_flags);
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

/* A string, quoted; or of FMT_JSON, which is a value already. */
static void put_string(struct fmt_chrome_values *v, fmt_str s, bool is_json, struct text *out)
{
	_Atomic uint8_t *look = s < v->n_strings ? &v->escape_flags[s] : NULL;
	uint8_t plain = is_json ? PLAIN_JSON : PLAIN_STRING;
	uint64_t before = out->flushed + out->len;
	size_t len;
	const char *bytes = fmt_string(v->names, s, &len);

	if (look && atomic_load_explicit(look, memory_order_relaxed) & plain) {
		put_plain(out, bytes, len, is_json);
		return;
	}
	if (is_json)
		fmt_json_value(out, bytes, len);
	else
		fmt_json_string(out, bytes, len);
	if (look && out->flushed + out->len - before == len + (is_json ? 0 : 2))
		atomic_fetch_or_explicit(look, plain, memory_order_relaxed);
}

/* ---- templates */

define_cleanup(template_freep, struct fmt_chrome_template *, fmt_chrome_template_free);

void fmt_chrome_template_free(struct fmt_chrome_template *s)
{
	if (!s)
		return;
	free(s->text);
	free(s->holes);
	free(s);
}

/* Returns true if inference added this argument of a collective; importing drops and infers it
 * again. */
static bool is_ours(const struct fmt_template *template, uint32_t arg)
{
	return template->kind == FMT_COLLECTIVE && arg < FMT_COLLECTIVE_ARGS;
}

/* The key of an argument that was a member of the event, outside of `args`, begins with a point. */
static bool is_member(const struct fmt_names *names, const struct fmt_template *template,
		      uint32_t arg)
{
	const char *key = fmt_string(names, template->args[arg].key, NULL);

	return key[0] == '.' && key[1] != '.' && !is_ours(template, arg);
}

static bool has_phase(const struct fmt_names *names, const struct fmt_template *template)
{
	for (uint32_t i = 0; i < template->n_args; i++) {
		if (!is_ours(template, i) &&
		    !strcmp(fmt_string(names, template->args[i].key, NULL), ".ph"))
			return true;
	}
	return false;
}

static void put_head(struct text *t, struct fmt_chrome_values *v,
		     const struct fmt_template *template)
{
	text_str(t, ",\n{");
	if (!has_phase(v->names, template))
		text_str(t, template->kind == FMT_MARK ? "\"ph\":\"i\"," : "\"ph\":\"X\",");
	if (template->category) {
		text_str(t, "\"cat\":");
		put_string(v, template->category, false, t);
		text_char(t, ',');
	}
	text_str(t, "\"name\":");
	put_string(v, template->name, false, t);
	text_str(t, ",\"pid\":");
}

static void put_key(struct text *t, const struct fmt_names *names,
		    const struct fmt_template *template, uint32_t arg)
{
	size_t len;
	const char *key = fmt_string(names, template->args[arg].key, &len);

	if (is_ours(template, arg)) {
		text_str(t, "\"gputrace ");
		text_bytes(t, key, len);
		text_str(t, "\":");
		return;
	}
	fmt_json_string(t, *key == '.' ? key + 1 : key, *key == '.' ? len - 1 : len);
	text_char(t, ':');
}

static void put_constant(struct text *t, struct fmt_chrome_values *v, const struct fmt_arg *arg)
{
	if (arg->type == FMT_INT)
		text_i64(t, arg->value);
	else
		put_string(v, (fmt_str)arg->value, arg->type == FMT_JSON, t);
}

/* Appends the members, or the arguments. Returns true if there were any. */
static bool put_args(struct text *t, struct fmt_chrome_values *v,
		     const struct fmt_template *template, struct fmt_chrome_template *s,
		     bool members)
{
	uint32_t value = 0;
	bool more = false;

	for (uint32_t i = 0; i < template->n_args; value += template->args[i++].varies) {
		const struct fmt_arg *arg = &template->args[i];

		if (is_member(v->names, template, i) != members)
			continue;
		text_str(t, more || members ? "," : ",\"args\":{");
		put_key(t, v->names, template, i);
		more = true;
		if (arg->varies || arg->type == FMT_CORRELATION || arg->type == FMT_RATE)
			s->holes[s->n_holes++] = (struct fmt_chrome_placeholder){
				(uint32_t)t->len, i, value, arg->type};
		else
			put_constant(t, v, arg);
	}
	return more;
}

int fmt_chrome_template_new(struct fmt_chrome_values *v, const struct fmt_template *template,
			    struct fmt_chrome_template **ret)
{
	scoped(template_freep) struct fmt_chrome_template *s = calloc(1, sizeof(*s));
	scoped(text_done) struct text t = {0};

	if (!s)
		return -ENOMEM;
	s->kind = template->kind;
	s->n_values = template->n_values;
	s->holes = calloc(template->n_args + 1u, sizeof(*s->holes));
	if (!s->holes)
		return -ENOMEM;
	put_head(&t, v, template);
	s->head_len = (uint32_t)t.len;
	put_args(&t, v, template, s, true);
	text_str(&t, put_args(&t, v, template, s, false) ? "}}" : "}");
	if (t.error)
		return t.error;
	if (t.len > UINT32_MAX)
		return -EOVERFLOW;
	s->len = (uint32_t)t.len;
	s->text = take(t.data);
	*ret = take(s);
	return 0;
}

/* Appends a value that is not an integer. */
static void put_long(const struct fmt_chrome_placeholder *h, struct fmt_chrome_values *v,
		     const struct fmt_event *e, const int64_t *values, struct text *out)
{
	if (h->type == FMT_RATE)
		fmt_value_json(out, v->names, e, fmt_template(v->names, e->template), values,
			       h->arg);
	else
		put_string(v, (fmt_str)values[h->value], h->type == FMT_JSON, out);
}

void fmt_chrome_template_put(const struct fmt_chrome_template *s, struct fmt_chrome_values *v,
			     const struct fmt_event *e, const int64_t *values, struct text *out)
{
	size_t space = s->len - s->head_len + s->n_holes * (size_t)TEXT_NUMBER;
	const char *from = s->text + s->head_len;
	char *at = text_reserve(out, space);

	for (uint32_t i = 0; at && i < s->n_holes; i++) {
		const struct fmt_chrome_placeholder *h = &s->holes[i];

		at = text_put(at, from, (size_t)(s->text + h->at - from));
		from = s->text + h->at;
		if (h->type == FMT_INT) {
			at = text_put_i64(at, values[h->value]);
		} else if (h->type == FMT_CORRELATION) {
			at = text_put_i64(at, (int64_t)e->correlation);
		} else {
			text_end(out, at);
			put_long(h, v, e, values, out);
			at = text_reserve(out, space);
		}
	}
	text_end(out, at ? text_put(at, from, (size_t)(s->text + s->len - from)) : NULL);
}
