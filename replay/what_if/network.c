/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/network.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void network_done(struct network *n)
{
	fmt_network_done(&n->lines);
	free(n->first);
	*n = (struct network){0};
}

int network_init(struct network *n, const struct fmt_names *names, uint32_t n_ranks)
{
	char why[160];

	*n = (struct network){.names = names, .n_comms = fmt_n_comms(names), .n_ranks = n_ranks};
	n->first = calloc(n->n_comms + 1ul, sizeof(*n->first));
	if (!n->first || fmt_network_get(names, &n->lines) < 0)
		return -ENOMEM;
	if (links_init(&n->links, names, why, sizeof(why)) < 0)
		n->links.known = 0;
	for (uint32_t i = 0; i < n->n_comms; i++)
		n->first[i] = (uint32_t)n->lines.n;
	for (size_t i = n->lines.n; i-- > 0;)
		if (n->lines.fits[i].comm < n->n_comms)
			n->first[n->lines.fits[i].comm] = (uint32_t)i;
	return 0;
}

/* Returns the name of the kind of collective of a template; NULL if unknown. */
static const char *op_of(const struct network *n, uint32_t template)
{
	int64_t op;

	return fmt_template_const(n->names, fmt_template(n->names, template), FMT_KEY_OP, &op)
		       ? fmt_string(n->names, (fmt_str)op, NULL)
		       : NULL;
}

const struct fmt_network_fit *network_fit(const struct network *n, uint32_t template, uint32_t comm)
{
	const char *name = comm < n->n_comms ? op_of(n, template) : NULL;

	if (!name)
		return NULL;
	for (size_t i = n->first[comm]; i < n->lines.n && n->lines.fits[i].comm == comm; i++)
		if (strcmp(n->lines.fits[i].collective, name) == 0)
			return &n->lines.fits[i];
	return NULL;
}

int network_has_latency(const struct network *n, const struct fmt_network_fit *fit, int64_t bytes)
{
	return fit && fit->latency_ns > 0 ? 1 : n->links.known && bytes >= 0;
}

/* A transfer, as the cost model sees it. */
struct modelled {
	enum cost_collective kind;
	uint32_t ranks, all;
	double bytes;
};

static struct modelled modelled(const struct network *n, uint32_t template, uint32_t comm,
				int64_t bytes)
{
	const char *op = op_of(n, template);

	return (struct modelled){
		.kind = links_kind(op ? op : ""),
		.ranks = fmt_comm(n->names, comm)->n_ranks ?: n->n_ranks,
		.all = n->n_ranks,
		.bytes = (double)bytes,
	};
}

static double model_ns(const struct cost_links *links, const struct modelled *m)
{
	return links_time_ns(links, m->kind, m->ranks, m->all, m->bytes);
}

/* Returns the share of a transfer that does not depend on the bandwidth, by the cost model.
 * `factor` is that of bytes over bandwidth; it may change NCCL's algorithm. */
static double modelled_share(const struct network *n, const struct fmt_network_fit *fit,
			     const struct modelled *m, double factor)
{
	struct cost_links links = links_fit(&n->links, fit, m->kind, m->ranks, m->all, m->bytes);
	double before = model_ns(&links, m), after;

	factor = fabs(factor - 1) < 0.01 ? 2 : factor;
	links = links_faster(&links, m->all, 1 / factor);
	after = model_ns(&links, m);
	return before > 0 ? fmin(fmax(1 - (after / before - 1) / (factor - 1), 0), 1) : 0;
}

/* Returns true if the line confirms the model, which also knows when NCCL changes its algorithm. */
static int line_agrees(const struct network *n, const struct fmt_network_fit *fit,
		       const struct modelled *m)
{
	struct modelled largest = *m;

	largest.bytes = (double)fit->largest_bytes;
	return fit->largest_bytes > 0 &&
	       links_agree(model_ns(&n->links.model, m),
			   (double)fmt_network_ns(fit, (int64_t)m->bytes)) &&
	       links_agree(model_ns(&n->links.model, &largest),
			   (double)fmt_network_ns(fit, fit->largest_bytes));
}

double network_factor(const struct network *n, uint32_t template, uint32_t comm, int64_t bytes,
		      double latency, double bandwidth)
{
	const struct fmt_network_fit *fit = network_fit(n, template, comm);
	double all = fit && bytes >= 0 ? (double)fmt_network_ns(fit, bytes) : 0, share = 0;
	struct modelled m = modelled(n, template, comm, bytes);
	int has_line = all > 0 && fit->latency_ns > 0;

	if (n->links.known && bytes >= 0 && (!has_line || line_agrees(n, fit, &m)))
		share = modelled_share(n, fit, &m, bandwidth);
	else if (has_line)
		share = (double)fit->latency_ns / all;
	return exp2(rint(log2(share * latency + (1 - share) * bandwidth) * 1024) / 1024);
}
