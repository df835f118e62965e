/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/document.h"

#include "base/scope.h"
#include "base/text.h"
#include "formats/run/infer/constants.h"
#include "formats/trace/json.h"

/* A value within a JSON text. */
struct kineto_value {
	const char *json;
	size_t len;
};

static int member(const char *json, size_t len, const char *key, struct kineto_value *ret)
{
	return fmt_json_member(json, len, key, &ret->json, &ret->len);
}

static bool is_string(const struct kineto_value *v)
{
	return v->len >= 2 && v->json[0] == '"';
}

/* The string's text, followed by a NUL. */
static int read_string(const struct kineto_value *v, struct text *ret)
{
	ret->len = 0;
	fmt_json_unescape(ret, v->json + 1, v->len - 2);
	text_char(ret, '\0');
	return ret->error;
}

int kineto_document_string(const char *json, const char *key, char *ret, size_t cap)
{
	scoped(text_done) struct text t = {0};
	struct kineto_value v;

	if (!member(json, strlen(json), key, &v) || !is_string(&v))
		return -ENOENT;
	if (read_string(&v, &t) < 0)
		return -ENOMEM;
	snprintf(ret, cap, "%s", t.data);
	return 0;
}

int kineto_document_int(const char *json, const char *key, int64_t *ret)
{
	struct kineto_value v;

	return member(json, strlen(json), key, &v) && fmt_json_integer(v.json, v.len, ret)
		       ? 0
		       : -ENOENT;
}

/* ---- devices ----------------------------------------------------------------------------- */

static int fill_device(const struct kineto_value *v, struct fmt_names *names,
		       struct fmt_device *device)
{
	scoped(text_done) struct text t = {0};
	struct kineto_value name;
	int r = 0;

	if (member(v->json, v->len, "name", &name) && is_string(&name)) {
		r = read_string(&name, &t);
		if (r == 0)
			r = fmt_names_string(names, t.data, strlen(t.data), &device->name);
	}
	return r < 0 ? r : fmt_names_string(names, v->json, v->len, &device->properties);
}

int kineto_document_device(const char *json, struct fmt_names *names, struct fmt_device *device)
{
	const char *end = json + strlen(json);
	struct kineto_value v, id;
	int64_t ordinal;

	while (fmt_json_element(&json, end, &v.json, &v.len))
		if (member(v.json, v.len, "id", &id) &&
		    fmt_json_integer(id.json, id.len, &ordinal) && ordinal == device->ordinal)
			return fill_device(&v, names, device);
	return 0;
}

/* ---- hints ------------------------------------------------------------------------------- */

/* `text` keeps the id's text. */
static int hint_id(const struct kineto_value *v, struct text *text, struct kineto_hint_id *ret)
{
	*ret = (struct kineto_hint_id){0};
	if (is_string(v)) {
		if (read_string(v, text) < 0)
			return -ENOMEM;
		ret->text = text->data;
		return 0;
	}
	ret->missing = v->len == 4 && memcmp(v->json, "null", 4) == 0;
	return ret->missing || fmt_json_integer(v->json, v->len, &ret->number) ? 0 : -EBADMSG;
}

/* The elements of an array of exactly `n`: 1, or 0 for anything else. */
static int elements(const struct kineto_value *list, struct kineto_value *ret, size_t n)
{
	const char *at = list->json, *end = at + list->len;
	struct kineto_value more;

	for (size_t i = 0; i < n; i++)
		if (!fmt_json_element(&at, end, &ret[i].json, &ret[i].len))
			return 0;
	return !fmt_json_element(&at, end, &more.json, &more.len);
}

