/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/change.h"

#include "replay/what_if/change_impl.h"

#include "base/array.h"
#include "base/scope.h"

#include <fnmatch.h>
#include <stdio.h>

void change_free(struct change *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->variants && i < c->n_specs; i++) {
		free(c->variants[i].by_rank);
		free(c->variants[i].by_template);
		free(c->variants[i].by_comm);
		for (uint32_t k = 0; k < WHAT_IF_CHANGES; k++)
			model_free(c->variants[i].models[k]);
	}
	for (size_t i = 0; i < c->n_groups; i++)
		free(c->groups[i].by_template);
	network_done(&c->network);
	free(c->variants);
	free(c->group_of);
	free(c->groups);
	free(c->factors);
	free(c->unknown);
	free(c);
}

define_cleanup(change_free_ptr, struct change *, change_free);

/* ---- scopes ---- */

/* Returns 1 if the change applies to operations of the template, ignoring the communicator. */
static int has_template(const struct change *c, const struct what_if_change *w,
			const struct fmt_template *t)
{
	int64_t op;

	if (w->kernel && (t->kind != FMT_KERNEL ||
			  fnmatch(w->kernel, fmt_string(c->names, t->name, NULL), 0) != 0))
		return 0;
	if (w->op && (!fmt_template_const(c->names, t, FMT_KEY_OP, &op) ||
		      strcmp(w->op, fmt_string(c->names, (fmt_str)op, NULL)) != 0))
		return 0;
	return 1;
}

int change_add_templates(struct change *c)
{
	uint32_t n = fmt_n_templates(c->names);

	if (n == c->n_templates)
		return 0;
	for (uint32_t v = 0; v < c->n_specs; v++) {
		struct variant *var = &c->variants[v];

		if (array_reserve(&var->by_template, n, &var->templates_cap) < 0)
			return -ENOMEM;
		for (uint32_t i = c->n_templates; i < n; i++) {
			var->by_template[i] = 0;
			for (uint32_t k = 0; k < var->spec->n; k++)
				if (has_template(c, &var->spec->changes[k],
						 fmt_template(c->names, i)))
					var->by_template[i] |= 1u << k;
		}
	}
	if (array_reserve(&c->unknown, n, &c->unknown_cap) < 0)
		return -ENOMEM;
	memset(c->unknown + c->n_templates, 0, n - c->n_templates);
	c->n_templates = n;
	return 0;
}

static int add_ranks(struct change *c, struct variant *var)
{
	var->by_rank = calloc(c->n_ranks + 1ul, sizeof(*var->by_rank));
	if (!var->by_rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_ranks; i++)
		for (uint32_t k = 0; k < var->spec->n; k++)
			if (what_if_has_rank(&var->spec->changes[k], c->numbers[i]))
				var->by_rank[i] |= 1u << k;
	return 0;
}

static int add_comms(struct change *c, struct variant *var)
{
	var->by_comm = calloc(c->n_comms + 1ul, sizeof(*var->by_comm));
	if (!var->by_comm)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_comms; i++)
		for (uint32_t k = 0; k < var->spec->n; k++) {
			const char *name = var->spec->changes[k].comm;

			if (!name || strcmp(name, fmt_string(c->names, fmt_comm(c->names, i)->name,
							     NULL)) == 0)
				var->by_comm[i] |= 1u << k;
		}
	return 0;
}

/* Returns the bits that are set in any of n words. */
static change_set any_set(const change_set *sets, uint32_t n)
{
	change_set all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= sets[i];
	return all;
}

static int no_such(struct what_if_error *err, const char *what, const char *name)
{
	snprintf(err->why, sizeof(err->why), "the trace has no %s '%.100s'", what, name);
	return -EINVAL;
}

static const char *unknown_rank(const struct change *c, const struct what_if_change *w, char *buf,
				size_t len)
{
	for (uint32_t i = 0; i < w->n_ranks; i++) {
		uint32_t found = 0, wanted = w->ranks[i].last - w->ranks[i].first + 1;

		for (uint32_t k = 0; k < c->n_ranks; k++)
			found += c->numbers[k] >= w->ranks[i].first &&
				 c->numbers[k] <= w->ranks[i].last;
		if (found >= wanted)
			continue;
		snprintf(buf, len, wanted == 1 ? "%u" : "%u-%u", w->ranks[i].first,
			 w->ranks[i].last);
		return buf;
	}
	return NULL;
}

/* Reports a change that applies to nothing as an error. */
static int check_one(const struct change *c, const struct variant *var, struct what_if_error *err)
{
	change_set templates = any_set(var->by_template, c->n_templates);
	change_set comms = any_set(var->by_comm, c->n_comms);
	char buf[32];

	for (uint32_t k = 0; k < var->spec->n && k < WHAT_IF_CHANGES; k++) {
		const struct what_if_change *w = &var->spec->changes[k];
		const char *rank = unknown_rank(c, w, buf, sizeof(buf));

		if (rank)
			return no_such(err, "rank", rank);
		if (w->kernel && !(templates >> k & 1))
			return no_such(err, "kernel", w->kernel);
		if (w->op && !(templates >> k & 1))
			return no_such(err, "collective of kind", w->op);
		if (w->comm && !(comms >> k & 1))
			return no_such(err, "communicator", w->comm);
	}
	return 0;
}

