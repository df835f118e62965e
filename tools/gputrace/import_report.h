/* SPDX-License-Identifier: Apache-2.0 */

/* What an import says when it is done. */
#pragma once

#include "base/text.h"
#include "formats/run/kineto/kineto.h"
#include "formats/trace/store/trace.h"

/* Renders the report of an import that wrote `trace`, which `output` names. */
void import_report_text(struct text *t, const struct kineto_report *r, const char *output,
			const struct fmt_trace *trace);
void import_report_json(struct text *t, const struct kineto_report *r, const char *output,
			const struct fmt_trace *trace);
