/* SPDX-License-Identifier: Apache-2.0 */

/* The report of an import. */
#pragma once

#include "base/text.h"
#include "formats/run/kineto/kineto.h"
#include "formats/trace/store/trace.h"

/* Renders the report of an import that wrote `trace` to the path `output`. */
void import_report_text(struct text *t, const struct kineto_report *r, const char *output,
			const struct fmt_trace *trace);
void import_report_json(struct text *t, const struct kineto_report *r, const char *output,
			const struct fmt_trace *trace);