/* Loads the GPU models of the spec. Refuses ranks with different GPU models. */
static int add_models(const struct change *c, struct variant *var, struct what_if_error *err)
{
	const struct fmt_device *first = fmt_device(c->names, 0, 0);

	for (uint32_t k = 0; k < var->spec->n; k++) {
		const char *model = var->spec->changes[k].model;
		int r = model ? model_new(c->names, 0, model, &var->models[k], err) : 0;

		if (r < 0)
			return r;
		for (uint32_t i = 1; model && i < c->n_ranks; i++) {
			const struct fmt_device *other = fmt_device(c->names, i, 0);

			if (!other || !first || other->name == first->name)
				continue;
			snprintf(err->why, sizeof(err->why),
				 "rank %u was recorded on another GPU model than rank %u",
				 c->numbers[i], c->numbers[0]);
			return -EINVAL;
		}
	}
	return 0;
}

static int add_spec(struct change *c, struct variant *var, const struct what_if *spec)
{
	var->spec = spec;
	for (uint32_t k = 0; k < spec->n; k++) {
		var->by_key[spec->changes[k].key] |= 1u << k;
		var->straggler |= spec->changes[k].key == WHAT_IF_STRAGGLER;
	}
	return add_ranks(c, var) < 0 || add_comms(c, var) < 0 ? -ENOMEM : 0;
}

/* ---- ranks with the same changes ---- */

static int same_factors(const struct change *c, uint32_t a, uint32_t b)
{
	for (uint32_t v = 0; v < c->n_specs; v++)
		if (c->variants[v].by_rank[a] != c->variants[v].by_rank[b] ||
		    c->variants[v].straggler)
			return 0;
	return 1;
}

static int group_ranks(struct change *c)
{
	c->group_of = calloc(c->n_ranks + 1ul, sizeof(*c->group_of));
	if (!c->group_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_ranks; i++) {
		size_t g = c->n_groups;

		while (g > 0 && !same_factors(c, c->groups[g - 1].first, i))
			g--;
		if (g == 0) {
			if (array_reserve(&c->groups, c->n_groups + 1, &c->groups_cap) < 0)
				return -ENOMEM;
			c->groups[c->n_groups++] = (struct rank_group){
				.first = i,
				.host = NOT_YET,
				.launch = NOT_YET,
				.device = NOT_YET,
			};
			g = c->n_groups;
		}
		c->group_of[i] = (uint32_t)g - 1;
	}
	return 0;
}

int change_new(struct what_if *const *specs, uint32_t n_specs, const struct fmt_names *names,
	       const uint32_t *numbers, uint32_t n_ranks, struct change **ret, uint32_t *bad,
	       struct what_if_error *err)
{
	scoped(change_free_ptr) struct change *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->names = names;
	c->numbers = numbers;
	c->n_ranks = n_ranks;
	c->n_comms = fmt_n_comms(names);
	c->variants = calloc(n_specs + 1ul, sizeof(*c->variants));
	c->factors = calloc(n_specs + 1ul, sizeof(*c->factors));
	if (!c->variants || !c->factors)
		return -ENOMEM;
	for (; c->n_specs < n_specs; c->n_specs++)
		if (add_spec(c, &c->variants[c->n_specs], specs[c->n_specs]) < 0) {
			c->n_specs++;
			return -ENOMEM;
		}
	if (change_add_templates(c) < 0 || group_ranks(c) < 0 ||
	    network_init(&c->network, names, n_ranks) < 0)
		return -ENOMEM;
	for (*bad = 0; *bad < n_specs; ++*bad) {
		int r = check_one(c, &c->variants[*bad], err)
				?: add_models(c, &c->variants[*bad], err);

		if (r < 0)
			return r;
	}
	*ret = take(c);
	return 0;
}

int change_attach(struct change *c, struct sim *sim)
{
	c->sim = sim;
	return sim_add_variants(sim, change_n_variants(c));
}

int change_has_straggler(const struct change *c)
{
	for (uint32_t v = 0; v < c->n_specs; v++)
		if (c->variants[v].straggler)
			return 1;
	return 0;
}

void change_set_straggler(struct change *c, const float *factors, uint32_t n_templates)
{
	c->factors_of_ranks = factors;
	c->n_factors = n_templates;
}

uint32_t change_n_variants(const struct change *c)
{
	return c->n_specs + 1;
}

int change_error(const struct change *c)
{
	return c ? c->error : 0;
}
