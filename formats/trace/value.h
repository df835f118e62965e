/* SPDX-License-Identifier: Apache-2.0 */

/* Formats an argument of an event for the mount, the exporters and the reports. Thread-safe: reads
 * only its arguments. */
#pragma once

#include "base/text.h"
#include "formats/trace/names.h"

/* Returns the values of an event of the slice; NULL if the slice was loaded without them. */
static inline const int64_t *fmt_event_values(const struct fmt_slice *s, const struct fmt_event *e)
{
	return s->values ? s->values + e->first_value : NULL;
}

/* Appends argument `arg` of `e`, whose template is `s`, as a JSON value. `values` are
 * fmt_event_values(). */
void fmt_value_json(struct text *t, const struct fmt_names *n, const struct fmt_event *e,
		    const struct fmt_template *s, const int64_t *values, uint32_t arg);

/* Appends the argument as text: strings are neither quoted nor escaped. */
void fmt_value_text(struct text *t, const struct fmt_names *n, const struct fmt_event *e,
		    const struct fmt_template *s, const int64_t *values, uint32_t arg);

/* Finds the integer argument `key` of `e`, constant or varying, FMT_INT or FMT_CORRELATION. Returns
 * 1 if found, else 0. */
int fmt_value_int(const struct fmt_names *n, const struct fmt_event *e,
		  const struct fmt_template *s, const int64_t *values, const char *key,
		  int64_t *ret);

/* Reads a list of three numbers, such as the grid of a kernel: "[8, 2, 1]". Zeroes *ret for other
 * texts, also for signs. */
void fmt_value_dims(const char *text, uint32_t ret[3]);

#define FMT_RATE_TEXT 32
/* Formats `bytes` / `ns` in GB/s (bytes per nanosecond): the shortest decimal that reads back as
 * the same double. Returns its length. "0" for ns <= 0. */
int fmt_rate_text(int64_t bytes, int64_t ns, char *ret);
