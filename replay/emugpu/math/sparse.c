/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/sparse.h"

#include "base/scope.h"
#include "replay/emugpu/math/complex_element.h"

#include <errno.h>
#include <stdlib.h>

/* Adds entry `e`, in row `i`, to the sums of op(A) op(B). Ignores indices outside of A. */
static void add_entry(const struct emu_sparse *a, uint8_t op, const struct emu_matrix *b,
		      int64_t columns, int64_t i, int64_t e, double complex *sums)
{
	int64_t j = (int64_t)emu_load(a->index_type, a->column_indices, e) - a->base;
	double complex v = emu_load_complex(a->type, a->values, e);
	int64_t to = op == 'N' ? i : j, from = op == 'N' ? j : i;

	if (i < 0 || i >= a->rows || j < 0 || j >= a->columns)
		return;
	v = op == 'C' ? conj(v) : v;
	for (int64_t c = 0; c < columns; c++) {
		double complex x =
			emu_load_complex(b->type, b->data, from * b->row + c * b->column);

		sums[to * columns + c] += v * (b->conjugate ? conj(x) : x);
	}
}

static void add_rows(const struct emu_sparse *a, uint8_t op, const struct emu_matrix *b,
		     int64_t columns, double complex *sums)
{
	for (int64_t i = 0; i < a->rows; i++) {
		int64_t e = (int64_t)emu_load(a->offset_type, a->offsets, i) - a->base;
		int64_t end = (int64_t)emu_load(a->offset_type, a->offsets, i + 1) - a->base;

		for (; e >= 0 && e < end && e < a->entries; e++)
			add_entry(a, op, b, columns, i, e, sums);
	}
}

int emu_sparse_product(const struct emu_sparse *a, uint8_t op, const struct emu_matrix *b,
		       const struct emu_matrix *c, int64_t columns, const double alpha[2],
		       const double beta[2])
{
	double complex by = emu_complex(alpha[0], alpha[1]), keep = emu_complex(beta[0], beta[1]);
	int64_t rows = op == 'N' ? a->rows : a->columns;
	scoped(free_ptr) double complex *sums = calloc((size_t)(rows * columns) + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	if (a->offsets)
		add_rows(a, op, b, columns, sums);
	for (int64_t e = 0; !a->offsets && e < a->entries; e++)
		add_entry(a, op, b, columns,
			  (int64_t)emu_load(a->index_type, a->row_indices, e) - a->base, e, sums);
	for (int64_t i = 0; i < rows * columns; i++) {
		int64_t at = i / columns * c->row + i % columns * c->column;
		double complex v = by * sums[i];

		if (keep != 0)
			v += keep * emu_load_complex(c->type, c->data, at);
		emu_store_complex(c->type, (void *)(uintptr_t)c->data, at, v);
	}
	return 0;
}

void emu_sparse_offsets(const struct emu_sparse *a, int32_t *ret)
{
	int64_t row = 0;

	for (int64_t e = 0; e < a->entries; e++) {
		int64_t i = (int64_t)emu_load(a->index_type, a->row_indices, e) - a->base;

		while (row <= i && row <= a->rows)
			ret[row++] = (int32_t)(e + a->base);
	}
	while (row <= a->rows)
		ret[row++] = (int32_t)(a->entries + a->base);
}
