/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/fourier.h"

#include "base/scope.h"
#include "replay/emugpu/math/complex_element.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Working memory for one dimension of n elements. */
struct line {
	size_t n;
	double complex *roots, *in, *out, *terms; /* n of each */
};

static size_t smallest_factor(size_t n)
{
	for (size_t p = 2; p * p <= n; p++)
		if (n % p == 0)
			return p;
	return n;
}

double emu_fourier_operations(const struct emu_fourier *f)
{
	double elements = (double)f->size[0] * (double)f->size[1] * (double)f->size[2], sum = 0;

	for (int d = 0; d < 3; d++)
		for (size_t n = (size_t)f->size[d], p; n > 1; n /= p) {
			p = smallest_factor(n);
			sum += (double)p;
		}
	return 8 * elements * sum;
}

/* Transforms n elements of `in`, `stride` apart, by the smallest factor of n (Cooley and Tukey,
 * Mathematics of Computation 19, 1965). */
static void transform(const struct line *l, size_t n, size_t stride, const double complex *in,
		      double complex *out)
{
	size_t p = smallest_factor(n), m = n / p;

	if (n == 1) {
		out[0] = in[0];
		return;
	}
	for (size_t r = 0; r < p; r++)
		transform(l, m, stride * p, in + r * stride, out + r * m);
	for (size_t k = 0; k < m; k++) {
		for (size_t r = 0; r < p; r++)
			l->terms[r] = out[r * m + k] * l->roots[r * k * stride % l->n];
		for (size_t q = 0; q < p; q++) {
			double complex sum = l->terms[0];

			for (size_t r = 1; r < p; r++)
				sum += l->terms[r] * l->roots[r * q % p * (l->n / p)];
			out[q * m + k] = sum;
		}
	}
}

/* Transforms all lines of one dimension of `data`. */
static void transform_all(const struct line *l, const int64_t size[3], int dimension,
			  double complex *data)
{
	size_t inner = 1, outer = 1;

	for (int d = 0; d < 3; d++) {
		inner *= d > dimension ? (size_t)size[d] : 1;
		outer *= d < dimension ? (size_t)size[d] : 1;
	}
	for (size_t i = 0; i < inner * outer; i++) {
		double complex *at = data + i / inner * inner * l->n + i % inner;

		for (size_t k = 0; k < l->n; k++)
			l->in[k] = at[k * inner];
		transform(l, l->n, 1, l->in, l->out);
		for (size_t k = 0; k < l->n; k++)
			at[k * inner] = l->out[k];
	}
}

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

static int64_t offset_in(const struct emu_fourier_side *s, int64_t b, const int64_t i[3])
{
	return b * s->distance + ((i[0] * s->embed[1] + i[1]) * s->embed[2] + i[2]) * s->stride;
}

/* The elements that the half of a Hermitian array does not contain are conjugates of those with
 * negated indices. */
static void load(const struct emu_fourier *f, int64_t b, double complex *data)
{
	int64_t half =
		is_complex(f->in.type) && !is_complex(f->out.type) ? f->size[2] / 2 : f->size[2];
	int64_t i[3];

	for (i[0] = 0; i[0] < f->size[0]; i[0]++)
		for (i[1] = 0; i[1] < f->size[1]; i[1]++)
			for (i[2] = 0; i[2] < f->size[2]; i[2]++) {
				int64_t other[3];

				for (int d = 0; d < 3; d++)
					other[d] = i[2] > half ? (f->size[d] - i[d]) % f->size[d]
							       : i[d];
				*data = emu_load_complex(f->in.type, f->in.data,
							 offset_in(&f->in, b, other));
				if (i[2] > half)
					*data = conj(*data);
				data++;
			}
}

static void store(const struct emu_fourier *f, int64_t b, const double complex *data)
{
	int halves = is_complex(f->out.type) && !is_complex(f->in.type);
	int64_t i[3];

	for (i[0] = 0; i[0] < f->size[0]; i[0]++)
		for (i[1] = 0; i[1] < f->size[1]; i[1]++)
			for (i[2] = 0; i[2] < f->size[2]; i[2]++, data++)
				if (!halves || i[2] <= f->size[2] / 2)
					emu_store_complex(f->out.type,
							  (void *)(uintptr_t)f->out.data,
							  offset_in(&f->out, b, i), *data);
}

static int run_dimension(const struct emu_fourier *f, int dimension, double complex *data)
{
	size_t n = (size_t)f->size[dimension];
	scoped(free_ptr) double complex *memory = malloc(4 * n * sizeof(*memory));
	struct line l = {n, memory, memory + n, memory + 2 * n, memory + 3 * n};

	if (!memory)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		double angle = (f->inverse ? 2 : -2) * M_PI * (double)k / (double)n;

		l.roots[k] = emu_complex(cos(angle), sin(angle));
	}
	transform_all(&l, f->size, dimension, data);
	return 0;
}

int emu_fourier_run(const struct emu_fourier *f)
{
	size_t elements = (size_t)(f->size[0] * f->size[1] * f->size[2]);
	scoped(free_ptr) double complex *data = malloc(elements * sizeof(*data));
	int r = data ? 0 : -ENOMEM;

	for (int64_t b = 0; r == 0 && b < f->batch; b++) {
		load(f, b, data);
		for (int d = 0; r == 0 && d < 3; d++)
			if (f->size[d] > 1)
				r = run_dimension(f, d, data);
		if (r == 0)
			store(f, b, data);
	}
	return r;
}
