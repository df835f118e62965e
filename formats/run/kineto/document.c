/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/document.h"

#include "base/scope.h"
#include "formats/run/infer/constants.h"
#include "formats/trace/json.h"

#include <yajl/yajl_tree.h>

define_cleanup(tree_freep, yajl_val, yajl_tree_free);

static yajl_val parse(const char *json)
{
	char error[64];

	return yajl_tree_parse(json, error, sizeof(error));
}

static yajl_val member(yajl_val object, const char *key)
{
	const char *path[] = {key, NULL};

	return yajl_tree_get(object, path, yajl_t_any);
}

int kineto_document_string(const char *json, const char *key, char *ret, size_t cap)
{
	scoped(tree_freep) yajl_val tree = parse(json);
	yajl_val v = tree ? member(tree, key) : NULL;

	if (!YAJL_IS_STRING(v))
		return -ENOENT;
	snprintf(ret, cap, "%s", YAJL_GET_STRING(v));
	return 0;
}

int kineto_document_int(const char *json, const char *key, int64_t *ret)
{
	scoped(tree_freep) yajl_val tree = parse(json);
	yajl_val v = tree ? member(tree, key) : NULL;

	if (!YAJL_IS_INTEGER(v))
		return -ENOENT;
	*ret = YAJL_GET_INTEGER(v);
	return 0;
}

static void put(struct text *t, yajl_val v)
{
	if (YAJL_IS_OBJECT(v)) {
		text_char(t, '{');
		for (size_t i = 0; i < v->u.object.len; i++) {
			if (i > 0)
				text_char(t, ',');
			fmt_json_string(t, v->u.object.keys[i], strlen(v->u.object.keys[i]));
			text_char(t, ':');
			put(t, v->u.object.values[i]);
		}
		text_char(t, '}');
	} else if (YAJL_IS_ARRAY(v)) {
		text_char(t, '[');
		for (size_t i = 0; i < v->u.array.len; i++) {
			if (i > 0)
				text_char(t, ',');
			put(t, v->u.array.values[i]);
		}
		text_char(t, ']');
	} else if (YAJL_IS_STRING(v)) {
		fmt_json_string(t, v->u.string, strlen(v->u.string));
	} else if (YAJL_IS_NUMBER(v)) {
		text_str(t, YAJL_GET_NUMBER(v));
	} else {
		text_str(t, YAJL_IS_TRUE(v) ? "true" : YAJL_IS_FALSE(v) ? "false" : "null");
	}
}

/* ---- devices ----------------------------------------------------------------------------- */

static int fill_device(yajl_val v, struct fmt_names *names, struct fmt_device *device)
{
	yajl_val name = member(v, "name");
	struct text t = {0};
	int r = 0;

	put(&t, v);
	if (YAJL_IS_STRING(name))
		r = fmt_names_string(names, name->u.string, strlen(name->u.string), &device->name);
	if (r == 0)
		r = t.error ? t.error : fmt_names_string(names, t.data, t.len, &device->properties);
	text_done(&t);
	return r;
}

int kineto_document_device(const char *json, struct fmt_names *names, struct fmt_device *device)
{
	scoped(tree_freep) yajl_val tree = parse(json);

	for (size_t i = 0; YAJL_IS_ARRAY(tree) && i < tree->u.array.len; i++) {
		yajl_val v = tree->u.array.values[i];
		yajl_val id = YAJL_IS_OBJECT(v) ? member(v, "id") : NULL;

		if (YAJL_IS_INTEGER(id) && YAJL_GET_INTEGER(id) == device->ordinal)
			return fill_device(v, names, device);
	}
	return 0;
}

/* ---- hints ------------------------------------------------------------------------------- */

static int hint_id(yajl_val v, struct kineto_hint_id *ret)
{
	*ret = (struct kineto_hint_id){0};
	if (YAJL_IS_STRING(v))
		ret->text = v->u.string;
	else if (YAJL_IS_INTEGER(v))
		ret->number = YAJL_GET_INTEGER(v);
	else if (YAJL_IS_NULL(v))
		ret->missing = 1;
	else
		return -EBADMSG;
	return 0;
}

