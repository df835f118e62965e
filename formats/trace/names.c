/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/names.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/names_impl.h"

#include <xxhash.h>

/* ---- creation and release ---- */

int fmt_names_new(struct fmt_names **ret)
{
	scoped(fmt_names_freep) struct fmt_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	if (fmt_strings_init(&n->strings) < 0)
		return -ENOMEM;
	*ret = take(n);
	return 0;
}

static void free_facts(struct fmt_name_facts *f)
{
	free(f->facts);
	fmt_hash_done(&f->table);
}

void fmt_names_free(struct fmt_names *n)
{
	if (!n)
		return;
	arena_done(&n->arena);
	for (uint32_t i = 0; i < n->n_ranks; i++) {
		free(n->ranks[i].tracks);
		fmt_hash_done(&n->ranks[i].track_table);
		free(n->ranks[i].devices);
		free_facts(&n->ranks[i].facts);
	}
	free(n->ranks);
	free_facts(&n->trace_facts);
	fmt_strings_done(&n->strings);
	free(n->templates);
	fmt_hash_done(&n->template_table);
	free(n->comms);
	fmt_hash_done(&n->comm_table);
	free(n->rules);
	free(n);
}

/* ---- strings ---- */

int fmt_names_string(struct fmt_names *n, const char *s, size_t len, fmt_str *ret)
{
	return fmt_strings_add(&n->strings, s, len, ret);
}

const char *fmt_string(const struct fmt_names *n, fmt_str s, size_t *len)
{
	const struct fmt_interned *string = &n->strings.strings[s < n->strings.n ? s : 0];

	if (len)
		*len = string->len;
	return string->s;
}

uint32_t fmt_n_strings(const struct fmt_names *n)
{
	return (uint32_t)n->strings.n;
}

static fmt_str find_string(const struct fmt_names *n, const char *s)
{
	return fmt_strings_find(&n->strings, s, strlen(s));
}

/* ---- templates ---- */

static int same_template(const struct fmt_template *x, const struct fmt_template *y)
{
	if (x->kind != y->kind || x->n_args != y->n_args || x->name != y->name ||
	    x->category != y->category)
		return 0;
	for (uint32_t i = 0; i < x->n_args; i++) {
		const struct fmt_arg *p = &x->args[i], *q = &y->args[i];

		if (p->key != q->key || p->type != q->type || p->varies != q->varies ||
		    (!p->varies && p->value != q->value))
			return 0;
	}
	return 1;
}

static uint32_t hash_template(const struct fmt_template *s)
{
	const uint64_t head[] = {s->kind, s->n_args, s->name, s->category};
	uint64_t hash = XXH3_64bits(head, sizeof(head));

	for (uint32_t i = 0; i < s->n_args; i++) {
		const struct fmt_arg *a = &s->args[i];
		const uint64_t arg[] = {a->key, a->type, a->varies,
					a->varies ? 0 : (uint64_t)a->value};

		hash = XXH3_64bits_withSeed(arg, sizeof(arg), hash);
	}
	return (uint32_t)hash;
}

