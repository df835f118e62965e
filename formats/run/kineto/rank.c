/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/rank.h"

#include "base/array.h"
#include "formats/run/kineto/collective.h"
#include "formats/trace/json.h"
#include "formats/trace/value.h"

#include <stdbool.h>
#include <xxhash.h>

#define MAX_ARGS 256
#define MAX_NOTES (1u << 20) /* per kind; later ones are ignored */

void kineto_rank_init(struct kineto_rank *k, struct kineto_import *im, const char *path)
{
	*k = (struct kineto_rank){.path = path, .number = -1, .ordinal = -1};
	k->first_ns = INT64_MAX;
	k->last_ns = INT64_MIN;
	kineto_spool_init(&k->spool, &im->spill, &im->templates);
}

int kineto_add_rank(struct kineto_import *im, const char *path, struct kineto_rank **ret)
{
	struct kineto_rank *k = malloc(sizeof(*k));

	if (!k || array_reserve(&im->ranks, im->n_ranks + 1, &im->ranks_cap) < 0) {
		free(k);
		return -ENOMEM;
	}
	kineto_rank_init(k, im, path);
	im->ranks[im->n_ranks++] = *ret = k;
	return 0;
}

void kineto_rank_done(struct kineto_rank *k)
{
	free(k->tracks);
	fmt_hash_done(&k->track_table);
	free(k->events);
	free(k->values);
	kineto_spool_done(&k->spool);
	free(k->facts);
	free(k->names);
	for (size_t i = 0; i < KINETO_ROLES; i++)
		free(k->notes[i].notes);
	free(k->groups);
	kineto_tally_done(&k->tally);
	free(k->track_here);
	free(k->call_of);
	free(k->track_of);
	memset(k, 0, sizeof(*k));
}

const struct kineto_spool *kineto_rank_ranges(const struct kineto_rank *k)
{
	return k->ranges ?: &k->spool;
}

int kineto_rank_has_range(const struct kineto_rank *k, struct fmt_event *e)
{
	if (k->track_here)
		e->track = k->track_here[e->track];
	return e->track != UINT32_MAX;
}

int kineto_rank_fact(struct kineto_rank *k, uint32_t key, uint32_t json)
{
	size_t i = 0;

	while (i < k->n_facts && k->facts[i].key != key)
		i++;
	if (array_reserve(&k->facts, i + 1, &k->facts_cap) < 0)
		return -ENOMEM;
	k->facts[i] = (struct kineto_fact){key, json};
	k->n_facts += i == k->n_facts;
	return 0;
}

int kineto_rank_name(struct kineto_rank *k, const struct kineto_name *name)
{
	if (array_reserve(&k->names, k->n_names + 1, &k->names_cap) < 0)
		return -ENOMEM;
	k->names[k->n_names++] = *name;
	return 0;
}

/* ---- tracks ------------------------------------------------------------------------------- */

static bool is_track(const struct kineto_track *t, const struct kineto_event *e,
		     enum fmt_track_kind kind)
{
	return t->kind == kind && kineto_same_id(&t->pid, &e->pid) &&
	       kineto_same_id(&t->tid, &e->tid);
}

static int track_of(struct kineto_rank *k, const struct kineto_event *e, enum fmt_track_kind kind,
		    uint32_t *ret)
{
	uint64_t key[3] = {(uint64_t)e->pid.value, (uint64_t)e->tid.value,
			   (uint64_t)kind | (e->pid.type == FMT_INT ? 2 : 0) |
				   (e->tid.type == FMT_INT ? 4 : 0)};
	uint32_t hash = (uint32_t)XXH3_64bits(key, sizeof(key));
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&k->track_table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&k->track_table, hash, i, is_track(&k->tracks[i], e, kind));
	if (!slot->number) {
		if (k->n_tracks >= UINT32_MAX - 2)
			return -EOVERFLOW;
		if (array_reserve(&k->tracks, k->n_tracks + 1, &k->tracks_cap) < 0)
			return -ENOMEM;
		k->tracks[k->n_tracks] =
			(struct kineto_track){.kind = kind, .pid = e->pid, .tid = e->tid};
		fmt_hash_set(&k->track_table, slot, hash, (uint32_t)k->n_tracks++);
	}
	*ret = slot->number - 1;
	return 0;
}

