/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/change.h"

#include "replay/engine/network.h"

#include "base/array.h"
#include "base/scope.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>

/* The changes of one variant that apply to a rank, a template, a communicator: bits. */
typedef uint32_t change_set;
_Static_assert(WHAT_IF_CHANGES == 32, "a bit each");

/* The lowest change of a set that is not empty. */
static unsigned first_of(change_set set)
{
	return (unsigned)__builtin_ctz(set) & 31;
}

struct variant {
	const struct what_if *spec;
	change_set by_key[WHAT_IF_KEYS];
	change_set *by_rank, *by_template, *by_comm;
	size_t templates_cap;
	int straggler; /* straggler=none is one of them */
};

/* The scales of the templates, for ranks to which the same changes apply. */
struct rank_group {
	uint32_t first; /* its first rank */
	uint16_t host, launch, device;
	uint16_t *by_template; /* NOT_YET where it was not asked for */
	size_t cap;
	uint32_t n;
};

#define NOT_YET UINT16_MAX

struct change {
	const struct fmt_names *names;
	const uint32_t *numbers;
	uint32_t n_ranks, n_templates, n_comms;
	struct variant *variants;
	uint32_t n_specs;
	uint32_t *group_of; /* by rank */
	struct network network;
	struct rank_group *groups;
	size_t n_groups, groups_cap;
	const float *factors_of_ranks; /* for straggler=none: by rank, then template */
	uint32_t n_factors;
	double *factors; /* of the scale at hand, by variant */
	struct sim *sim;
	int error;
};

void change_free(struct change *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->variants && i < c->n_specs; i++) {
		free(c->variants[i].by_rank);
		free(c->variants[i].by_template);
		free(c->variants[i].by_comm);
	}
	for (size_t i = 0; i < c->n_groups; i++)
		free(c->groups[i].by_template);
	network_done(&c->network);
	free(c->variants);
	free(c->group_of);
	free(c->groups);
	free(c->factors);
	free(c);
}

define_cleanup(change_free_ptr, struct change *, change_free);

/* ---- what a spec applies to ---- */

/* Whether the change concerns operations of the template, its communicator apart. */
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

/* Sets the bits of templates that came since. */
static int add_templates(struct change *c)
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

/* The bits that are set in any of n words. */
static change_set any(const change_set *sets, uint32_t n)
{
	change_set all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= sets[i];
	return all;
}

static int fail(struct what_if_error *err, const char *what, const char *name)
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

