/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json.h"

#include <stdbool.h>

#define MAX_EXPONENT 400

/* A number as digits * 10^shift. Digits beyond the 19th, which 64 bits hold, are dropped. */
struct decimal {
	uint64_t digits;
	int64_t shift;
	int n;
	bool negative, lost;
};

static const char *digits(const char *s, const char *end, struct decimal *d, int step)
{
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (d->n < 19) {
			d->digits = d->digits * 10 + (uint64_t)(*s - '0');
			d->n += d->digits != 0;
			d->shift -= step;
		} else {
			d->lost |= *s != '0';
			d->shift += 1 - step;
		}
	}
	return s;
}

static int exponent(const char *s, const char *end, struct decimal *d)
{
	bool negative = s < end && *s == '-';
	int e = 0;

	if (s < end && (*s == '-' || *s == '+'))
		s++;
	for (; s < end && *s >= '0' && *s <= '9'; s++)
		e = e > MAX_EXPONENT ? e : e * 10 + (*s - '0');
	d->shift += negative ? -e : e;
	return s == end ? 0 : -EINVAL;
}

static int parse(const char *s, size_t len, struct decimal *d)
{
	const char *end = s + len;

	d->negative = s < end && *s == '-';
	s += d->negative;
	if (s == end || *s < '0' || *s > '9')
		return -EINVAL;
	s = digits(s, end, d, 0);
	if (s < end && *s == '.')
		s = digits(s + 1, end, d, 1);
	if (s < end && (*s == 'e' || *s == 'E'))
		return exponent(s + 1, end, d);
	return s == end ? 0 : -EINVAL;
}

int kineto_time_ns(const char *s, size_t len, int64_t *ret, int *rounded)
{
	struct decimal d = {0};
	int64_t v;
	int r = parse(s, len, &d);

	if (r < 0)
		return r;
	d.shift += 3; /* us to ns */
	for (; d.shift < 0 && d.digits; d.shift++) {
		d.lost |= d.digits % 10 != 0;
		d.digits /= 10;
	}
	if (d.digits > INT64_MAX)
		return -ERANGE;
	v = (int64_t)d.digits;
	for (; d.shift > 0 && v; d.shift--) {
		if (__builtin_mul_overflow(v, 10, &v))
			return -ERANGE;
	}
	if (d.lost)
		*rounded = 1;
	*ret = d.negative ? -v : v;
	return 0;
}
