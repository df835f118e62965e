/* SPDX-License-Identifier: Apache-2.0 */

/* The strings of a trace as JSON. Most need no escaping; that is found out once a string. For one
 * thread at a time. Internal to formats/render/export. */
#pragma once

#include "base/text.h"
#include "formats/trace/names.h"

#include <stdbool.h>

struct fmt_chrome_values {
	const struct fmt_names *names;
	uint8_t *looks; /* by string */
	size_t n_looks, looks_cap;
};

void fmt_chrome_values_done(struct fmt_chrome_values *v);

/* A string, quoted; or of FMT_JSON, which is a value already. */
void fmt_chrome_string(struct fmt_chrome_values *v, fmt_str s, bool is_json, struct text *out);
