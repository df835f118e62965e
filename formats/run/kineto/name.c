/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/name.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/split.h"
#include "formats/trace/json.h"

int kineto_naming_init(struct kineto_naming *t, struct fmt_names *names,
		       struct kineto_templates *templates)
{
	*t = (struct kineto_naming){
		.names = names, .templates = templates, .n_strings = templates->strings->n};
	t->string_of = calloc(t->n_strings + 1, sizeof(*t->string_of));
	return t->string_of ? 0 : -ENOMEM;
}

void kineto_naming_done(struct kineto_naming *t)
{
	free(t->string_of);
	t->string_of = NULL;
}

static int name_string(struct kineto_naming *t, uint32_t string, fmt_str *ret)
{
	const struct fmt_interned *s = &t->templates->strings->strings[string];
	int r;

	if (string >= t->n_strings)
		return fmt_names_string(t->names, s->s, s->len, ret);
	if (!t->string_of[string]) {
		r = fmt_names_string(t->names, s->s, s->len, ret);
		if (r < 0)
			return r;
		t->string_of[string] = *ret + 1;
	}
	*ret = t->string_of[string] - 1;
	return 0;
}

/* A value in the trace's numbers. */
static int name_value(struct kineto_naming *t, uint8_t type, int64_t value, int64_t *ret)
{
	fmt_str s;
	int r;

	if (type != FMT_STRING && type != FMT_JSON) {
		*ret = value;
		return 0;
	}
	r = name_string(t, (uint32_t)value, &s);
	*ret = s;
	return r;
}

static int put_arg(struct kineto_naming *t, const char *key, uint8_t type, int varies,
		   int64_t value, struct fmt_arg *ret)
{
	*ret = (struct fmt_arg){.type = type, .varies = (uint8_t)varies, .value = value};
	return fmt_names_string(t->names, key, strlen(key), &ret->key);
}

/* Adds the first arguments of a collective: see enum fmt_collective_arg. */
static int put_collective(struct kineto_naming *t, const struct kineto_template *s,
			  struct fmt_arg *args)
{
	fmt_str op, dtype;
	int r = name_string(t, s->op, &op);

	if (r == 0)
		r = name_string(t, s->dtype, &dtype);
	if (r == 0)
		r = put_arg(t, FMT_KEY_COMM, FMT_INT, 1, 0, &args[FMT_COLLECTIVE_COMM]);
	if (r == 0)
		r = put_arg(t, FMT_KEY_SEQ, FMT_INT, 1, 0, &args[FMT_COLLECTIVE_SEQ]);
	if (r == 0)
		r = put_arg(t, FMT_KEY_OP, FMT_STRING, 0, op, &args[FMT_COLLECTIVE_OP]);
	if (r == 0)
		r = put_arg(t, FMT_KEY_DTYPE, FMT_STRING, 0, dtype, &args[FMT_COLLECTIVE_DTYPE]);
	if (r == 0)
		r = put_arg(t, FMT_KEY_BYTES, FMT_INT, 0, s->message_bytes,
			    &args[FMT_COLLECTIVE_BYTES]);
	return r;
}

static int name_template(struct kineto_naming *t, struct kineto_template *s)
{
	const struct kineto_slot_arg *from = kineto_template_args(t->templates, s);
	struct fmt_arg args[FMT_COLLECTIVE_ARGS + 256];
	uint32_t n = s->kind == FMT_COLLECTIVE ? FMT_COLLECTIVE_ARGS : 0;
	struct fmt_template template = {.kind = s->kind, .n_args = n + s->n_args, .args = args};
	int r = name_string(t, s->name, &template.name);

	if (r == 0)
		r = name_string(t, s->cat, &template.category);
	if (r == 0 && n > 0)
		r = put_collective(t, s, args);
	for (uint32_t i = 0; i < s->n_args && r == 0; i++) {
		struct fmt_arg *a = &args[n + i];

		*a = (struct fmt_arg){.type = from[i].type,
				      .varies = from[i].varies || from[i].moved};
		r = name_string(t, from[i].key, &a->key);
		if (r == 0 && !a->varies)
			r = name_value(t, from[i].type, from[i].value, &a->value);
	}
	if (r == 0)
		r = fmt_names_template(t->names, &template, &s->fmt);
	s->fmt += r == 0;
	return r;
}

