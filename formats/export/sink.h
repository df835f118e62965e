/* SPDX-License-Identifier: Apache-2.0 */

/* Where a rendering goes: into a text, or nowhere, and then its bytes are counted. So what says how
 * something looks says how long it is too. Internal to formats/export. */
#pragma once

#include "formats/export/template.h"

struct fmt_sink {
	struct text *text; /* NULL: only counted */
	uint64_t counted;
};

static inline void fmt_sink_bytes(struct fmt_sink *s, const char *bytes, size_t n)
{
	if (s->text)
		text_bytes(s->text, bytes, n);
	else
		s->counted += n;
}

static inline void fmt_sink_str(struct fmt_sink *s, const char *str)
{
	fmt_sink_bytes(s, str, strlen(str));
}

static inline void fmt_sink_u64(struct fmt_sink *s, uint64_t v)
{
	if (s->text)
		text_u64(s->text, v);
	else
		s->counted += fmt_u64_length(v);
}

static inline void fmt_sink_i64(struct fmt_sink *s, int64_t v)
{
	if (s->text)
		text_i64(s->text, v);
	else
		s->counted += fmt_i64_length(v);
}

/* As text_us(). */
static inline void fmt_sink_us(struct fmt_sink *s, int64_t ns)
{
	if (s->text)
		text_us(s->text, ns);
	else
		s->counted += (ns < 0) + strlen(".000") +
			      fmt_u64_length((ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000);
}
