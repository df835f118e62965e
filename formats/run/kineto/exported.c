/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/exported.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/run/infer/constants.h"
#include "formats/trace/json.h"

#include <xxhash.h>

/* A value within a JSON text. */
struct value {
	const char *json;
	size_t len;
};

struct reading {
	struct kineto_exported *x;
	struct kineto_import *im;
	size_t first;
	const char *why; /* reason if it is invalid; NULL: does not conform to README.md */
};

void kineto_exported_done(struct kineto_exported *x)
{
	free(x->pids);
	fmt_hash_done(&x->table);
}

static struct kineto_rank *last_rank(const struct reading *r)
{
	return r->im->ranks[r->im->n_ranks - 1];
}

/* ---- values ------------------------------------------------------------------------------ */

static int json_member(const struct value *of, const char *key, struct value *ret)
{
	return fmt_json_member(of->json, of->len, key, &ret->json, &ret->len);
}

static bool is_string(const struct value *v)
{
	return v->len >= 2 && v->json[0] == '"';
}

/* Returns the number of a text, given as the JSON between its quotes. */
static int intern_json(const struct reading *r, const char *json, size_t len, uint32_t *ret)
{
	scoped(text_done) struct text t = {0};

	fmt_json_unescape(&t, json, len);
	return t.error ? t.error : fmt_strings_add(&r->im->strings, t.data, t.len, ret);
}

static int read_id(const struct reading *r, const struct value *v, struct kineto_arg *ret)
{
	uint32_t string;
	int e;

	*ret = (struct kineto_arg){.type = FMT_INT};
	if (is_string(v)) {
		e = intern_json(r, v->json + 1, v->len - 2, &string);
		ret->type = FMT_STRING;
		ret->value = string;
		return e;
	}
	if (fmt_json_integer(v->json, v->len, &ret->value))
		return 0;
	ret->type = FMT_JSON; /* missing */
	return v->len == 4 && memcmp(v->json, "null", 4) == 0 ? 0 : -EBADMSG;
}

/* Reads an array of exactly `n` elements. Returns 1, or 0 for anything else. */
static int read_elements(const struct value *list, struct value *ret, size_t n)
{
	const char *at = list->json, *end = at + list->len;
	struct value more;

	for (size_t i = 0; i < n; i++)
		if (!fmt_json_element(&at, end, &ret[i].json, &ret[i].len))
			return 0;
	return !fmt_json_element(&at, end, &more.json, &more.len);
}

/* Calls read() for each element of an array. 0, or the error of a call; -EBADMSG: not an array. */
static int for_each_element(struct reading *r, const struct value *list,
			    int (*read)(struct reading *r, const struct value *v))
{
	const char *at = list->json, *end = at + list->len;
	int e = *at == '[' ? 0 : -EBADMSG;
	struct value v;

	while (e == 0 && fmt_json_element(&at, end, &v.json, &v.len))
		e = read(r, &v);
	return e;
}

/* ---- facts and names --------------------------------------------------------------------- */

static int read_name(struct reading *r, const struct value *v)
{
	struct kineto_name m;
	struct value parts[4];
	int e;

	if (!read_elements(v, parts, 4) || !is_string(&parts[0]))
		return -EBADMSG;
	e = intern_json(r, parts[0].json + 1, parts[0].len - 2, &m.name);
	if (e == 0)
		e = read_id(r, &parts[1], &m.pid);
	if (e == 0)
		e = read_id(r, &parts[2], &m.tid);
	if (e == 0)
		e = fmt_strings_add(&r->im->strings, parts[3].json, parts[3].len, &m.args);
	return e < 0 ? e : kineto_rank_name(last_rank(r), &m);
}

static int read_fact(struct reading *r, uint32_t key, const struct value *v)
{
	const char *name = r->im->strings.strings[key].s;
	uint32_t json;
	int e;

	if (strcmp(name, FMT_CONSTANTS_KEY) == 0 || strcmp(name, FMT_TEMPLATE_GAPS_KEY) == 0)
		return 0; /* measured again */
	r->x->has_facts = true;
	if (strcmp(name, "gputrace.metadata") == 0)
		return for_each_element(r, v, read_name);
	e = fmt_strings_add(&r->im->strings, v->json, v->len, &json);
	return e < 0 ? e : kineto_rank_fact(last_rank(r), key, json);
}

