/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/network.h"

#include "base/scope.h"
#include "formats/run/robust.h"
#include "formats/trace/json.h"

#include <stdio.h>

#define MOST_SIZES 256 /* sizes for computing slopes; more are subsampled */
#define MOST_NS ((double)(INT64_MAX / 4))
#define LEAST_SAMPLES 8 /* minimum number of samples for measuring the spread of ranks' ends */
#define NORMAL 1.4826	/* standard deviations in a median distance */

void fmt_network_done(struct fmt_network *n)
{
	free(n->fits);
	*n = (struct fmt_network){0};
}

/* ---- the fact ---- */

static double number(const char *object, size_t len, const char *key)
{
	const char *value;
	size_t n;
	double v;

	if (!fmt_json_member(object, len, key, &value, &n) || n == 0 || *value == '"')
		return 0;
	v = strtod(value, NULL);
	return v > 0 && v < MOST_NS ? v : 0;
}

static int read_fit(const char *object, size_t len, struct fmt_network *to)
{
	struct fmt_network_fit f = {
		.comm = (uint32_t)number(object, len, "comm"),
		.collectives = (int64_t)number(object, len, "collectives"),
		.sizes = (int64_t)number(object, len, "sizes"),
		.largest_bytes = (int64_t)number(object, len, "largest_bytes"),
		.typical_ns = (int64_t)number(object, len, "typical_ns"),
		.latency_ns = (int64_t)number(object, len, "latency_ns"),
		.ns_per_byte = number(object, len, "ns_per_byte"),
		.residual_ns = (int64_t)number(object, len, "residual_ns"),
		.noise_share = fmin(number(object, len, "noise_share"), 1),
	};
	const char *name;
	size_t n = fmt_json_member_text(object, len, "collective", &name);

	if (n == 0 || n >= sizeof(f.collective))
		return 0;
	memcpy(f.collective, name, n);
	if (array_reserve(&to->fits, to->n + 1, &to->cap) < 0)
		return -ENOMEM;
	to->fits[to->n++] = f;
	return 0;
}

int fmt_network_get(const struct fmt_names *n, struct fmt_network *ret)
{
	const char *at = fmt_fact_value(n, FMT_WHOLE_TRACE, FMT_NETWORK_KEY), *end, *object;
	size_t len = at ? strlen(at) : 0;

	*ret = (struct fmt_network){0};
	if (!at || !fmt_json_valid(at, len))
		return 0;
	for (end = at + len; fmt_json_element(&at, end, &object, &len) == 1;)
		if (read_fit(object, len, ret) < 0)
			return -ENOMEM;
	return 0;
}

int fmt_network_put(struct fmt_names *n, const struct fmt_network *network)
{
	scoped(text_done) struct text out = {0};
	struct fmt_json j = {.text = &out};

	fmt_json_open(&j, NULL, '[');
	for (size_t i = 0; i < network->n; i++) {
		const struct fmt_network_fit *f = &network->fits[i];

		fmt_json_open(&j, NULL, '{');
		fmt_json_i64(&j, "comm", f->comm);
		fmt_json_str(&j, "collective", f->collective);
		fmt_json_i64(&j, "collectives", f->collectives);
		fmt_json_i64(&j, "sizes", f->sizes);
		if (f->largest_bytes > 0)
			fmt_json_i64(&j, "largest_bytes", f->largest_bytes);
		if (f->typical_ns > 0)
			fmt_json_i64(&j, "typical_ns", f->typical_ns);
		fmt_json_i64(&j, "latency_ns", f->latency_ns);
		fmt_json_double(&j, "ns_per_byte", f->ns_per_byte, 9);
		fmt_json_i64(&j, "residual_ns", f->residual_ns);
		fmt_json_double(&j, "noise_share", f->noise_share, 6);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, ']');
	return fmt_names_fact_text(n, FMT_WHOLE_TRACE, FMT_NETWORK_KEY, &out);
}

