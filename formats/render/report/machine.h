/* SPDX-License-Identifier: Apache-2.0 */

/* Facts about the machine, as shown in reports. Internal to the reports. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

/* Returns the device of a rank's streams; NULL if unknown. */
const struct fmt_device *fmt_report_device(const struct fmt_trace *t, uint32_t rank);

/* Appends "CUDA driver 12.4, NCCL 2.21.5", or nothing. */
void fmt_report_versions(const struct fmt_trace *t, uint32_t rank, struct text *out);

/* Stored contents of buffers. */
struct fmt_report_contents {
	uint64_t images, images_kept, buffers;
	uint64_t bytes; /* size of the file of contents; 0: none */
};

struct fmt_report_contents fmt_report_contents(const struct fmt_trace *t);

/* Appends `ns` since 1970 as "2023-11-02 20:41:00.982811 UTC, "; nothing for a time outside the
 * calendar. */
void fmt_report_date(int64_t ns, struct text *out);

/* Returns true if a fact is short and useful enough to show in a report. */
bool fmt_report_is_shown(const struct fmt_names *names, const struct fmt_fact *fact);