/* ---- kinds of events --------------------------------------------------------------------- */

static bool ends_with(const struct fmt_interned *s, const char *end)
{
	size_t n = strlen(end);

	return s->len >= n && memcmp(s->s + s->len - n, end, n) == 0;
}

/* By category, plus 1; 0: determined by the end of its text. */
static const uint8_t classes[KINETO_KNOWN] = {
	[KINETO_CAT_RUNTIME] = 1 + KINETO_CALL,
	[KINETO_CAT_RUNTIME_OLD] = 1 + KINETO_CALL,
	[KINETO_CAT_DRIVER] = 1 + KINETO_CALL,
	[KINETO_CAT_KERNEL] = 1 + KINETO_GPU_KERNEL,
	[KINETO_CAT_KERNEL_OLD] = 1 + KINETO_GPU_KERNEL,
	[KINETO_CAT_GRAPH] = 1 + KINETO_GPU_KERNEL,
	[KINETO_CAT_HOST_FUNCTION] = 1 + KINETO_GPU_KERNEL,
	[KINETO_CAT_MEMCPY] = 1 + KINETO_GPU_MEMCPY,
	[KINETO_CAT_MEMCPY_OLD] = 1 + KINETO_GPU_MEMCPY,
	[KINETO_CAT_MEMSET] = 1 + KINETO_GPU_MEMSET,
	[KINETO_CAT_MEMSET_OLD] = 1 + KINETO_GPU_MEMSET,
	[KINETO_CAT_SYNC] = 1 + KINETO_GPU_SYNC,
	[KINETO_CAT_GPU_ANNOTATION] = 1 + KINETO_GPU_RANGE,
	[KINETO_CAT_ANNOTATION] = 1 + KINETO_RANGE,
	[KINETO_CAT_OP] = 1 + KINETO_RANGE,
	[KINETO_CAT_PYTHON] = 1 + KINETO_RANGE,
};

static enum kineto_class class_of(const struct kineto_templates *templates,
				  const struct kineto_event *e)
{
	const struct fmt_interned *cat = &templates->strings->strings[e->cat];

	if (e->ph != KINETO_COMPLETE)
		return KINETO_MARK;
	if (e->cat < KINETO_KNOWN && classes[e->cat])
		return (enum kineto_class)(classes[e->cat] - 1);
	return ends_with(cat, "_runtime") || ends_with(cat, "_driver") ? KINETO_CALL : KINETO_RANGE;
}

static bool is_stream(enum kineto_class class)
{
	return class >= KINETO_GPU_KERNEL && class <= KINETO_GPU_RANGE;
}

static bool is_numbered(enum kineto_class class)
{
	return class <= KINETO_GPU_SYNC;
}

/* ---- arguments --------------------------------------------------------------------------- */

struct arguments {
	struct kineto_slot_arg args[MAX_ARGS];
	int64_t values[MAX_ARGS + 2];
	size_t n, n_values;
};

/* The key with `dots` dots before it. */
static int dotted_key(struct kineto_templates *templates, uint32_t key, uint32_t *ret)
{
	const struct fmt_interned *s = &templates->strings->strings[key];
	char buf[256];
	size_t n = s->len < sizeof(buf) - 1 ? s->len : sizeof(buf) - 1;

	buf[0] = '.';
	memcpy(buf + 1, s->s, n);
	return fmt_strings_add(templates->strings, buf, n + 1, ret);
}

