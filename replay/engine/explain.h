/* SPDX-License-Identifier: Apache-2.0 */

/* Why a changed run takes the time that it does: its critical path beside that of the emulated run,
 * and how far the prediction may be off. */
#pragma once

#include "replay/engine/report.h"

/* The error bar of the mean step of a changed run, and its parts. */
struct replay_bar {
	double emulation_ns; /* the recorded steps are reproduced with this error, on average */
	double fixed_ns;   /* not scaled, on the critical path: if it changed as much as the step */
	double unknown_ns; /* waiting in collectives that is not known apart, likewise */
	double total_ns;
};

struct replay_bar replay_bar(const struct replay_report *r, uint32_t what_if);

/* "critical_path": {...} and "error_bar": {...}, each followed by a comma and a new line. */
void replay_explain_json(const struct replay_report *r, uint32_t what_if, struct text *out);

/* Tables of all changed runs. */
void replay_explain_text(const struct replay_report *r, int colour, struct text *out);
