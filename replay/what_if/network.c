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

int network_init(struct network *n, const struct fmt_names *names)
{
	*n = (struct network){.names = names, .n_comms = fmt_n_comms(names)};
	n->first = calloc(n->n_comms + 1ul, sizeof(*n->first));
	if (!n->first || fmt_network_get(names, &n->lines) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->n_comms; i++)
		n->first[i] = (uint32_t)n->lines.n;
	for (size_t i = n->lines.n; i-- > 0;)
		if (n->lines.fits[i].comm < n->n_comms)
			n->first[n->lines.fits[i].comm] = (uint32_t)i;
	return 0;
}

const struct fmt_network_fit *network_fit(const struct network *n, uint32_t template, uint32_t comm)
{
	int64_t op;
	const char *name;

	if (comm >= n->n_comms ||
	    !fmt_template_const(n->names, fmt_template(n->names, template), FMT_KEY_OP, &op))
		return NULL;
	name = fmt_string(n->names, (fmt_str)op, NULL);
	for (size_t i = n->first[comm]; i < n->lines.n && n->lines.fits[i].comm == comm; i++)
		if (strcmp(n->lines.fits[i].collective, name) == 0)
			return &n->lines.fits[i];
	return NULL;
}

double network_factor(const struct fmt_network_fit *fit, int64_t bytes, double latency,
		      double bandwidth)
{
	double all = fit && bytes >= 0 ? (double)fmt_network_ns(fit, bytes) : 0;
	double share = all > 0 ? (double)fit->latency_ns / all : 0;

	return exp2(rint(log2(share * latency + (1 - share) * bandwidth) * 1024) / 1024);
}