/* Returns true if `a` is "bytes" divided by the duration plus some nanoseconds, and sets these. */
static bool is_rate(const struct kineto_templates *templates, const struct kineto_event *e,
		    const struct kineto_arg *a, int64_t *ret)
{
	char given[FMT_RATE_TEXT], made[FMT_RATE_TEXT];
	const char *text = given;
	int64_t bytes = -1;
	double rate, ns;

	for (size_t i = 0; i < e->n_args; i++) {
		if (e->args[i].key == KINETO_BYTES && e->args[i].type == FMT_INT)
			bytes = e->args[i].value;
	}
	if (a->type == FMT_INT)
		snprintf(given, sizeof(given), "%lld", (long long)a->value);
	else
		text = templates->strings->strings[a->value].s;
	rate = strtod(text, NULL);
	ns = rate > 0 ? (double)bytes / rate : 0;
	if (bytes <= 0 || !(ns >= 1) || ns > 1e15)
		return false;
	*ret = (int64_t)(ns + 0.5);
	fmt_rate_text(bytes, *ret, made);
	*ret -= e->dur_ns;
	return strcmp(made, text) == 0;
}

/* Returns true if the argument describes a collective: then it is kept in the template, even if
 * arguments of this key vary. */
static bool describes_collective(const struct kineto_templates *templates,
				 const struct kineto_event *e, uint32_t key)
{
	const char *name = templates->strings->strings[e->name].s;

	return key >= KINETO_COLLECTIVE_NAME && key <= KINETO_INPUT_TYPE &&
	       (kineto_is_collective_range(name) || kineto_is_collective(name));
}

static void add_argument(struct arguments *a, const struct kineto_templates *templates,
			 const struct kineto_event *e, uint32_t key, uint8_t type, int64_t value)
{
	bool varies = kineto_templates_is_varying(templates, e->cat, key, type) &&
		      !describes_collective(templates, e, key);

	a->args[a->n++] = (struct kineto_slot_arg){
		.key = key, .type = type, .varies = (uint8_t)varies, .value = varies ? 0 : value};
	if (varies)
		a->values[a->n_values++] = value;
}

static int add_others(struct arguments *a, struct kineto_templates *templates,
		      const struct kineto_event *e)
{
	uint32_t key;
	int r;

	if (e->ph != KINETO_COMPLETE && e->ph != KINETO_INSTANT) {
		r = dotted_key(templates, KINETO_PH, &key);
		if (r < 0)
			return r;
		add_argument(a, templates, e, key, FMT_STRING, e->ph);
	}
	for (size_t i = 0; i < e->n_others; i++) {
		r = dotted_key(templates, e->others[i].key, &key);
		if (r < 0)
			return r;
		add_argument(a, templates, e, key, (uint8_t)e->others[i].type, e->others[i].value);
	}
	return 0;
}

static bool is_ours(const struct fmt_interned *key)
{
	return key->len > 9 && memcmp(key->s, "gputrace ", 9) == 0;
}

static int add_args(struct arguments *a, struct kineto_templates *templates,
		    const struct kineto_event *e, bool numbered, uint64_t correlation)
{
	for (size_t i = 0; i < e->n_args; i++) {
		const struct kineto_arg *v = &e->args[i];
		uint32_t key = v->key;
		int64_t rest;

		if (numbered && v->type == FMT_INT && correlation > 0 &&
		    (key == KINETO_CORRELATION || key == KINETO_EXTERNAL_ID) &&
		    (uint64_t)v->value == correlation) {
			add_argument(a, templates, e, key, FMT_CORRELATION, 0);
			continue;
		}
		if (key == KINETO_BANDWIDTH && v->type != FMT_STRING &&
		    is_rate(templates, e, v, &rest)) {
			add_argument(a, templates, e, key, FMT_RATE, rest);
			continue;
		}
		if (key >= KINETO_KNOWN && templates->strings->strings[key].s[0] == '.') {
			int r = dotted_key(templates, key, &key);

			if (r < 0)
				return r;
		} else if (key >= KINETO_KNOWN && is_ours(&templates->strings->strings[key])) {
			continue;
		}
		add_argument(a, templates, e, key, (uint8_t)v->type, v->value);
	}
	return 0;
}