static int read_facts(struct reading *r, const struct value *facts)
{
	const char *at = facts->json, *end = at + facts->len;
	struct value key, v;
	uint32_t number;
	int e = 0;

	while (e == 0 && *facts->json == '{' &&
	       fmt_json_next_member(&at, end, &key.json, &key.len, &v.json, &v.len)) {
		e = intern_json(r, key.json, key.len, &number);
		if (e == 0)
			e = read_fact(r, number, &v);
	}
	return e;
}

/* ---- pids -------------------------------------------------------------------------------- */

static uint32_t hash_of(const struct kineto_arg *a)
{
	int64_t key[2] = {a->type == FMT_INT, a->value};

	return (uint32_t)XXH3_64bits(key, sizeof(key));
}

/* Returns the slot of a pid, or a free slot for it. */
static struct fmt_hash_slot *slot_of(const struct kineto_exported *x, const struct kineto_arg *a)
{
	return fmt_hash_find(&x->table, hash_of(a), i, kineto_same_id(&x->pids[i].shown, a));
}

const struct kineto_exported_pid *kineto_exported_find(const struct kineto_exported *x,
						       const struct kineto_arg *shown)
{
	const struct fmt_hash_slot *slot = slot_of(x, shown);

	return slot->number ? &x->pids[slot->number - 1] : NULL;
}

static int read_pid(struct reading *r, const struct value *v)
{
	struct kineto_exported *x = r->x;
	struct kineto_exported_pid p = {.rank = r->im->n_ranks - 1};
	struct fmt_hash_slot *slot;
	struct value pair[2];
	int e = read_elements(v, pair, 2) ? read_id(r, &pair[0], &p.shown) : -EBADMSG;

	if (e == 0)
		e = read_id(r, &pair[1], &p.real);
	if (e < 0 || p.shown.type == FMT_JSON)
		return e < 0 ? e : -EBADMSG;
	if (fmt_hash_reserve(&x->table) < 0 ||
	    array_reserve(&x->pids, x->n_pids + 1, &x->pids_cap) < 0)
		return -ENOMEM;
	slot = slot_of(x, &p.shown);
	if (slot->number) {
		r->why = "\"gputrace\" lists a pid twice";
		return -EBADMSG;
	}
	fmt_hash_set(&x->table, slot, hash_of(&p.shown), (uint32_t)x->n_pids);
	x->pids[x->n_pids++] = p;
	return 0;
}

/* ---- ranks ------------------------------------------------------------------------------- */

static int read_rank(struct reading *r, const struct value *v)
{
	struct kineto_rank *last = last_rank(r);
	struct value value;
	int64_t number;
	int e = 0;

	if (!fmt_json_member_integer(v->json, v->len, "rank", &number) || number < 0)
		return -EBADMSG;
	if (last->number >= 0 || r->im->n_ranks - r->first > 1 || r->x->n_pids > 0)
		e = kineto_add_rank(r->im, last->path, &last);
	if (e < 0)
		return e;
	last->number = number;
	if (json_member(v, "facts", &value))
		e = read_facts(r, &value);
	if (e == 0 && json_member(v, "pids", &value) && *value.json == '[')
		e = for_each_element(r, &value, read_pid);
	return e;
}

int kineto_exported_read(struct kineto_exported *x, struct kineto_import *im, size_t first,
			 const char *json, size_t len, const char **why)
{
	struct reading r = {.x = x, .im = im, .first = first};
	const struct value all = {json, len};
	struct value ranks;
	int e;

	x->is_present = true;
	x->has_base = fmt_json_member_integer(json, len, "base_ns", &x->base_ns);
	e = json_member(&all, "ranks", &ranks) ? for_each_element(&r, &ranks, read_rank) : -EBADMSG;
	if (e == -EBADMSG)
		*why = r.why ?: "invalid \"gputrace\"";
	return e;
}
