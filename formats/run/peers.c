/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/peers.h"

#include <string.h>

const char *fmt_template_peers(const struct fmt_names *n, const struct fmt_template *s)
{
	if (s->kind != FMT_COLLECTIVE)
		return NULL;
	for (uint32_t i = FMT_COLLECTIVE_ARGS; i < s->n_args; i++) {
		const struct fmt_arg *a = &s->args[i];

		if (a->type == FMT_JSON && !a->varies &&
		    strcmp(fmt_string(n, a->key, NULL), FMT_KEY_PEERS) == 0)
			return fmt_string(n, (fmt_str)a->value, NULL);
	}
	return NULL;
}

int fmt_peers_next(const char **at, uint32_t *rank)
{
	const char *s = *at + strspn(*at, "[, ");
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return 0;
	for (; *s >= '0' && *s <= '9' && v <= UINT32_MAX; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	*at = s;
	*rank = (uint32_t)v;
	return v <= UINT32_MAX;
}

int fmt_peers_contain(const char *list, uint32_t rank)
{
	uint32_t peer;

	while (fmt_peers_next(&list, &peer))
		if (peer == rank)
			return 1;
	return 0;
}
