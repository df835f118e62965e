/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/timing.h"
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/name.h"
#include "replay/emugpu/refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy or a collective. */
struct sized {
	char what[32];
	uint32_t ranks;
	uint64_t bytes;
	int64_t ns;
};

static struct {
	struct emu_timing *rows; /* by name */
	size_t n, cap;
	struct sized *sized; /* ordered by kind, ranks, bytes */
	size_t n_sized, sized_cap;
} timings;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct emu_timing *)a)->name, ((const struct emu_timing *)b)->name);
}

static int by_kind_and_ranks(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	int order = strcmp(x->what, y->what);

	return order ? order : (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static int by_size(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	int order = by_kind_and_ranks(a, b);

	return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* kernel NAME GX GY GZ BX BY BZ NS, separated by tabs. */
static int add_kernel(const char *line)
{
	struct emu_timing row;
	char name[8192];

	if (sscanf(line, "kernel\t%8191[^\t]\t%u\t%u\t%u\t%u\t%u\t%u\t%" SCNd64, name, &row.grid[0],
		   &row.grid[1], &row.grid[2], &row.block[0], &row.block[1], &row.block[2],
		   &row.ns) != 8 ||
	    row.ns < 0)
		return 0;
	if (array_reserve(&timings.rows, timings.n + 1, &timings.cap) < 0)
		return -ENOMEM;
	row.name = strdup(name);
	if (!row.name)
		return -ENOMEM;
	timings.rows[timings.n++] = row;
	return 1;
}

/* sized WHAT RANKS BYTES NS */
static int add_sized(const char *line)
{
	struct sized row = {{0}};

	if (sscanf(line, "sized\t%31[^\t]\t%" SCNu32 "\t%" SCNu64 "\t%" SCNd64, row.what,
		   &row.ranks, &row.bytes, &row.ns) != 4 ||
	    row.ns < 0)
		return 0;
	if (array_reserve(&timings.sized, timings.n_sized + 1, &timings.sized_cap) < 0)
		return -ENOMEM;
	timings.sized[timings.n_sized++] = row;
	return 1;
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

int emu_timing_load(const char *path)
{
	scoped(close_file) FILE *in = fopen(path, "re");
	scoped(free_ptr) char *line = NULL;
	size_t cap = 0;
	int r = 0;

	if (!in)
		return -errno;
	while (r >= 0 && getline(&line, &cap, in) > 0) {
		r = add_kernel(line);
		if (r == 0)
			r = add_sized(line);
	}
	if (timings.n > 0)
		qsort(timings.rows, timings.n, sizeof(timings.rows[0]), by_name);
	if (timings.n_sized > 0)
		qsort(timings.sized, timings.n_sized, sizeof(timings.sized[0]), by_size);
	return r < 0 ? r : 0;
}

static void find_named(const char *name, const struct emu_timing **ret,
		       const struct emu_timing **end)
{
	size_t low = array_bound(i, 0, timings.n, strcmp(timings.rows[i].name, name) < 0);

	*ret = *end = timings.rows + low;
	while (*end < timings.rows + timings.n && strcmp((*end)->name, name) == 0)
		(*end)++;
}

void emu_timing_find(const char *symbol, const struct emu_timing **ret,
		     const struct emu_timing **end)
{
	*ret = *end = NULL;
	if (timings.n == 0)
		return;
	find_named(symbol, ret, end);
	if (*ret != *end)
		return;
	scoped(free_ptr) char *name = emu_name_demangle(symbol);

	if (name)
		find_named(name, ret, end);
}

int64_t emu_timing_ns(const char *what, uint32_t ranks, uint64_t bytes)
{
	struct sized key = {.ranks = ranks, .bytes = bytes};
	const struct sized *a, *b;
	size_t low;

	snprintf(key.what, sizeof(key.what), "%s", what);
	low = array_bound(i, 0, timings.n_sized, by_size(&timings.sized[i], &key) < 0);
	b = &timings.sized[low];
	if (low == timings.n_sized || by_kind_and_ranks(b, &key) != 0)
		return -1;
	if (b->bytes == bytes)
		return b->ns;
	a = b - 1;
	if (low == 0 || by_kind_and_ranks(a, &key) != 0)
		return -1;
	return a->ns + (int64_t)((double)(b->ns - a->ns) * (double)(bytes - a->bytes) /
				 (double)(b->bytes - a->bytes));
}

EMU_API int64_t gpuemu_recorded_ns(const char *what, unsigned ranks, uint64_t bytes)
{
	return emu_timing_ns(what, ranks, bytes);
}