int fmt_names_template(struct fmt_names *n, const struct fmt_template *template, uint32_t *ret)
{
	struct fmt_template copy = *template;
	uint32_t hash = hash_template(template);
	struct fmt_hash_slot *slot;
	struct fmt_arg *args;

	if (template->kind >= FMT_KINDS)
		return -EINVAL;
	if (fmt_hash_reserve(&n->template_table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&n->template_table, hash, i,
			     same_template(template, &n->templates[i]));
	if (slot->number) {
		*ret = slot->number - 1;
		return 0;
	}
	if (n->n_templates >= UINT32_MAX - 1)
		return -EOVERFLOW;
	if (array_reserve(&n->templates, (size_t)n->n_templates + 1, &n->templates_cap) < 0)
		return -ENOMEM;
	args = arena_take(&n->arena, sizeof(*args) * (size_t) template->n_args,
			  _Alignof(struct fmt_arg));
	if (!args)
		return -ENOMEM;
	copy.n_values = 0;
	for (uint32_t i = 0; i < template->n_args; i++) {
		args[i] = template->args[i];
		args[i].varies = args[i].varies ? 1 : 0;
		if (args[i].varies)
			args[i].value = 0;
		copy.n_values += args[i].varies;
	}
	copy.args = args;
	n->templates[n->n_templates] = copy;
	fmt_hash_set(&n->template_table, slot, hash, n->n_templates);
	*ret = n->n_templates++;
	return 0;
}

const struct fmt_template *fmt_template(const struct fmt_names *n, uint32_t template)
{
	return template <n->n_templates ? &n->templates[template] : NULL;
}

uint32_t fmt_n_templates(const struct fmt_names *n)
{
	return n->n_templates;
}

int fmt_template_const(const struct fmt_names *n, const struct fmt_template *s, const char *key,
		       int64_t *ret)
{
	fmt_str k = find_string(n, key);

	for (uint32_t i = 0; k && i < s->n_args; i++)
		if (s->args[i].key == k && !s->args[i].varies) {
			*ret = s->args[i].value;
			return 1;
		}
	return 0;
}

int fmt_template_varying(const struct fmt_names *n, const struct fmt_template *s, const char *key,
			 uint32_t *ret)
{
	fmt_str k = find_string(n, key);
	uint32_t nth = 0;

	for (uint32_t i = 0; k && i < s->n_args; i++) {
		if (!s->args[i].varies)
			continue;
		if (s->args[i].key == k) {
			*ret = nth;
			return 1;
		}
		nth++;
	}
	return 0;
}

/* ---- communicators and rules ---- */

static int same_comm(const struct fmt_comm *x, const struct fmt_comm *y)
{
	return x->name == y->name && x->description == y->description && x->n_ranks == y->n_ranks &&
	       (x->n_ranks == 0 ||
		memcmp(x->ranks, y->ranks, sizeof(*x->ranks) * (size_t)x->n_ranks) == 0);
}

static uint32_t hash_comm(const struct fmt_comm *c)
{
	const uint32_t head[] = {c->name, c->description, c->n_ranks};
	uint64_t hash = XXH3_64bits(head, sizeof(head));

	if (c->n_ranks > 0)
		hash = XXH3_64bits_withSeed(c->ranks, sizeof(*c->ranks) * (size_t)c->n_ranks, hash);
	return (uint32_t)hash;
}

int fmt_names_comm(struct fmt_names *n, const struct fmt_comm *comm, uint32_t *ret)
{
	struct fmt_comm copy = *comm;
	uint32_t hash = hash_comm(comm);
	struct fmt_hash_slot *slot;
	uint32_t *ranks = NULL;

	if (fmt_hash_reserve(&n->comm_table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&n->comm_table, hash, i, same_comm(comm, &n->comms[i]));
	if (slot->number) {
		*ret = slot->number - 1;
		return 0;
	}
	if (array_reserve(&n->comms, (size_t)n->n_comms + 1, &n->comms_cap) < 0)
		return -ENOMEM;
	if (comm->n_ranks > 0) {
		ranks = arena_take(&n->arena, sizeof(*ranks) * (size_t)comm->n_ranks,
				   _Alignof(uint32_t));
		if (!ranks)
			return -ENOMEM;
		memcpy(ranks, comm->ranks, sizeof(*ranks) * (size_t)comm->n_ranks);
	}
	copy.ranks = ranks;
	n->comms[n->n_comms] = copy;
	fmt_hash_set(&n->comm_table, slot, hash, n->n_comms);
	*ret = n->n_comms++;
	return 0;
}

const struct fmt_comm *fmt_comm(const struct fmt_names *n, uint32_t comm)
{
	return comm < n->n_comms ? &n->comms[comm] : NULL;
}

uint32_t fmt_n_comms(const struct fmt_names *n)
{
	return n->n_comms;
}

int fmt_names_rule(struct fmt_names *n, const char *name, int inferred, uint8_t *ret)
{
	struct fmt_rule rule = {.inferred = inferred ? 1 : 0};
	int r = fmt_names_string(n, name, strlen(name), &rule.name);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n->n_rules; i++)
		if (n->rules[i].name == rule.name && n->rules[i].inferred == rule.inferred) {
			*ret = (uint8_t)i;
			return 0;
		}
	if (n->n_rules > UINT8_MAX)
		return -EOVERFLOW;
	if (array_reserve(&n->rules, (size_t)n->n_rules + 1, &n->rules_cap) < 0)
		return -ENOMEM;
	n->rules[n->n_rules] = rule;
	*ret = (uint8_t)n->n_rules++;
	return 0;
}

const struct fmt_rule *fmt_rule(const struct fmt_names *n, uint32_t rule)
{
	return rule < n->n_rules ? &n->rules[rule] : NULL;
}

/* ---- data of a rank: tracks, devices, facts ---- */

/* Maximum rank: limits what an invalid caller or file can allocate. */
#define MAX_RANKS (1u << 24)

static struct fmt_rank_names *rank_of(struct fmt_names *n, uint32_t rank, int *error)
{
	*error = -EOVERFLOW;
	if (rank >= MAX_RANKS)
		return NULL;
	if (rank >= n->n_ranks) {
		*error = -ENOMEM;
		if (array_reserve(&n->ranks, (size_t)rank + 1, &n->ranks_cap) < 0)
			return NULL;
		memset(n->ranks + n->n_ranks, 0, sizeof(*n->ranks) * (rank + 1 - n->n_ranks));
		n->n_ranks = rank + 1;
	}
	return &n->ranks[rank];
}

static int same_track(const struct fmt_track *x, const struct fmt_track *y)
{
	return x->kind == y->kind && x->text_ids == y->text_ids && x->pid == y->pid &&
	       x->tid == y->tid && x->pid_text == y->pid_text && x->tid_text == y->tid_text;
}

int fmt_names_track(struct fmt_names *n, uint32_t rank, const struct fmt_track *track,
		    uint32_t *ret)
{
	const int64_t key[] = {track->kind, track->text_ids, track->pid,
			       track->tid,  track->pid_text, track->tid_text};
	uint32_t hash = (uint32_t)XXH3_64bits(key, sizeof(key));
	struct fmt_hash_slot *slot;
	int error;
	struct fmt_rank_names *r = rank_of(n, rank, &error);

	if (!r)
		return error;
	if (fmt_hash_reserve(&r->track_table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&r->track_table, hash, i, same_track(track, &r->tracks[i]));
	if (slot->number) {
		*ret = slot->number - 1;
		return 0;
	}
	if (array_reserve(&r->tracks, (size_t)r->n_tracks + 1, &r->tracks_cap) < 0)
		return -ENOMEM;
	r->tracks[r->n_tracks] = *track;
	fmt_hash_set(&r->track_table, slot, hash, r->n_tracks);
	*ret = r->n_tracks++;
	return 0;
}

const struct fmt_track *fmt_track(const struct fmt_names *n, uint32_t rank, uint32_t track)
{
	if (rank >= n->n_ranks || track >= n->ranks[rank].n_tracks)
		return NULL;
	return &n->ranks[rank].tracks[track];
}

uint32_t fmt_n_tracks(const struct fmt_names *n, uint32_t rank)
{
	return rank < n->n_ranks ? n->ranks[rank].n_tracks : 0;
}

int fmt_names_device(struct fmt_names *n, uint32_t rank, const struct fmt_device *device)
{
	int error;
	struct fmt_rank_names *r = rank_of(n, rank, &error);

	if (!r)
		return error;
	if (array_reserve(&r->devices, (size_t)r->n_devices + 1, &r->devices_cap) < 0)
		return -ENOMEM;
	r->devices[r->n_devices++] = *device;
	return 0;
}

const struct fmt_device *fmt_device(const struct fmt_names *n, uint32_t rank, uint32_t index)
{
	if (rank >= n->n_ranks || index >= n->ranks[rank].n_devices)
		return NULL;
	return &n->ranks[rank].devices[index];
}

/* ---- facts ---- */

/* Returns the slot of the fact with that key, or a free one. */
static struct fmt_hash_slot *find_fact(const struct fmt_name_facts *f, fmt_str key)
{
	return fmt_hash_find(&f->table, fmt_hash_number(key), i, f->facts[i].key == key);
}

int fmt_names_fact(struct fmt_names *n, uint32_t rank, const char *key, fmt_str value)
{
	struct fmt_name_facts *f = &n->trace_facts;
	struct fmt_fact fact = {.value = value};
	struct fmt_hash_slot *slot;
	int r = fmt_names_string(n, key, strlen(key), &fact.key);

	if (r < 0)
		return r;
	if (rank != FMT_WHOLE_TRACE) {
		struct fmt_rank_names *names = rank_of(n, rank, &r);

		if (!names)
			return r;
		f = &names->facts;
	}
	if (fmt_hash_reserve(&f->table) < 0)
		return -ENOMEM;
	slot = find_fact(f, fact.key);
	if (slot->number) {
		f->facts[slot->number - 1].value = value;
		return 0;
	}
	if (array_reserve(&f->facts, (size_t)f->n + 1, &f->facts_cap) < 0)
		return -ENOMEM;
	fmt_hash_set(&f->table, slot, fmt_hash_number(fact.key), f->n);
	f->facts[f->n++] = fact;
	return 0;
}

int fmt_names_fact_text(struct fmt_names *n, uint32_t rank, const char *key,
			const struct text *json)
{
	return json->error ? json->error : fmt_names_fact_json(n, rank, key, json->data, json->len);
}

int fmt_names_fact_json(struct fmt_names *n, uint32_t rank, const char *key, const char *json,
			size_t len)
{
	fmt_str value;
	int r = fmt_names_string(n, json, len, &value);

	return r < 0 ? r : fmt_names_fact(n, rank, key, value);
}

static const struct fmt_name_facts *facts_of(const struct fmt_names *n, uint32_t rank)
{
	if (rank == FMT_WHOLE_TRACE)
		return &n->trace_facts;
	return rank < n->n_ranks ? &n->ranks[rank].facts : NULL;
}

const struct fmt_fact *fmt_fact(const struct fmt_names *n, uint32_t rank, uint32_t index)
{
	const struct fmt_name_facts *f = facts_of(n, rank);

	return f && index < f->n ? &f->facts[index] : NULL;
}

const char *fmt_fact_value(const struct fmt_names *n, uint32_t rank, const char *key)
{
	const struct fmt_name_facts *f = facts_of(n, rank);
	fmt_str number = find_string(n, key);
	const struct fmt_hash_slot *slot;

	if (!f || !number)
		return NULL;
	slot = find_fact(f, number);
	return slot->number ? fmt_string(n, f->facts[slot->number - 1].value, NULL) : NULL;
}

/* ---- merging ---- */

static int merge_string(struct fmt_names *to, const struct fmt_names *copy, fmt_str s, fmt_str *ret)
{
	size_t len;
	const char *text = fmt_string(copy, s, &len);

	return fmt_names_string(to, text, len, ret);
}

static int merge_comms(struct fmt_names *to, const struct fmt_names *copy)
{
	int r = 0;

	for (uint32_t i = fmt_n_comms(to); i < fmt_n_comms(copy) && r == 0; i++) {
		struct fmt_comm comm = *fmt_comm(copy, i);
		uint32_t number;

		r = merge_string(to, copy, comm.name, &comm.name);
		if (r == 0)
			r = merge_string(to, copy, comm.description, &comm.description);
		if (r == 0)
			r = fmt_names_comm(to, &comm, &number);
	}
	return r;
}

static int merge_facts(struct fmt_names *to, const struct fmt_names *copy, uint32_t rank)
{
	const struct fmt_fact *fact, *known;
	int r = 0;

	for (uint32_t i = 0; r == 0 && (fact = fmt_fact(copy, rank, i)); i++) {
		size_t len;
		const char *json = fmt_string(copy, fact->value, &len);

		known = fmt_fact(to, rank, i);
		if (!known || known->value != fact->value)
			r = fmt_names_fact_json(to, rank, fmt_string(copy, fact->key, NULL), json,
						len);
	}
	return r;
}

int fmt_names_merge(struct fmt_names *to, const struct fmt_names *copy, uint32_t n_ranks)
{
	const struct fmt_rule *rule;
	uint8_t number;
	int r = merge_comms(to, copy);

	for (uint32_t i = 0; r == 0 && (rule = fmt_rule(copy, i)); i++)
		r = fmt_names_rule(to, fmt_string(copy, rule->name, NULL), rule->inferred, &number);
	if (r == 0)
		r = merge_facts(to, copy, FMT_WHOLE_TRACE);
	for (uint32_t i = 0; i < n_ranks && r == 0; i++)
		r = merge_facts(to, copy, i);
	return r;
}
