/* SPDX-License-Identifier: Apache-2.0 */

/* The sections of a report in text. Internal to the reports. */
#pragma once

#include "formats/report/grid.h"
#include "formats/report/report.h"

struct fmt_page {
	const struct fmt_report *r;
	const struct fmt_names *names;
	struct text *out;
	bool colour;
	unsigned top;
};

/* Sums stay at the end of the scale, whatever a trace holds. */
static inline void fmt_sum_ns(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

void fmt_page_heading(const struct fmt_page *p, const char *title, const char *note);

size_t fmt_page_iterations(const struct fmt_page *p);

/* Whether the row is of an iteration, and not of what lies before or after them. */
bool fmt_report_inside(const struct fmt_report_gpu *g);

/* Where the time goes, by iteration and GPU (report_shares.c). */
void fmt_page_shares(const struct fmt_page *p);

/* Collectives, kernels, copies (report_ops.c). */
void fmt_page_ops(const struct fmt_page *p);
