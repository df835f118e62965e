/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/fact_keys.h"

#include <string.h>

static bool has_same_fact(const struct fmt_names *names, uint32_t a, uint32_t b, const char *key)
{
	const char *x = fmt_fact_value(names, a, key), *y = fmt_fact_value(names, b, key);

	return x && y && strcmp(x, y) == 0;
}

bool fmt_same_process(const struct fmt_names *names, uint32_t a, uint32_t b)
{
	return a == b ||
	       (has_same_fact(names, a, b, "process") && has_same_fact(names, a, b, "host"));
}
