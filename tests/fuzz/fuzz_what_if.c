/* SPDX-License-Identifier: Apache-2.0 */

/* Text behind --what-if: what is accepted can be parsed again. */
#include "base/scope.h"
#include "replay/what_if/what_if.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(free_ptr) char *spec = strndup((const char *)data, len);
	struct what_if *w, *again;
	struct what_if_error err;

	if (!spec)
		abort();
	if (what_if_parse(spec, &w, &err) < 0)
		return 0;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct what_if_change *c = &w->changes[i];

		if (c->speed < WHAT_IF_SLOWEST || c->speed > WHAT_IF_FASTEST ||
		    (c->n_ranks > 0 && !what_if_has_rank(c, c->ranks[0].last)))
			abort();
	}
	if (strchr(w->spec, '/') || what_if_parse(w->spec, &again, &err) < 0 || again->n != w->n)
		abort();
	what_if_free(again);
	what_if_free(w);
	return 0;
}
