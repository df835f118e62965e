/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/value.h"

#include "formats/trace/json.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Returns true if no decimal with as many digits as `least` reads back as `rate`: such a decimal
 * would differ by at most 2^-53 of it. Printing and reading takes ten times as long. False if
 * uncertain. */
static bool too_few(double rate, double least)
{
	long double power = 1, off;

	for (int i = 0; rate * power < least; i++) {
		if (i == 27 || LDBL_MANT_DIG < 64) /* 10^27 is exact there, and no further */
			return false;
		power *= 10;
	}
	off = rate * power - rintl(rate * power);
	return fabsl(off) > rate * power * 0x1.03p-53L;
}

int fmt_rate_text(int64_t bytes, int64_t ns, char *ret)
{
	double rate = ns > 0 ? (double)bytes / (double)ns : 0;

	/* 15 digits suffice for some doubles, and 17 for all. */
	for (int digits = 15; digits < 17; digits++) {
		int n;

		if (too_few(rate, digits == 15 ? 1e14 : 1e15))
			continue;
		n = snprintf(ret, FMT_RATE_TEXT, "%.*g", digits, rate);
		if (strtod(ret, NULL) == rate)
			return n;
	}
	return snprintf(ret, FMT_RATE_TEXT, "%.17g", rate);
}

/* The value of argument `arg`: its constant, or the event's own. */
static int64_t value_of(const struct fmt_template *s, const int64_t *values, uint32_t arg)
{
	uint32_t varying = 0;

	if (!s->args[arg].varies)
		return s->args[arg].value;
	for (uint32_t i = 0; i < arg; i++)
		varying += s->args[i].varies;
	return values[varying];
}

int fmt_value_int(const struct fmt_names *n, const struct fmt_event *e,
		  const struct fmt_template *s, const int64_t *values, const char *key,
		  int64_t *ret)
{
	for (uint32_t i = 0; i < s->n_args; i++) {
		const struct fmt_arg *a = &s->args[i];

		if (a->type != FMT_INT && a->type != FMT_CORRELATION)
			continue;
		if (strcmp(fmt_string(n, a->key, NULL), key) != 0)
			continue;
		*ret = a->type == FMT_INT ? value_of(s, values, i) : (int64_t)e->correlation;
		return 1;
	}
	return 0;
}

void fmt_value_dims(const char *text, uint32_t ret[3])
{
	if (strpbrk(text, "+-") ||
	    sscanf(text, " [%" SCNu32 " ,%" SCNu32 " ,%" SCNu32, &ret[0], &ret[1], &ret[2]) != 3)
		memset(ret, 0, 3 * sizeof(*ret));
}

static void rate(struct text *t, const struct fmt_names *n, const struct fmt_event *e,
		 const struct fmt_template *s, const int64_t *values, int64_t rest)
{
	char buf[FMT_RATE_TEXT];
	int64_t bytes = 0, ns;

	fmt_value_int(n, e, s, values, "bytes", &bytes);
	if (__builtin_add_overflow(e->duration_ns, rest, &ns))
		ns = 0;
	text_bytes(t, buf, (size_t)fmt_rate_text(bytes, ns, buf));
}

static void put_value(struct text *t, const struct fmt_names *n, const struct fmt_event *e,
		      const struct fmt_template *s, const int64_t *values, uint32_t arg, bool bare)
{
	int64_t v = value_of(s, values, arg);
	const char *string;
	size_t len;

	switch (s->args[arg].type) {
	case FMT_INT:
		text_i64(t, v);
		return;
	case FMT_CORRELATION:
		text_i64(t, (int64_t)e->correlation);
		return;
	case FMT_RATE:
		rate(t, n, e, s, values, v);
		return;
	default:
		break;
	}
	string = fmt_string(n, (fmt_str)v, &len);
	if (bare)
		text_bytes(t, string, len);
	else if (s->args[arg].type == FMT_JSON)
		fmt_json_value(t, string, len);
	else
		fmt_json_string(t, string, len);
}

void fmt_value_json(struct text *t, const struct fmt_names *n, const struct fmt_event *e,
		    const struct fmt_template *s, const int64_t *values, uint32_t arg)
{
	put_value(t, n, e, s, values, arg, false);
}

void fmt_value_text(struct text *t, const struct fmt_names *n, const struct fmt_event *e,
		    const struct fmt_template *s, const int64_t *values, uint32_t arg)
{
	put_value(t, n, e, s, values, arg, true);
}