const struct fmt_network_fit *fmt_network_find(const struct fmt_network *n, uint32_t comm,
					       const char *collective)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->fits[i].comm == comm && strcmp(n->fits[i].collective, collective) == 0)
			return &n->fits[i];
	return NULL;
}

int64_t fmt_network_ns(const struct fmt_network_fit *f, int64_t bytes)
{
	double ns = bytes < 0 ? (double)f->typical_ns
			      : (double)f->latency_ns + f->ns_per_byte * (double)bytes;

	return (int64_t)(ns < MOST_NS ? ns : MOST_NS);
}

/* ---- the line ---- */

static int by_kind_and_size(const void *x, const void *y)
{
	const struct fmt_network_sample *a = x, *b = y;

	return array_order(a->comm, b->comm) ?: array_order(a->collective, b->collective)
	       ?: array_order(a->bytes, b->bytes) ?: array_order(a->transfer_ns, b->transfer_ns);
}

/* Lists the median sample of each size; `to` has space for MOST_SIZES. Returns the total number of
 * sizes. */
static size_t list_sizes(const struct fmt_network_sample *s, size_t n,
			 const struct fmt_network_sample **to, size_t *n_to)
{
	size_t sizes = 0, every, k = 0;

	for (size_t i = 0; i < n; i++)
		sizes += i == 0 || s[i].bytes != s[i - 1].bytes;
	every = sizes / MOST_SIZES + 1;
	*n_to = 0;
	for (size_t first = 0, end; first < n; first = end, k++) {
		for (end = first; end < n && s[end].bytes == s[first].bytes;)
			end++;
		if (k % every == 0)
			to[(*n_to)++] = &s[first + (end - 1 - first) / 2];
	}
	return sizes;
}

struct slope {
	double ns_per_byte, weight;
};

static int by_slope(const void *x, const void *y)
{
	const struct slope *a = x, *b = y;

	return array_order(a->ns_per_byte, b->ns_per_byte);
}

/* Returns the median slope between two sizes, weighted by their distance; at least 0. */
static int fit_slope(const struct fmt_network_sample *const *s, size_t n, double *ret)
{
	scoped(free_ptr) struct slope *slopes = malloc((n * (n - 1) / 2 + 1) * sizeof(*slopes));
	double all = 0, sum = 0;
	size_t k = 0;

	if (!slopes)
		return -ENOMEM;
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			double apart = (double)s[i]->bytes - (double)s[j]->bytes;
			double longer = (double)s[i]->transfer_ns - (double)s[j]->transfer_ns;

			slopes[k++] = (struct slope){longer / apart, apart};
			all += apart;
		}
	if (k > 0)
		qsort(slopes, k, sizeof(*slopes), by_slope);
	for (size_t i = 0; i < k; i++) {
		sum += slopes[i].weight;
		if (sum * 2 >= all) {
			*ret = slopes[i].ns_per_byte > 0 ? slopes[i].ns_per_byte : 0;
			return 0;
		}
	}
	return 0;
}

/* Estimates the variance of the shortest possible transfer from the mean spread of ends, assuming
 * that n ranks leave evenly within a time. */
static double noise_of(const struct fmt_network_sample *s, size_t n)
{
	double within = 0, variance = 0;
	size_t even = 0;

	for (size_t i = 0; i < n; i++) {
		double ranks = s[i].n_ranks;

		if (s[i].apart_ns < 0 || s[i].n_ranks < 2)
			continue;
		within += (double)s[i].apart_ns * (ranks + 1) / (ranks - 1);
		variance += ranks / ((ranks - 1) * (ranks + 1) * (ranks + 2));
		even++;
	}
	if (even < LEAST_SAMPLES)
		return 0;
	within /= (double)even;
	return within * within * variance / (double)even;
}