static int hint_name(const struct kineto_value *v, const struct kineto_hint *hint)
{
	scoped(text_done) struct text name = {0}, pid_text = {0}, tid_text = {0};
	struct kineto_hint_id pid, tid;
	struct kineto_value parts[4];
	int r;

	if (!elements(v, parts, 4) || !is_string(&parts[0]))
		return -EBADMSG;
	r = read_string(&parts[0], &name);
	if (r == 0)
		r = hint_id(&parts[1], &pid_text, &pid);
	if (r == 0)
		r = hint_id(&parts[2], &tid_text, &tid);
	return r < 0 ? r
		     : hint->name(hint->context, name.data, &pid, &tid, parts[3].json,
				  parts[3].len);
}

static int hint_names(const struct kineto_value *list, const struct kineto_hint *hint)
{
	const char *at = list->json, *end = at + list->len;
	int r = *at == '[' ? 0 : -EBADMSG;
	struct kineto_value v;

	while (r == 0 && fmt_json_element(&at, end, &v.json, &v.len))
		r = hint_name(&v, hint);
	return r;
}

static int hint_fact(const char *key, const struct kineto_value *v, const struct kineto_hint *hint)
{
	if (strcmp(key, "gputrace.metadata") == 0)
		return hint_names(v, hint);
	if (strcmp(key, FMT_CONSTANTS_KEY) == 0 || strcmp(key, FMT_TEMPLATE_GAPS_KEY) == 0)
		return 0; /* measured again */
	return hint->fact(hint->context, key, v->json, v->len);
}

static int hint_facts(const struct kineto_value *facts, const struct kineto_hint *hint)
{
	scoped(text_done) struct text key = {0};
	const char *at = facts->json, *end = at + facts->len;
	struct kineto_value raw, v;
	int r = 0;

	while (r == 0 && *facts->json == '{' &&
	       fmt_json_next_member(&at, end, &raw.json, &raw.len, &v.json, &v.len)) {
		raw.json--; /* with its quotes */
		raw.len += 2;
		r = read_string(&raw, &key);
		if (r == 0)
			r = hint_fact(key.data, &v, hint);
	}
	return r;
}

static int hint_pid(const struct kineto_value *v, const struct kineto_hint *hint)
{
	scoped(text_done) struct text shown_text = {0}, real_text = {0};
	struct kineto_hint_id shown, real;
	struct kineto_value pair[2];
	int r;

	if (!elements(v, pair, 2))
		return -EBADMSG;
	r = hint_id(&pair[0], &shown_text, &shown);
	if (r == 0)
		r = hint_id(&pair[1], &real_text, &real);
	if (r == 0 && shown.missing)
		r = -EBADMSG;
	return r < 0 ? r : hint->pid(hint->context, &shown, &real);
}

static int hint_rank(const struct kineto_value *v, const struct kineto_hint *hint)
{
	struct kineto_value value;
	int64_t number;
	int r;

	if (!member(v->json, v->len, "rank", &value) ||
	    !fmt_json_integer(value.json, value.len, &number) || number < 0)
		return -EBADMSG;
	r = hint->rank(hint->context, number);
	if (r == 0 && member(v->json, v->len, "facts", &value))
		r = hint_facts(&value, hint);
	if (r == 0 && member(v->json, v->len, "pids", &value)) {
		const char *at = value.json, *end = at + value.len;
		struct kineto_value pair;

		while (r == 0 && *value.json == '[' &&
		       fmt_json_element(&at, end, &pair.json, &pair.len))
			r = hint_pid(&pair, hint);
	}
	return r;
}

int kineto_document_hint(const char *json, const struct kineto_hint *hint)
{
	struct kineto_value ranks, base, rank;
	const char *at, *end;
	int64_t base_ns;
	int r = 0;

	if (!member(json, strlen(json), "ranks", &ranks) || *ranks.json != '[')
		return -EBADMSG;
	if (member(json, strlen(json), "base_ns", &base) &&
	    fmt_json_integer(base.json, base.len, &base_ns))
		r = hint->base(hint->context, base_ns);
	at = ranks.json;
	end = at + ranks.len;
	while (r == 0 && fmt_json_element(&at, end, &rank.json, &rank.len))
		r = hint_rank(&rank, hint);
	return r;
}
