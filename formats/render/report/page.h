/* SPDX-License-Identifier: Apache-2.0 */

/* The sections of a report in text. Internal to the reports. */
#pragma once

#include "formats/render/grid.h"
#include "formats/render/report/report.h"

struct fmt_page {
	const struct fmt_report *r;
	const struct fmt_names *names;
	const char *unit; /* "GPU"; "rank" if ranks share GPUs */
	struct text *out;
	bool colour;
	unsigned top;
};

void fmt_page_heading(const struct fmt_page *p, const char *title, const char *note);

/* Returns the number of GPUs in the report's part. */
uint32_t fmt_page_gpus(const struct fmt_report *r);

size_t fmt_page_iterations(const struct fmt_page *p);

/* Returns true if the row is an iteration, not the time before or after all iterations. */
bool fmt_report_is_iteration(const struct fmt_report_gpu *g);

/* Prints the division of time, by iteration and GPU (shares.c). */
void fmt_page_shares(const struct fmt_page *p);

/* Prints collectives, kernels and copies (ops.c). */
void fmt_page_ops(const struct fmt_page *p);