/* The values of an event of which some were constants of the importer's template, or are strings.
 */
static int convert_values(struct kineto_naming *t, const struct kineto_template *s,
			  const int64_t *from, int64_t *to)
{
	const struct kineto_slot_arg *args = kineto_template_args(t->templates, s);

	for (uint32_t i = 0; i < s->n_args; i++) {
		int r;

		if (!args[i].varies && !args[i].moved)
			continue;
		r = name_value(t, args[i].type, args[i].varies ? *from++ : args[i].value, to++);
		if (r < 0)
			return r;
	}
	return 0;
}

int kineto_name_event(struct kineto_naming *t, struct fmt_event *e, const int64_t *from,
		      int64_t **values, size_t *n, size_t *cap)
{
	struct kineto_template *s = &t->templates->templates[e->template];
	size_t first = *n, most = FMT_COLLECTIVE_ARGS + s->n_args;
	int r = s->fmt ? 0 : name_template(t, s);

	if (r < 0)
		return r;
	if (first + most > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(values, first + most, cap) < 0)
		return -ENOMEM;
	if (s->kind == FMT_COLLECTIVE) {
		(*values)[(*n)++] = -1;
		(*values)[(*n)++] = 0;
	}
	if (s->converts) {
		r = convert_values(t, s, from, *values + *n);
		*n += fmt_template(t->names, s->fmt - 1)->n_values - (*n - first);
	} else {
		for (uint32_t i = 0; i < s->n_varying; i++)
			(*values)[(*n)++] = from[i];
	}
	e->template = s->fmt - 1;
	e->first_value = (uint32_t)first;
	return r;
}

/* ---- ranks ------------------------------------------------------------------------------- */

static void put_id(struct text *t, const struct fmt_strings *strings, const struct kineto_arg *a)
{
	if (a->type == FMT_INT)
		text_i64(t, a->value);
	else if (a->type == FMT_STRING)
		fmt_json_string(t, strings->strings[a->value].s, strings->strings[a->value].len);
	else
		text_str(t, "null");
}

/* Stores the recorded names of processes and threads: [[name, pid, tid, args], ...]. */
static int name_metadata(struct kineto_naming *t, const struct kineto_rank *k, uint32_t rank)
{
	const struct fmt_strings *strings = t->templates->strings;
	scoped(text_done) struct text json = {0};

	text_char(&json, '[');
	for (size_t i = 0; i < k->n_names; i++) {
		const struct kineto_name *m = &k->names[i];

		text_str(&json, i ? ",[" : "[");
		fmt_json_string(&json, strings->strings[m->name].s, strings->strings[m->name].len);
		text_char(&json, ',');
		put_id(&json, strings, &m->pid);
		text_char(&json, ',');
		put_id(&json, strings, &m->tid);
		text_char(&json, ',');
		text_bytes(&json, strings->strings[m->args].s, strings->strings[m->args].len);
		text_char(&json, ']');
	}
	text_char(&json, ']');
	return fmt_names_fact_text(t->names, rank, "gputrace.metadata", &json);
}

/* Stores the string member `key` of a JSON object; 0 (the empty string) if the object has no such
 * member. 0 or -ENOMEM. */
static int name_member(struct kineto_naming *t, const char *json, size_t len, const char *key,
		       fmt_str *ret)
{
	scoped(text_done) struct text name = {0};
	size_t n = fmt_json_member_text(json, len, key, &json);

	*ret = 0;
	if (n == 0)
		return 0;
	fmt_json_unescape(&name, json, n);
	return name.error ? name.error : fmt_names_string(t->names, name.data, name.len, ret);
}

/* The last "thread_name" of the track. */
static int track_name(struct kineto_naming *t, const struct kineto_rank *k,
		      const struct kineto_track *l, fmt_str *ret)
{
	*ret = 0;
	for (size_t i = k->n_names; i-- > 0;) {
		const struct kineto_name *m = &k->names[i];
		const struct fmt_interned *args = &t->templates->strings->strings[m->args];

		if (m->name == KINETO_THREAD_NAME && kineto_same_id(&m->pid, &l->pid) &&
		    kineto_same_id(&m->tid, &l->tid))
			return name_member(t, args->s, args->len, "name", ret);
	}
	return 0;
}

