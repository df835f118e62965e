/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/dense.h"

#include "replay/emugpu/math/complex_element.h"

#include <errno.h>
#include <stdlib.h>

static num_t number_type(enum emu_type type)
{
	return type == EMU_F32	 ? BLIS_FLOAT
	       : type == EMU_F64 ? BLIS_DOUBLE
	       : type == EMU_C32 ? BLIS_SCOMPLEX
				 : BLIS_DCOMPLEX;
}

static void attach(const struct emu_matrix *m, int64_t rows, int64_t columns, enum emu_type type,
		   obj_t *ret)
{
	bli_obj_create_with_attached_buffer(number_type(type), rows, columns,
					    (void *)(uintptr_t)m->data, m->row, m->column, ret);
	if (m->conjugate)
		bli_obj_set_conj(BLIS_CONJUGATE, ret);
}

/* Converts `n` elements, `step` apart, to adjacent elements at index `at` of `out`. */
static void convert(const struct emu_matrix *m, int64_t from, int64_t step, int64_t n,
		    enum emu_type type, void *out, int64_t at)
{
	const char *data = (const char *)m->data + from * (int64_t)emu_type_bytes(m->type);

	if (type == EMU_F32)
		emu_to_f32(m->type, data, step, (size_t)n, (float *)out + at);
	else if (type == EMU_F64)
		emu_to_f64(m->type, data, step, (size_t)n, (double *)out + at);
	else
		for (int64_t i = 0; i < n; i++)
			emu_store_complex(type, out, at + i,
					  emu_load_complex(m->type, data, i * step));
}

int emu_dense_copy(const struct emu_matrix *m, int64_t rows, int64_t columns, enum emu_type type,
		   struct emu_dense *ret)
{
	void *copy = malloc((size_t)(rows * columns) * emu_type_bytes(type) + 1);
	int by_rows = m->column == 1 && rows > 1;
	struct emu_matrix to = {copy, type, m->conjugate, by_rows ? columns : 1,
				by_rows ? 1 : rows};

	if (!copy)
		return -ENOMEM;
	for (int64_t j = 0; !by_rows && j < columns; j++)
		convert(m, j * m->column, m->row, rows, type, copy, j * rows);
	for (int64_t i = 0; by_rows && i < rows; i++)
		convert(m, i * m->row, m->column, columns, type, copy, i * columns);
	attach(&to, rows, columns, type, &ret->object);
	ret->copy = copy;
	return 0;
}

int emu_dense_of(const struct emu_matrix *m, int64_t rows, int64_t columns, enum emu_type type,
		 struct emu_dense *ret)
{
	int by_columns = m->row == 1 && m->column >= rows && m->column > 0;
	int by_rows = m->column == 1 && m->row >= columns && m->row > 0;

	if (m->type != type || !(by_columns || by_rows))
		return emu_dense_copy(m, rows, columns, type, ret);
	attach(m, rows, columns, type, &ret->object);
	ret->copy = NULL;
	return 0;
}

void emu_dense_done(struct emu_dense *d)
{
	free(d->copy);
}
