/* SPDX-License-Identifier: Apache-2.0 */

/* A robust mean: the mean of the numbers near the median. For evenly spread numbers it is more
 * accurate than the median. */
#pragma once

#include "base/array.h"

#include <math.h>

#define ROBUST_LEAST 8 /* for fewer numbers the median is used */

static inline int robust_order(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return array_order(a, b);
}

static inline double robust_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), robust_order);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* Returns the mean, excluding numbers further from the median than 4.5 times the median distance,
 * or than `most`. Sorts v[0 .. n), n > 0; `space` has room for n numbers. */
static inline double robust_mean(double *v, size_t n, double most, double *space)
{
	double median = robust_median(v, n), within, sum = 0;
	size_t near = 0;

	if (n < ROBUST_LEAST)
		return median;
	for (size_t i = 0; i < n; i++)
		space[i] = fabs(v[i] - median);
	within = fmin(4.5 * robust_median(space, n), most);
	for (size_t i = 0; i < n; i++) {
		if (fabs(v[i] - median) > within)
			continue;
		sum += v[i] - median;
		near++;
	}
	return near > 0 ? median + sum / (double)near : median;
}
