/* SPDX-License-Identifier: Apache-2.0 */

/* The report of `gputrace info --sizes`. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/sizes.h"

#include <stdbool.h>

struct info_sizes {
	const struct fmt_trace *trace;
	struct fmt_size_row rows[FMT_SIZE_ROWS];
	uint32_t n_rows;
};

void info_sizes_text(const struct info_sizes *s, bool colour, struct text *out);
void info_sizes_json(const struct info_sizes *s, struct text *out);
