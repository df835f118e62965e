/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/factor.h"

#include "base/scope.h"
#include "replay/emugpu/math/complex_element.h"
#include "replay/emugpu/math/vector.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int64_t index_of(const struct emu_matrix *m, int64_t i, int64_t j)
{
	return i * m->row + j * m->column;
}

static double complex load(const struct emu_matrix *m, int64_t i, int64_t j)
{
	return emu_load_complex(m->type, m->data, index_of(m, i, j));
}

static void store(const struct emu_matrix *m, int64_t i, int64_t j, double complex v)
{
	emu_store_complex(m->type, (void *)(uintptr_t)m->data, index_of(m, i, j), v);
}

/* Computes L of A = L L^H, column by column; rows are adjacent in memory. Returns the info. */
static int cholesky(double complex *l, int64_t n)
{
	for (int64_t j = 0; j < n; j++) {
		for (int64_t i = j; i < n; i++) {
			double complex sum = l[i * n + j];

			for (int64_t k = 0; k < j; k++)
				sum -= l[i * n + k] * conj(l[j * n + k]);
			if (i == j && !(creal(sum) > 0))
				return (int)j + 1;
			l[i * n + j] = i == j ? sqrt(creal(sum)) : sum / l[j * n + j];
		}
	}
	return 0;
}

static int64_t largest_in_column(const double complex *a, int64_t m, int64_t n, int64_t j)
{
	int64_t best = j;

	for (int64_t i = j + 1; i < m; i++)
		if (cabs(a[i * n + j]) > cabs(a[best * n + j]))
			best = i;
	return best;
}

/* Computes L and U in place; rows are adjacent in memory. Returns the info. */
static int lu(double complex *a, int64_t m, int64_t n, int32_t *pivots)
{
	int info = 0;

	for (int64_t j = 0; j < m && j < n; j++) {
		int64_t pivot = pivots ? largest_in_column(a, m, n, j) : j;

		if (pivots)
			pivots[j] = (int32_t)pivot + 1;
		if (a[pivot * n + j] == 0) {
			info = info ? info : (int)j + 1;
			continue;
		}
		for (int64_t k = 0; pivot != j && k < n; k++) {
			double complex v = a[j * n + k];

			a[j * n + k] = a[pivot * n + k];
			a[pivot * n + k] = v;
		}
		for (int64_t i = j + 1; i < m; i++) {
			double complex factor = a[i * n + j] / a[j * n + j];

			a[i * n + j] = factor;
			for (int64_t k = j + 1; k < n; k++)
				a[i * n + k] -= factor * a[j * n + k];
		}
	}
	return info;
}

/* Returns A by rows; of a Hermitian matrix with an upper triangle, its conjugate as the lower one.
 * NULL if out of memory. */
static double complex *load_rows(const struct emu_matrix *a, int64_t m, int64_t n, uint8_t fill)
{
	double complex *rows = malloc((size_t)(m * n + 1) * sizeof(*rows));

	for (int64_t i = 0; rows && i < m; i++)
		for (int64_t j = 0; j < n; j++)
			rows[i * n + j] = fill == 'U' ? conj(load(a, j, i)) : load(a, i, j);
	return rows;
}

int emu_factor(const struct emu_matrix *a, int64_t m, int64_t n, uint8_t fill, int32_t *pivots,
	       int *info)
{
	scoped(free_ptr) double complex *rows = load_rows(a, m, n, fill);

	if (!rows)
		return -ENOMEM;
	*info = fill ? cholesky(rows, n) : lu(rows, m, n, pivots);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n && !(fill && j > i); j++) {
			if (fill == 'U')
				store(a, j, i, conj(rows[i * n + j]));
			else
				store(a, i, j, rows[i * n + j]);
		}
	return 0;
}

/* Exchanges rows of B, in the order of the factorisation or in reverse. */
static void exchange(const struct emu_matrix *b, int64_t n, int64_t columns, const int32_t *pivots,
		     int back)
{
	for (int64_t s = 0; pivots && s < n; s++) {
		int64_t i = back ? n - 1 - s : s, other = pivots[i] - 1;

		for (int64_t j = 0; other >= 0 && other < n && other != i && j < columns; j++) {
			double complex v = load(b, i, j);

			store(b, i, j, load(b, other, j));
			store(b, other, j, v);
		}
	}
}

/* Solves T X = B for a triangle of A, or for its transpose ('T', 'C'). */
static int solve(const struct emu_matrix *a, int upper, int unit, uint8_t op,
		 const struct emu_matrix *b, int64_t n, int64_t columns)
{
	struct emu_triangle t = {.a = *a,
				 .upper = (uint8_t)(upper == (op == 'N')),
				 .unit = (uint8_t)unit,
				 .m = n,
				 .n = columns,
				 .alpha = {1, 0},
				 .b = *b,
				 .x = *b};

	if (op != 'N') {
		t.a.row = a->column;
		t.a.column = a->row;
		t.a.conjugate = op == 'C';
	}
	return emu_trsm(&t);
}

int emu_factor_solve(const struct emu_matrix *a, int64_t n, uint8_t fill, uint8_t op,
		     const int32_t *pivots, const struct emu_matrix *b, int64_t columns)
{
	int upper = fill == 'U', r;

	if (fill) {
		r = solve(a, upper, 0, upper ? 'C' : 'N', b, n, columns);
		return r ? r : solve(a, upper, 0, upper ? 'N' : 'C', b, n, columns);
	}
	if (op == 'N') {
		exchange(b, n, columns, pivots, 0);
		r = solve(a, 0, 1, op, b, n, columns);
		return r ? r : solve(a, 1, 0, op, b, n, columns);
	}
	r = solve(a, 1, 0, op, b, n, columns);
	if (r == 0)
		r = solve(a, 0, 1, op, b, n, columns);
	if (r == 0)
		exchange(b, n, columns, pivots, 1);
	return r;
}