/* Measures the distances of samples from the line. `space` is for n values. */
static void fit_residual(const struct fmt_network_sample *s, size_t n, double *space,
			 struct fmt_network_fit *f)
{
	double deviation;

	for (size_t i = 0; i < n; i++)
		space[i] = fabs((double)s[i].transfer_ns - (double)fmt_network_ns(f, s[i].bytes));
	f->residual_ns = (int64_t)fmin(robust_median(space, n), MOST_NS);
	deviation = NORMAL * (double)f->residual_ns;
	f->noise_share = deviation > 0 ? fmin(noise_of(s, n) / (deviation * deviation), 1) : 0;
}

/* Messages of unknown, possibly different sizes: mean and variance preserve the sum of transfers,
 * and a single outlier leaves no share to noise. */
static void fit_typical(const struct fmt_network_sample *s, size_t n, struct fmt_network_fit *f)
{
	double mean = 0, variance = 0;

	for (size_t i = 0; i < n; i++)
		mean += (double)s[i].transfer_ns / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = (double)s[i].transfer_ns - mean;

		variance += off * off / (double)n;
	}
	f->typical_ns = (int64_t)fmin(mean, MOST_NS);
	f->residual_ns = (int64_t)fmin(sqrt(variance) / NORMAL, MOST_NS);
	f->noise_share = variance > 0 ? fmin(noise_of(s, n) / variance, 1) : 0;
}

/* Fits the line through samples of one communicator and kind. `space` is for 2 n values. */
static int fit_line(const struct fmt_network_sample *s, size_t n, double *space,
		    struct fmt_network_fit *f)
{
	const struct fmt_network_sample *sizes[MOST_SIZES];
	size_t n_sizes;
	double latency = 0;
	int r;

	while (n > 1 && s->bytes < 0 && s[n - 1].bytes >= 0)
		s++, n--;
	f->collectives = (int64_t)n;
	if (s->bytes < 0) {
		fit_typical(s, n, f);
		return 0;
	}
	f->largest_bytes = s[n - 1].bytes;
	f->sizes = (int64_t)list_sizes(s, n, sizes, &n_sizes);
	r = fit_slope(sizes, n_sizes, &f->ns_per_byte);
	if (r < 0)
		return r;
	if (f->sizes > 1) {
		for (size_t i = 0; i < n; i++)
			space[i] = (double)s[i].transfer_ns - f->ns_per_byte * (double)s[i].bytes;
		latency = robust_mean(space, n, INFINITY, space + n);
	}
	if (latency <= 0) {
		latency = 0;
		for (size_t i = 0; i < n; i++)
			space[i] = (double)s[i].transfer_ns / (double)s[i].bytes;
		f->ns_per_byte = fmax(0, robust_mean(space, n, INFINITY, space + n));
	}
	f->latency_ns = (int64_t)fmin(latency, MOST_NS);
	fit_residual(s, n, space, f);
	return 0;
}

int fmt_network_fit(const struct fmt_names *n, struct fmt_network_sample *samples, size_t n_samples,
		    struct fmt_network *ret)
{
	scoped(free_ptr) double *space = malloc((n_samples + 1) * 2 * sizeof(*space));
	int r = space ? 0 : -ENOMEM;

	if (n_samples > 0)
		qsort(samples, n_samples, sizeof(*samples), by_kind_and_size);
	for (size_t first = 0, end; first < n_samples && r == 0; first = end) {
		const struct fmt_network_sample *s = &samples[first];
		struct fmt_network_fit f = {.comm = s->comm};
		const char *name = fmt_string(n, s->collective, NULL);

		for (end = first; end < n_samples && samples[end].comm == s->comm &&
				  samples[end].collective == s->collective;)
			end++;
		if (array_reserve(&ret->fits, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		snprintf(f.collective, sizeof(f.collective), "%s", name);
		r = fit_line(s, end - first, space, &f);
		ret->fits[ret->n++] = f;
	}
	return r;
}
