/* SPDX-License-Identifier: Apache-2.0 */

/* The factors by which changed runs multiply times. */
#include "replay/what_if/change.h"

#include "replay/what_if/change_impl.h"

#include "base/array.h"
#include "replay/what_if/copies.h"

/* 1 / speed of the changes in the set. */
static double factor_of(const struct variant *var, change_set set)
{
	double factor = 1;

	for (; set; set &= set - 1)
		factor /= var->spec->changes[change_first(set)].speed;
	return factor;
}

/* The scale of c->factors. */
static uint16_t new_scale(struct change *c)
{
	uint16_t ret = 0;

	if (c->error == 0)
		c->error = sim_get_scale(c->sim, c->factors, &ret);
	return ret;
}

/* Returns the scale of all times of a kind on a rank; `last` is the factor of the last variant. */
static uint16_t kind_scale(struct change *c, uint16_t *known, uint32_t rank, enum what_if_key key,
			   double last)
{
	if (*known != NOT_YET)
		return *known;
	for (uint32_t v = 0; v < c->n_specs; v++) {
		const struct variant *var = &c->variants[v];
		change_set set = var->by_key[key] & var->by_rank[rank];

		for (change_set left = set; left; left &= left - 1)
			if (var->spec->changes[change_first(left)].kernel)
				set &= ~(left & -left);
		c->factors[v] = factor_of(var, set);
	}
	c->factors[c->n_specs] = last;
	return *known = new_scale(c);
}

uint16_t change_host_scale(struct change *c, uint32_t rank)
{
	return c ? kind_scale(c, &c->groups[c->group_of[rank]].host, rank, WHAT_IF_HOST, 1) : 0;
}

uint16_t change_launch_scale(struct change *c, uint32_t rank)
{
	return c ? kind_scale(c, &c->groups[c->group_of[rank]].launch, rank, WHAT_IF_LAUNCH, 1) : 0;
}

uint16_t change_device_scale(struct change *c, uint32_t rank)
{
	return c ? kind_scale(c, &c->groups[c->group_of[rank]].device, rank, WHAT_IF_GPU, 0) : 0;
}

static double straggler_factor(const struct change *c, const struct variant *var, uint32_t rank,
			       uint32_t template)
{
	if (!var->straggler || !c->factors_of_ranks || template >= c->n_factors)
		return 1;
	rank = c->copies ? c->copies->source[rank] : rank;
	return (double)c->factors_of_ranks[(size_t)rank * c->n_factors + template];
}

/* Reserves space for the scales of all templates. */
static int reserve_templates(struct change *c, struct rank_group *g, uint32_t template)
{
	if (template <g->n)
		return 0;
	if (change_add_templates(c) < 0 ||
	    array_reserve(&g->by_template, c->n_templates, &g->cap) < 0)
		return -ENOMEM;
	for (; g->n < c->n_templates; g->n++)
		g->by_template[g->n] = NOT_YET;
	return 0;
}

/* Returns the product of the factors that GPU models in the changes give for a kernel or memset. */
static double model(struct change *c, const struct variant *var, change_set set, uint32_t template,
		    int64_t duration_ns)
{
	double factor = 1;

	for (; set; set &= set - 1) {
		const struct model *m = var->models[change_first(set)];
		int unknown = 0;

		if (m)
			factor *= model_factor(m, c->names, template, duration_ns, &unknown);
		c->unknown[template] |= unknown != 0;
	}
	return factor;
}

int change_has_no_model(const struct change *c, uint32_t template)
{
	return c && template <c->n_templates && c->unknown[template];
}