/* Returns the correlation, for classes that have one; else 0. */
static uint64_t correlation_of(const struct kineto_event *e)
{
	for (size_t i = 0; i < e->n_args; i++) {
		if (e->args[i].key == KINETO_CORRELATION && e->args[i].type == FMT_INT)
			return e->args[i].value > 0 ? (uint64_t)e->args[i].value : 0;
	}
	return 0;
}

/* ---- keeping ----------------------------------------------------------------------------- */

/* Returns the varying argument of that key, if it is an integer; else -1. */
static int64_t varying_integer(const struct arguments *a, uint32_t key)
{
	size_t at = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->args[i].varies && a->args[i].key == key && a->args[i].type == FMT_INT)
			return a->values[at];
		at += a->args[i].varies;
	}
	return -1;
}

static int note_range(struct kineto_rank *k, const struct kineto_template *s,
		      const struct fmt_event *f, const struct arguments *a)
{
	struct kineto_notes *list = &k->notes[s->role];

	if (s->role == KINETO_NUMBERED && list->n >= MAX_NOTES)
		return 0;
	if (array_reserve(&list->notes, list->n + 1, &list->cap) < 0)
		return -ENOMEM;
	list->notes[list->n++] = (struct kineto_note){f->start_ns, f->duration_ns, f->track,
						      f->template, varying_integer(a, KINETO_SEQ)};
	return 0;
}

static int keep_numbered(struct kineto_rank *k, const struct fmt_event *f,
			 const struct arguments *a)
{
	if (k->n_events >= UINT32_MAX || k->n_values + a->n_values > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&k->events, k->n_events + 1, &k->events_cap) < 0 ||
	    array_reserve(&k->values, k->n_values + a->n_values + 2, &k->values_cap) < 0)
		return -ENOMEM;
	k->events[k->n_events] = *f;
	k->events[k->n_events++].first_value = (uint32_t)k->n_values;
	memcpy(k->values + k->n_values, a->values, a->n_values * sizeof(*a->values));
	k->n_values += a->n_values;
	return 0;
}

static int keep_event(struct kineto_rank *k, struct kineto_templates *templates,
		      const struct kineto_event *e, enum kineto_disposition *disposition)
{
	enum kineto_class class = class_of(templates, e);
	bool numbered = is_numbered(class);
	struct fmt_event f = {.start_ns = e->ts_ns, .duration_ns = e->dur_ns};
	const struct kineto_template *s;
	struct arguments a;
	int r;

	a.n = a.n_values = 0;
	f.correlation = numbered ? correlation_of(e) : 0;
	r = track_of(k, e, is_stream(class) ? FMT_STREAM : FMT_THREAD, &f.track);
	if (r == 0)
		r = add_others(&a, templates, e);
	if (r == 0)
		r = add_args(&a, templates, e, numbered, f.correlation);
	if (r == 0)
		r = kineto_templates_add(templates, class, e->cat, e->name, a.args, a.n,
					 &f.template);
	if (r < 0)
		return r;
	s = &templates->templates[f.template];
	*disposition = (enum kineto_disposition)s->kind;
	if (numbered) {
		k->tracks[f.track].ops += FMT_IS_OP(s->kind);
		return keep_numbered(k, &f, &a);
	}
	if (s->role != KINETO_NO_ROLE) {
		r = note_range(k, s, &f, &a);
		if (r < 0)
			return r;
	}
	return kineto_spool_add(&k->spool, &f, a.values);
}

/* ---- names ------------------------------------------------------------------------------- */

static void put_arg(struct text *t, const struct fmt_strings *strings, const struct kineto_arg *a)
{
	const struct fmt_interned *s = &strings->strings[a->type == FMT_INT ? 0 : a->value];

	if (a->type == FMT_INT)
		text_i64(t, a->value);
	else if (a->type == FMT_JSON)
		text_bytes(t, s->s, s->len);
	else
		fmt_json_string(t, s->s, s->len);
}

