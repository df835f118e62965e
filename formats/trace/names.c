/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/names.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/names_impl.h"

#include <xxhash.h>

/* ---- life ---- */

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

fmt_str fmt_names_find_string(const struct fmt_names *n, const char *s)
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
	fmt_str k = fmt_names_find_string(n, key);

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
	fmt_str k = fmt_names_find_string(n, key);
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