/* A change that concerns nothing is a mistake. */
static int check(const struct change *c, const struct variant *var, struct what_if_error *err)
{
	change_set templates = any(var->by_template, c->n_templates);
	change_set comms = any(var->by_comm, c->n_comms);
	char buf[32];

	for (uint32_t k = 0; k < var->spec->n && k < WHAT_IF_CHANGES; k++) {
		const struct what_if_change *w = &var->spec->changes[k];
		const char *rank = unknown_rank(c, w, buf, sizeof(buf));

		if (rank)
			return fail(err, "rank", rank);
		if (w->kernel && !(templates >> k & 1))
			return fail(err, "kernel", w->kernel);
		if (w->op && !(templates >> k & 1))
			return fail(err, "collective of kind", w->op);
		if (w->comm && !(comms >> k & 1))
			return fail(err, "communicator", w->comm);
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

/* ---- ranks to which the same applies ---- */

static int alike(const struct change *c, uint32_t a, uint32_t b)
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

		while (g > 0 && !alike(c, c->groups[g - 1].first, i))
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
	if (add_templates(c) < 0 || group_ranks(c) < 0 || network_init(&c->network, names) < 0)
		return -ENOMEM;
	for (*bad = 0; *bad < n_specs; ++*bad) {
		int r = check(c, &c->variants[*bad], err);

		if (r < 0)
			return r;
	}
	*ret = take(c);
	return 0;
}

int change_attach(struct change *c, struct sim *sim)
{
	c->sim = sim;
	return sim_variants(sim, change_variants(c));
}

int change_has_straggler(const struct change *c)
{
	for (uint32_t v = 0; v < c->n_specs; v++)
		if (c->variants[v].straggler)
			return 1;
	return 0;
}

void change_straggler(struct change *c, const float *factors, uint32_t n_templates)
{
	c->factors_of_ranks = factors;
	c->n_factors = n_templates;
}

uint32_t change_variants(const struct change *c)
{
	return c->n_specs + 1;
}

int change_error(const struct change *c)
{
	return c->error;
}

/* ---- scales ---- */

/* 1 / speed of the changes in the set. */
static double factor_of(const struct variant *var, change_set set)
{
	double factor = 1;

	for (; set; set &= set - 1)
		factor /= var->spec->changes[first_of(set)].speed;
	return factor;
}

/* The scale of c->factors. */
static uint16_t scale(struct change *c)
{
	uint16_t ret = 0;

	if (c->error == 0)
		c->error = sim_scale(c->sim, c->factors, &ret);
	return ret;
}

/* The scale of all times of a kind on a rank; `last` is the factor of the last variant. */
static uint16_t plain(struct change *c, uint16_t *known, uint32_t rank, enum what_if_key key,
		      double last)
{
	if (*known != NOT_YET)
		return *known;
	for (uint32_t v = 0; v < c->n_specs; v++) {
		const struct variant *var = &c->variants[v];
		change_set set = var->by_key[key] & var->by_rank[rank];

		for (change_set left = set; left; left &= left - 1)
			if (var->spec->changes[first_of(left)].kernel)
				set &= ~(left & -left);
		c->factors[v] = factor_of(var, set);
	}
	c->factors[c->n_specs] = last;
	return *known = scale(c);
}

uint16_t change_host(struct change *c, uint32_t rank)
{
	return plain(c, &c->groups[c->group_of[rank]].host, rank, WHAT_IF_HOST, 1);
}

uint16_t change_launch(struct change *c, uint32_t rank)
{
	return plain(c, &c->groups[c->group_of[rank]].launch, rank, WHAT_IF_LAUNCH, 1);
}

uint16_t change_device(struct change *c, uint32_t rank)
{
	return plain(c, &c->groups[c->group_of[rank]].device, rank, WHAT_IF_GPU, 0);
}

static double straggler(const struct change *c, const struct variant *var, uint32_t rank,
			uint32_t template)
{
	if (!var->straggler || !c->factors_of_ranks || template >= c->n_factors)
		return 1;
	return (double)c->factors_of_ranks[(size_t)rank * c->n_factors + template];
}

/* Space for the scales of all templates. */
static int reserve_templates(struct change *c, struct rank_group *g, uint32_t template)
{
	if (template <g->n)
		return 0;
	if (add_templates(c) < 0 || array_reserve(&g->by_template, c->n_templates, &g->cap) < 0)
		return -ENOMEM;
	for (; g->n < c->n_templates; g->n++)
		g->by_template[g->n] = NOT_YET;
	return 0;
}

uint16_t change_op(struct change *c, uint32_t rank, uint32_t template)
{
	struct rank_group *g = &c->groups[c->group_of[rank]];
	enum what_if_key key;

	if (reserve_templates(c, g, template) < 0) {
		c->error = -ENOMEM;
		return 0;
	}
	if (g->by_template[template] != NOT_YET)
		return g->by_template[template];
	key = fmt_template(c->names, template)->kind == FMT_MEMCPY ? WHAT_IF_COPY : WHAT_IF_GPU;
	for (uint32_t v = 0; v < c->n_specs; v++) {
		const struct variant *var = &c->variants[v];

		c->factors[v] = factor_of(var, var->by_key[key] & var->by_rank[rank] &
						       var->by_template[template]);
		if (key == WHAT_IF_GPU)
			c->factors[v] *= straggler(c, var, rank, template);
	}
	c->factors[c->n_specs] = 0;
	return g->by_template[template] = scale(c);
}

/* The factor of the changes of latency and bandwidth in the set. */
static double split_factor(const struct variant *var, change_set set,
			   const struct fmt_network_fit *fit, int64_t bytes)
{
	return network_factor(fit, bytes, factor_of(var, set & var->by_key[WHAT_IF_LATENCY]),
			      factor_of(var, set & var->by_key[WHAT_IF_BANDWIDTH]));
}

static change_set split_set(const struct variant *var, uint32_t template, uint32_t comm)
{
	return (var->by_key[WHAT_IF_LATENCY] | var->by_key[WHAT_IF_BANDWIDTH]) &
	       var->by_template[template] & var->by_comm[comm];
}

int change_lacks_latency(const struct change *c, uint32_t template, uint32_t comm)
{
	const struct fmt_network_fit *fit;
	change_set sets = 0;

	if (template >= c->n_templates || comm >= c->n_comms)
		return 0;
	for (uint32_t v = 0; v < c->n_specs; v++)
		sets |= split_set(&c->variants[v], template, comm);
	if (sets == 0)
		return 0;
	fit = network_fit(&c->network, template, comm);
	return !fit || fit->latency_ns == 0;
}

uint16_t change_collective(struct change *c, uint32_t rank, uint32_t template, uint32_t comm,
			   int64_t bytes)
{
	if (add_templates(c) < 0) {
		c->error = -ENOMEM;
		return 0;
	}
	for (uint32_t v = 0; v < c->n_specs; v++) {
		const struct variant *var = &c->variants[v];
		change_set set;

		c->factors[v] = 1;
		if (comm >= c->n_comms)
			continue;
		set = var->by_key[WHAT_IF_NETWORK] & var->by_template[template] &
		      var->by_comm[comm];
		c->factors[v] = factor_of(var, set);
		set = split_set(var, template, comm);
		if (set)
			c->factors[v] *= split_factor(
				var, set, network_fit(&c->network, template, comm), bytes);
	}
	c->factors[c->n_specs] = 0;
	return scale(c);
}

double change_host_factor(const struct change *c, uint32_t variant, uint32_t rank)
{
	const struct variant *var = &c->variants[variant];

	return variant < c->n_specs ? factor_of(var, var->by_key[WHAT_IF_HOST] & var->by_rank[rank])
				    : 1;
}

int change_splits_network(const struct change *c, uint32_t variant)
{
	const struct variant *var = &c->variants[variant];

	return variant < c->n_specs &&
	       (var->by_key[WHAT_IF_LATENCY] | var->by_key[WHAT_IF_BANDWIDTH]) != 0;
}

int change_needs_ranks(const struct change *c, uint32_t variant)
{
	const struct variant *var = &c->variants[variant];

	if (variant >= c->n_specs || change_splits_network(c, variant))
		return variant < c->n_specs;
	if (var->by_key[WHAT_IF_NETWORK] | var->by_key[WHAT_IF_STRAGGLER] |
	    var->by_key[WHAT_IF_OVERLAP] | var->by_key[WHAT_IF_COPIES])
		return 1;
	for (uint32_t k = 0; k < var->spec->n; k++)
		if (var->spec->changes[k].n_ranks > 0)
			return 1;
	return 0;
}