uint16_t change_op_scale(struct change *c, uint32_t rank, uint32_t template, int64_t duration_ns)
{
	struct rank_group *g = c ? &c->groups[c->group_of[rank]] : NULL;
	enum what_if_key key;

	if (!c)
		return 0;
	if (reserve_templates(c, g, template) < 0) {
		c->error = -ENOMEM;
		return 0;
	}
	if (g->by_template[template] != NOT_YET)
		return g->by_template[template];
	key = fmt_template(c->names, template)->kind == FMT_MEMCPY ? WHAT_IF_COPY : WHAT_IF_GPU;
	for (uint32_t v = 0; v < c->n_specs; v++) {
		const struct variant *var = &c->variants[v];

		change_set set = var->by_key[key] & var->by_rank[rank] & var->by_template[template];

		c->factors[v] = factor_of(var, set);
		if (key == WHAT_IF_GPU)
			c->factors[v] *= straggler_factor(c, var, rank, template) *
					 model(c, var, set, template, duration_ns);
	}
	c->factors[c->n_specs] = 0;
	return g->by_template[template] = new_scale(c);
}

/* The factor of the changes of latency and bandwidth in the set. */
static double split_factor(const struct change *c, const struct variant *var, change_set set,
			   uint32_t template, uint32_t comm, int64_t bytes)
{
	return network_factor(&c->network, template, comm, bytes,
			      factor_of(var, set & var->by_key[WHAT_IF_LATENCY]),
			      factor_of(var, set & var->by_key[WHAT_IF_BANDWIDTH]));
}

static change_set split_set(const struct variant *var, uint32_t template, uint32_t comm)
{
	return (var->by_key[WHAT_IF_LATENCY] | var->by_key[WHAT_IF_BANDWIDTH]) &
	       var->by_template[template] & var->by_comm[comm];
}

int change_has_no_latency(const struct change *c, uint32_t template, uint32_t comm, int64_t bytes)
{
	change_set sets = 0;

	if (!c || template >= c->n_templates || comm >= c->n_comms)
		return 0;
	for (uint32_t v = 0; v < c->n_specs; v++)
		sets |= split_set(&c->variants[v], template, comm);
	if (sets == 0)
		return 0;
	return !network_has_latency(&c->network, network_fit(&c->network, template, comm), bytes);
}

uint16_t change_collective_scale(struct change *c, uint32_t rank, uint32_t template, uint32_t comm,
				 int64_t bytes)
{
	double copies = 1;

	if (!c)
		return 0;
	if (change_add_templates(c) < 0) {
		c->error = -ENOMEM;
		return 0;
	}
	if (c->copies && comm < c->n_comms) {
		int64_t op = 0;

		fmt_template_const(c->names, fmt_template(c->names, template), FMT_KEY_OP, &op);
		copies = copies_factor(c->copies, comm, fmt_string(c->names, (fmt_str)op, NULL),
				       network_fit(&c->network, template, comm), bytes);
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
		c->factors[v] *= copies;
		if (set)
			c->factors[v] *= split_factor(c, var, set, template, comm, bytes);
	}
	c->factors[c->n_specs] = 0;
	return new_scale(c);
}

/* Returns 1 if a variant changes transfers, other than to zero. */
static int changes_network(const struct change *c)
{
	change_set sets = 0;

	for (uint32_t v = 0; v < c->n_specs; v++)
		sets |= c->variants[v].by_key[WHAT_IF_NETWORK] |
			c->variants[v].by_key[WHAT_IF_LATENCY] |
			c->variants[v].by_key[WHAT_IF_BANDWIDTH];
	return sets != 0 || c->copies != NULL;
}

struct sim_expected change_expected_transfer(const struct change *c, uint32_t template,
					     uint32_t comm, int64_t bytes)
{
	const struct fmt_network_fit *fit = NULL;

	if (comm < c->n_comms && changes_network(c))
		fit = network_fit(&c->network, template, comm);
	return fit ? (struct sim_expected){
			     .line_ns = fmt_network_ns(fit, bytes),
			     .noise_share = fit->noise_share,
			     .first_exit_ns = fit->first_exit_ns,
			     .exit_ns = fit->exit_ns,
			     .uneven = fit->uneven,
		     }
		   : (struct sim_expected){0};
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

void change_set_copies(struct change *c, const struct copies *copies)
{
	c->copies = copies;
}