static int keep_name(struct kineto_rank *k, struct fmt_strings *strings,
		     const struct kineto_event *e)
{
	struct kineto_name m = {.name = e->name, .pid = e->pid, .tid = e->tid};
	struct text t = {0};
	int r;

	text_char(&t, '{');
	for (size_t i = 0; i < e->n_args; i++) {
		const struct fmt_interned *key = &strings->strings[e->args[i].key];

		if (i > 0)
			text_char(&t, ',');
		fmt_json_string(&t, key->s, key->len);
		text_char(&t, ':');
		put_arg(&t, strings, &e->args[i]);
	}
	text_char(&t, '}');
	r = t.error ? t.error : fmt_strings_add(strings, t.data, t.len, &m.args);
	text_done(&t);
	return r < 0 ? r : kineto_rank_name(k, &m);
}

static bool is_flow(const struct kineto_event *e)
{
	return e->ph == KINETO_FLOW_START || e->ph == KINETO_FLOW_STEP || e->ph == KINETO_FLOW_END;
}

/* The reason to skip an event; KINETO_DISPOSITIONS: keep it. */
static enum kineto_disposition skip_reason(const struct kineto_event *e)
{
	if (e->ph == KINETO_EMPTY)
		return KINETO_NO_PHASE;
	if (is_flow(e) && e->cat >= KINETO_CAT_LAUNCH && e->cat <= KINETO_CAT_LAUNCH_OLDEST)
		return KINETO_FLOW_LAUNCH;
	if (is_flow(e) && (e->cat == KINETO_CAT_AUTOGRAD || e->cat == KINETO_CAT_AUTOGRAD_OLD))
		return KINETO_FLOW_AUTOGRAD;
	if (e->has_ts == KINETO_MISSING)
		return KINETO_NO_TIME;
	if (e->has_ts == KINETO_INVALID || e->has_dur == KINETO_INVALID)
		return KINETO_BAD_TIME;
	if (e->dur_ns < 0)
		return KINETO_NEGATIVE;
	return e->n_args + e->n_others >= 250 ? KINETO_MANY_ARGS : KINETO_DISPOSITIONS;
}

/* Differences of such times, and their sums with a duration, fit 64 bits. */
static bool is_near(int64_t ns)
{
	return ns > -(INT64_C(1) << 62) && ns < INT64_C(1) << 62;
}

int kineto_rank_event(struct kineto_rank *k, struct kineto_templates *templates,
		      const struct kineto_event *e, enum kineto_disposition *disposition)
{
	int64_t end;

	if (e->ph == KINETO_METADATA) {
		*disposition = KINETO_KEPT_NAME;
		return keep_name(k, templates->strings, e);
	}
	*disposition = skip_reason(e);
	if (*disposition != KINETO_DISPOSITIONS)
		return 0;
	if (!is_near(e->ts_ns) || !is_near(e->dur_ns)) {
		*disposition = KINETO_BAD_TIME;
		return 0;
	}
	end = e->ts_ns + e->dur_ns;
	k->tally.no_duration += e->ph == KINETO_COMPLETE && e->has_dur == KINETO_MISSING;
	k->tally.rounded += (uint64_t)e->rounded;
	k->first_ns = e->ts_ns < k->first_ns ? e->ts_ns : k->first_ns;
	k->last_ns = end > k->last_ns ? end : k->last_ns;
	return keep_event(k, templates, e, disposition);
}

int kineto_rank_end(struct kineto_rank *k)
{
	int64_t by = k->base_ns;

	if (k->first_ns > k->last_ns)
		return kineto_spool_end(&k->spool);
	if (!is_near(by))
		return -ERANGE;
	k->first_ns += by;
	k->last_ns += by;
	if (!is_near(k->first_ns) || !is_near(k->last_ns))
		return -ERANGE;
	for (size_t i = 0; i < k->n_events; i++)
		k->events[i].start_ns += by;
	for (size_t role = 0; role < KINETO_ROLES; role++)
		for (size_t i = 0; i < k->notes[role].n; i++)
			k->notes[role].notes[i].start_ns += by;
	return kineto_spool_end(&k->spool);
}
