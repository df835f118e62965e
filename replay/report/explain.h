/* SPDX-License-Identifier: Apache-2.0 */

/* Explains the time of a changed run: its critical path beside that of the emulated run, and the
 * uncertainty of the prediction. */
#pragma once

#include "replay/report/report.h"

/* The error bar of the mean step of a changed run, and its parts. */
struct replay_error_bar {
	double emulation_ns; /* mean error of the emulated steps */
	double fixed_ns;   /* the unscaled time on the critical path, if it scaled like the step */
	double unknown_ns; /* waits in collectives that cannot be separated from transfers, if they
			      scaled like the step */
	double total_ns;
};

struct replay_error_bar replay_error_bar(const struct replay_report *r, uint32_t what_if);

/* "critical_path": {...} and "error_bar": {...}, each followed by a comma and a new line. */
void replay_explain_json(const struct replay_report *r, uint32_t what_if, struct text *out);

/* Appends tables of all changed runs. */
void replay_explain_text(const struct replay_report *r, int colour, struct text *out);
