/* SPDX-License-Identifier: Apache-2.0 */

/* The blocked product in one type, included by gemm.c for each: T, NAME(x), TO and FROM the typed
 * memory, KERNEL the member of struct emu_tile, and ROWS_OF its sliver of rows.
 *
 * Packs `lines` lines of `k` elements into slivers of `width` lines with k outermost. Lines are
 * `line` apart in the typed memory, and their elements `step`. */
static void NAME(pack)(const struct emu_matrix *m, int64_t at, int64_t line, int64_t step,
		       int64_t lines, int64_t k, int width, T *out, T *scratch)
{
	const char *base = (const char *)m->data;
	int64_t bytes = (int64_t)emu_type_bytes(m->type);

	for (int64_t first = 0; first < lines; first += width, out += k * width) {
		int64_t n = lines - first < width ? lines - first : width;

		if (n < width)
			memset(out, 0, (size_t)(k * width) * sizeof(T));
		if (line == 1) {
			for (int64_t p = 0; p < k; p++)
				TO(m->type, base + (at + first + p * step) * bytes, 1, (size_t)n,
				   out + p * width);
			continue;
		}
		for (int64_t i = 0; i < n; i++) {
			TO(m->type, base + (at + (first + i) * line) * bytes, step, (size_t)k,
			   scratch);
			for (int64_t p = 0; p < k; p++)
				out[p * width + i] = scratch[p];
		}
	}
}

/* Stores column `j` of the rows from `i` on in D; overwrites `sum`. */
static void NAME(finish)(const struct emu_gemm *g, int64_t i, int64_t rows, int64_t j, T *sum,
			 T *scratch, double *grad)
{
	int64_t d = i * g->d.row + j * g->d.column, c = i * g->c.row + j * g->c.column;
	char *to = (char *)(uintptr_t)g->d.data + d * (int64_t)emu_type_bytes(g->d.type);
	const char *from = (const char *)g->c.data + c * (int64_t)emu_type_bytes(g->c.type);

	for (int64_t r = 0; r < rows; r++)
		sum[r] = (T)(SCALE(g->alpha[0]) * sum[r]);
	if (g->beta[0] != 0) {
		TO(g->c.type, from, g->c.row, (size_t)rows, scratch);
		for (int64_t r = 0; r < rows; r++)
			sum[r] = (T)(sum[r] + SCALE(g->beta[0]) * scratch[r]);
	}
	if (!g->epilogue) {
		FROM(g->d.type, to, g->d.row, (size_t)rows, sum);
		return;
	}
	for (int64_t r = 0; r < rows; r++) {
		double v = epilogue(g->epilogue, i + r, j, (double)sum[r]);

		emu_store(g->d.type, to, r * g->d.row, v);
		if (grad)
			grad[i + r] += v;
	}
}

/* Adds to `sum`, of leading dimension `ld`, the product of a block of rows and one of columns. */
static void NAME(block)(const struct emu_gemm *g, const struct emu_tile *tile, struct range i,
			struct range j, struct buffers *b, T *sum, int64_t ld)
{
	int rows = ROWS_OF(tile), columns = tile->columns;

	for (int64_t p = 0; p < g->k; p += BLOCK_K) {
		int64_t k = g->k - p < BLOCK_K ? g->k - p : BLOCK_K;

		NAME(pack)
		(&g->a, i.at * g->a.row + p * g->a.column, g->a.row, g->a.column, i.n, k, rows,
		 b->a, b->line);
		NAME(pack)
		(&g->b, j.at * g->b.column + p * g->b.row, g->b.column, g->b.row, j.n, k, columns,
		 b->b, b->line);
		for (int64_t c = 0; c < j.n; c += columns)
			for (int64_t r = 0; r < i.n; r += rows)
				tile->KERNEL(k, (T *)b->a + r * k, (T *)b->b + c * k,
					     sum + r + c * ld, ld);
	}
}

static int NAME(product)(const struct emu_gemm *g, const struct emu_tile *tile, double *grad)
{
	int64_t rows = round_up(g->m < BLOCK_ROWS ? g->m : BLOCK_ROWS, ROWS_OF(tile));
	int64_t columns = round_up(g->n < BLOCK_COLUMNS ? g->n : BLOCK_COLUMNS, tile->columns);
	scoped(buffers_done) struct buffers b;
	T *sum;

	if (buffers_init(&b, rows, columns, g->k, sizeof(T)) < 0)
		return -ENOMEM;
	sum = b.sum;
	for (int64_t j = 0; j < g->n; j += columns) {
		struct range js = {j, g->n - j < columns ? g->n - j : columns};

		for (int64_t i = 0; i < g->m; i += rows) {
			struct range is = {i, g->m - i < rows ? g->m - i : rows};

			memset(sum, 0, (size_t)(rows * columns) * sizeof(T));
			NAME(block)(g, tile, is, js, &b, sum, rows);
			for (int64_t c = 0; c < js.n; c++)
				NAME(finish)
			(g, i, is.n, j + c, sum + c * rows, b.line, grad);
		}
	}
	return 0;
}

#undef T
#undef NAME
#undef TO
#undef FROM
#undef KERNEL
#undef ROWS_OF
#undef SCALE
