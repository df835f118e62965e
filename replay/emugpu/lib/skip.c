/* SPDX-License-Identifier: Apache-2.0 */

/* Products of memory without values. */
#include "replay/emugpu/absent.h"
#include "replay/emugpu/lib/work.h"

/* The bias of such a product is omitted if the result has more elements than this. PyTorch's host
 * kernels do not compute so many either. */
#define MOST_BIASED 300000

static uint64_t extent_of(const struct emu_matrix *m, int64_t rows, int64_t columns)
{
	return (uint64_t)((rows - 1) * m->row + (columns - 1) * m->column + 1) *
	       emu_type_bytes(m->type);
}

static int is_undefined(const struct emu_matrix *m, int64_t rows, int64_t columns)
{
	uint64_t bytes = extent_of(m, rows, columns);

	/* Between the columns lies other memory, which may be absent. */
	if (bytes != (uint64_t)(rows * columns) * emu_type_bytes(m->type))
		return emu_is_absent(m->data, bytes);
	return emu_is_undefined(m->data, bytes);
}

static void clear_matrix(const struct emu_matrix *m, int64_t rows, int64_t columns)
{
	int64_t by_column = m->row == 1, inner = by_column ? rows : columns;
	int64_t outer = by_column ? columns : rows, stride = by_column ? m->column : m->row;

	if (stride == inner) {
		inner *= outer;
		outer = 1;
	}
	for (int64_t i = 0; i < outer; i++)
		emu_clear((char *)(uintptr_t)m->data +
				  i * stride * (int64_t)emu_type_bytes(m->type),
			  (uint64_t)inner * emu_type_bytes(m->type));
}

int emu_work_skip(const struct emu_gemm_work *w, const struct emu_gemm *g)
{
	int adds = g->beta[0] != 0 || g->beta[1] != 0;
	int no_a, no_b;

	if (w->fill || g->m < 1 || g->n < 1 || g->k < 1 || (g->d.row != 1 && g->d.column != 1) ||
	    (w->has_epilogue && g->m * g->n <= MOST_BIASED) ||
	    extent_of(&g->d, g->m, g->n) + extent_of(&g->a, g->m, g->k) +
			    extent_of(&g->b, g->k, g->n) <=
		    EMU_ABSENT_BYTES)
		return 0;
	no_a = is_undefined(&g->a, g->m, g->k);
	no_b = is_undefined(&g->b, g->k, g->n);
	if ((!no_a && !no_b) || (adds && !is_undefined(&g->c, g->m, g->n)))
		return 0;
	if (w->sum_of && !(w->sum_of == 'A' ? no_a : no_b))
		return 0;
	/* Zeros that the program wrote have a bias and an activation. */
	if (w->has_epilogue && !(no_a && emu_is_unwritten(g->a.data)) &&
	    !(no_b && emu_is_unwritten(g->b.data)))
		return 0;
	if (w->has_epilogue && g->epilogue->bias_grad)
		emu_clear(g->epilogue->bias_grad, (uint64_t)(w->sum_of == 'B' ? g->n : g->m) *
							  emu_type_bytes(g->epilogue->bias_type));
	clear_matrix(&g->d, g->m, g->n);
	return 1;
}