static int name_track(struct kineto_naming *t, const struct kineto_rank *k, uint32_t rank,
		      const struct kineto_track *l)
{
	struct fmt_track track = {.kind = (uint8_t)l->kind};
	uint32_t number;
	int r = track_name(t, k, l, &track.name);

	if (l->pid.type == FMT_INT) {
		track.pid = l->pid.value;
	} else if (r == 0) {
		track.text_ids |= 1;
		r = name_string(t, (uint32_t)l->pid.value, &track.pid_text);
	}
	if (l->tid.type == FMT_INT) {
		track.tid = l->tid.value;
	} else if (r == 0) {
		track.text_ids |= 2;
		r = name_string(t, (uint32_t)l->tid.value, &track.tid_text);
	}
	return r < 0 ? r : fmt_names_track(t->names, rank, &track, &number);
}

struct device {
	int64_t ordinal;
	uint64_t ops;
};

static int by_ops(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	return array_order(y->ops, x->ops) ?: array_order(x->ordinal, y->ordinal);
}

/* Lists the devices that the rank used, the busiest first. */
static size_t devices_of(const struct kineto_rank *k, const struct fmt_strings *strings,
			 struct device *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n_tracks; i++) {
		const struct kineto_track *l = &k->tracks[i];
		size_t at = 0;

		int64_t ordinal = kineto_device_ordinal(strings, &l->pid);

		if (l->kind != FMT_STREAM || ordinal < 0 || l->ops == 0)
			continue;
		/* Tracks are in the order of their devices. */
		at = n > 0 && ret[n - 1].ordinal == ordinal ? n - 1 : n;
		if (at == n)
			ret[n++] = (struct device){.ordinal = ordinal};
		ret[at].ops += l->ops;
	}
	qsort(ret, n, sizeof(*ret), by_ops);
	return n;
}

/* Sets name and properties of a device, if the list of all devices contains it. */
static int describe_device(struct kineto_naming *t, const struct fmt_interned *list,
			   struct fmt_device *device)
{
	const char *at = list->s, *end = at + list->len, *json;
	int64_t ordinal;
	size_t len;
	int r;

	while (fmt_json_element(&at, end, &json, &len)) {
		if (!fmt_json_member_integer(json, len, "id", &ordinal) ||
		    ordinal != device->ordinal)
			continue;
		r = name_member(t, json, len, "name", &device->name);
		return r < 0 ? r : fmt_names_string(t->names, json, len, &device->properties);
	}
	return 0;
}

static int name_devices(struct kineto_naming *t, const struct kineto_rank *k, uint32_t rank)
{
	scoped(free_ptr) struct device *devices = malloc((k->n_tracks + 1) * sizeof(*devices));
	size_t n = devices ? devices_of(k, t->templates->strings, devices) : 0;
	const struct fmt_interned *list = NULL;

	if (!devices)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_facts; i++) {
		if (fmt_strings_is(t->templates->strings, k->facts[i].key, "deviceProperties", 16))
			list = &t->templates->strings->strings[k->facts[i].json];
	}
	for (size_t i = 0; i < n; i++) {
		struct fmt_device device = {.ordinal = devices[i].ordinal};
		int r = list ? describe_device(t, list, &device) : 0;

		if (r == 0)
			r = fmt_names_device(t->names, rank, &device);
		if (r < 0)
			return r;
	}
	return 0;
}

int kineto_name_rank(struct kineto_naming *t, const struct kineto_rank *k, uint32_t rank)
{
	int r = 0;

	for (size_t i = 0; i < k->n_tracks && r == 0; i++)
		r = name_track(t, k, rank, &k->tracks[i]);
	if (r == 0)
		r = name_devices(t, k, rank);
	for (size_t i = 0; i < k->n_facts && r == 0; i++) {
		fmt_str value;

		r = name_string(t, k->facts[i].json, &value);
		if (r == 0)
			r = fmt_names_fact(t->names, rank,
					   t->templates->strings->strings[k->facts[i].key].s,
					   value);
	}
	return r == 0 && k->n_names > 0 ? name_metadata(t, k, rank) : r;
}

int kineto_name_groups(struct kineto_naming *t, struct fmt_run_group *groups, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = name_string(t, groups[i].name, &groups[i].name);
		if (r == 0)
			r = name_string(t, groups[i].ranks, &groups[i].ranks);
		if (r == 0)
			r = name_string(t, groups[i].description, &groups[i].description);
	}
	return r;
}