static int hint_name(yajl_val v, const struct kineto_hint *hint)
{
	struct kineto_hint_id pid, tid;
	struct text args = {0};
	int r;

	if (!YAJL_IS_ARRAY(v) || v->u.array.len != 4 || !YAJL_IS_STRING(v->u.array.values[0]) ||
	    hint_id(v->u.array.values[1], &pid) < 0 || hint_id(v->u.array.values[2], &tid) < 0)
		return -EBADMSG;
	put(&args, v->u.array.values[3]);
	r = args.error ? args.error
		       : hint->name(hint->context, v->u.array.values[0]->u.string, &pid, &tid,
				    args.data, args.len);
	text_done(&args);
	return r;
}

static int hint_names(yajl_val list, const struct kineto_hint *hint)
{
	int r = YAJL_IS_ARRAY(list) ? 0 : -EBADMSG;

	for (size_t i = 0; r == 0 && i < list->u.array.len; i++)
		r = hint_name(list->u.array.values[i], hint);
	return r;
}

static int hint_fact(const char *key, yajl_val v, const struct kineto_hint *hint)
{
	struct text t = {0};
	int r;

	if (strcmp(key, "gputrace.metadata") == 0)
		return hint_names(v, hint);
	if (strcmp(key, FMT_CONSTANTS_KEY) == 0 || strcmp(key, FMT_TEMPLATE_GAPS_KEY) == 0)
		return 0; /* measured again */
	put(&t, v);
	r = t.error ? t.error : hint->fact(hint->context, key, t.data, t.len);
	text_done(&t);
	return r;
}

static int hint_facts(yajl_val facts, const struct kineto_hint *hint)
{
	int r = 0;

	for (size_t i = 0; YAJL_IS_OBJECT(facts) && i < facts->u.object.len && r == 0; i++)
		r = hint_fact(facts->u.object.keys[i], facts->u.object.values[i], hint);
	return r;
}

static int hint_pid(yajl_val pair, const struct kineto_hint *hint)
{
	struct kineto_hint_id shown, real;

	if (!YAJL_IS_ARRAY(pair) || pair->u.array.len != 2 ||
	    hint_id(pair->u.array.values[0], &shown) < 0 ||
	    hint_id(pair->u.array.values[1], &real) < 0 || shown.missing)
		return -EBADMSG;
	return hint->pid(hint->context, &shown, &real);
}

static int hint_rank(yajl_val v, const struct kineto_hint *hint)
{
	yajl_val number = YAJL_IS_OBJECT(v) ? member(v, "rank") : NULL;
	yajl_val pids = YAJL_IS_OBJECT(v) ? member(v, "pids") : NULL;
	int r;

	if (!YAJL_IS_INTEGER(number) || YAJL_GET_INTEGER(number) < 0)
		return -EBADMSG;
	r = hint->rank(hint->context, YAJL_GET_INTEGER(number));
	if (r == 0)
		r = hint_facts(member(v, "facts"), hint);
	for (size_t i = 0; YAJL_IS_ARRAY(pids) && i < pids->u.array.len && r == 0; i++)
		r = hint_pid(pids->u.array.values[i], hint);
	return r;
}

int kineto_document_hint(const char *json, const struct kineto_hint *hint)
{
	scoped(tree_freep) yajl_val tree = parse(json);
	yajl_val ranks = tree && YAJL_IS_OBJECT(tree) ? member(tree, "ranks") : NULL;
	yajl_val base = tree && YAJL_IS_OBJECT(tree) ? member(tree, "base_ns") : NULL;
	int r = YAJL_IS_ARRAY(ranks) ? 0 : -EBADMSG;

	if (r == 0 && YAJL_IS_INTEGER(base))
		r = hint->base(hint->context, YAJL_GET_INTEGER(base));
	for (size_t i = 0; r == 0 && i < ranks->u.array.len; i++)
		r = hint_rank(ranks->u.array.values[i], hint);
	return r;
}
