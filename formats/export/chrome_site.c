/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/chrome_site.h"

#include "base/scope.h"
#include "formats/export/json.h"
#include "formats/value.h"

define_cleanup(site_freep, struct fmt_chrome_site *, fmt_chrome_site_free);

void fmt_chrome_site_free(struct fmt_chrome_site *s)
{
	if (!s)
		return;
	free(s->text);
	free(s->holes);
	free(s);
}

static void put_string(struct text *t, const struct fmt_names *names, fmt_str s)
{
	size_t len;
	const char *bytes = fmt_string(names, s, &len);

	fmt_json_string(t, bytes, len);
}

/* What inference put in front of the arguments of a collective; importing leaves it out, and finds
 * it again. */
static bool is_ours(const struct fmt_site *site, uint32_t arg)
{
	return site->kind == FMT_COLLECTIVE && arg < FMT_COLLECTIVE_ARGS;
}

/* Arguments that stood beside `args`, as members of the event, have a point in front. */
static bool is_member(const struct fmt_names *names, const struct fmt_site *site, uint32_t arg)
{
	const char *key = fmt_string(names, site->args[arg].key, NULL);

	return key[0] == '.' && key[1] != '.' && !is_ours(site, arg);
}

static bool has_phase(const struct fmt_names *names, const struct fmt_site *site)
{
	for (uint32_t i = 0; i < site->n_args; i++) {
		if (!is_ours(site, i) && !strcmp(fmt_string(names, site->args[i].key, NULL), ".ph"))
			return true;
	}
	return false;
}

static void put_head(struct text *t, const struct fmt_names *names, const struct fmt_site *site)
{
	text_str(t, ",\n{");
	if (!has_phase(names, site))
		text_str(t, site->kind == FMT_MARK ? "\"ph\":\"i\"," : "\"ph\":\"X\",");
	if (site->category) {
		text_str(t, "\"cat\":");
		put_string(t, names, site->category);
		text_char(t, ',');
	}
	text_str(t, "\"name\":");
	put_string(t, names, site->name);
	text_str(t, ",\"pid\":");
}

static void put_key(struct text *t, const struct fmt_names *names, const struct fmt_site *site,
		    uint32_t arg)
{
	size_t len;
	const char *key = fmt_string(names, site->args[arg].key, &len);

	if (is_ours(site, arg)) {
		text_str(t, "\"gputrace ");
		text_bytes(t, key, len);
		text_str(t, "\":");
		return;
	}
	fmt_json_string(t, *key == '.' ? key + 1 : key, *key == '.' ? len - 1 : len);
	text_char(t, ':');
}

/* Appends the members, or else the arguments; returns whether there were any. */
static bool put_args(struct text *t, const struct fmt_names *names, const struct fmt_site *site,
		     struct fmt_chrome_site *s, bool members)
{
	static const struct fmt_event none;
	uint32_t value = 0;
	bool more = false;

	for (uint32_t i = 0; i < site->n_args; value += site->args[i++].varies) {
		const struct fmt_arg *arg = &site->args[i];

		if (is_member(names, site, i) != members)
			continue;
		text_str(t, more || members ? "," : ",\"args\":{");
		put_key(t, names, site, i);
		more = true;
		if (arg->varies || arg->type == FMT_CORRELATION || arg->type == FMT_RATE)
			s->holes[s->n_holes++] = (struct fmt_chrome_hole){
				(uint32_t)t->len, i, value, arg->varies && arg->type == FMT_INT};
		else
			fmt_value_json(t, names, &none, site, NULL, i);
	}
	return more;
}

int fmt_chrome_site_new(const struct fmt_names *names, const struct fmt_site *site,
			struct fmt_chrome_site **ret)
{
	scoped(site_freep) struct fmt_chrome_site *s = calloc(1, sizeof(*s));
	scoped(text_done) struct text t = {0};

	if (!s)
		return -ENOMEM;
	s->site = site;
	s->holes = calloc(site->n_args + 1u, sizeof(*s->holes));
	if (!s->holes)
		return -ENOMEM;
	put_head(&t, names, site);
	s->head_len = (uint32_t)t.len;
	put_args(&t, names, site, s, true);
	text_str(&t, put_args(&t, names, site, s, false) ? "}}" : "}");
	if (t.error)
		return t.error;
	if (t.len > UINT32_MAX)
		return -EOVERFLOW;
	s->len = (uint32_t)t.len;
	s->text = take(t.data);
	*ret = take(s);
	return 0;
}

void fmt_chrome_site_end(const struct fmt_chrome_site *s, const struct fmt_names *names,
			 const struct fmt_event *e, const int64_t *values, struct text *out)
{
	uint32_t from = s->head_len;

	for (uint32_t i = 0; i < s->n_holes; i++) {
		const struct fmt_chrome_hole *h = &s->holes[i];

		text_bytes(out, s->text + from, h->at - from);
		from = h->at;
		if (h->is_int)
			text_i64(out, values[h->value]);
		else
			fmt_value_json(out, names, e, s->site, values, h->arg);
	}
	text_bytes(out, s->text + from, s->len - from);
}
