/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/lapack.h"

#include "base/scope.h"
#include "replay/emugpu/math/complex_element.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 18 };

/* Fortran passes the address of each argument, then the lengths of the strings by value. A routine
 * ignores the arguments after its own: the caller removes them. */
typedef void (*fortran)(void *, void *, void *, void *, void *, void *, void *, void *, void *,
			void *, void *, void *, void *, void *, void *, void *, void *, void *);

/* One letter for each argument: f, s: first, second; m, n, k; a, u, v: matrices, and in upper case
 * their leading dimensions; t: values; i: imaginary parts, after the values, of real routines only;
 * w, l: work and its size; r: work of real numbers, of complex routines only; x: info. */
static const struct {
	const char *name, *complex_name, *arguments, *first, *second;
} table[EMU_LAPACK_ROUTINES] = {
	[EMU_GEQRF] = {"geqrf", "geqrf", "mnaAtwlx", "", ""},
	[EMU_ORGQR] = {"orgqr", "ungqr", "mnkaAtwlx", "", ""},
	[EMU_ORMQR] = {"ormqr", "unmqr", "fsmnkaAtuUwlx", "LR", "NTC"},
	[EMU_GESVD] = {"gesvd", "gesvd", "fsmnaAtuUvVwlrx", "ASN", "ASN"},
	[EMU_SYEV] = {"syev", "heev", "fsnaAtwlrx", "NV", "LU"},
	[EMU_GEEV] = {"geev", "geev", "fsnaAtiuUvVwlrx", "NV", "NV"},
	[EMU_GELS] = {"gels", "gels", "fmnkaAuUwlx", "NTC", ""},
};

static fortran routines[EMU_LAPACK_ROUTINES][4]; /* of s, d, c, z */
static int loaded;

static void load(void)
{
	void *library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
	void (*set_threads)(int);

	if (!library)
		return;
	for (int i = 0; i < EMU_LAPACK_ROUTINES; i++)
		for (int t = 0; t < 4; t++) {
			char name[16];

			snprintf(name, sizeof(name), "%c%s_", "sdcz"[t],
				 t < 2 ? table[i].name : table[i].complex_name);
			*(void **)&routines[i][t] = dlsym(library, name);
			if (!routines[i][t])
				return;
		}
	/* The emulator gives each GPU one thread. */
	*(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
	if (set_threads)
		set_threads(1);
	loaded = 1;
}

int emu_lapack_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return loaded ? 0 : -ENOTSUP;
}

static int64_t leading(const struct emu_matrix *m)
{
	return m->row == 1 ? m->column : m->row;
}

/* A matrix of the type of A. */
static int fits(const struct emu_lapack *l, int matrix, int64_t rows, int used)
{
	const struct emu_matrix *m = &l->matrix[matrix];

	return !used || (m->data && m->type == l->matrix[EMU_LAPACK_A].type && leading(m) >= rows &&
			 leading(m) >= 1 && leading(m) <= INT32_MAX);
}

static int has_letter(const char *letters, uint8_t letter)
{
	return !*letters || (letter && strchr(letters, letter));
}

static int64_t smaller(const struct emu_lapack *l)
{
	return l->m < l->n ? l->m : l->n;
}

/* The rows of V^T. */
static int64_t rows_of_v(const struct emu_lapack *l)
{
	return l->second == 'S' ? smaller(l) : l->n;
}

int emu_lapack_valid(const struct emu_lapack *l)
{
	const struct emu_matrix *a = &l->matrix[EMU_LAPACK_A], *v = &l->matrix[EMU_LAPACK_V];
	int64_t q = l->routine == EMU_ORMQR && l->first == 'R' ? l->n : l->m;

	if (l->routine >= EMU_LAPACK_ROUTINES)
		return 0;
	if (a->type != EMU_F32 && a->type != EMU_F64 && a->type != EMU_C32 && a->type != EMU_C64)
		return 0;
	if (l->m < 0 || l->n < 0 || l->k < 0 || l->m > INT32_MAX || l->n > INT32_MAX ||
	    l->k > INT32_MAX || a->row != 1 || !has_letter(table[l->routine].first, l->first) ||
	    !has_letter(table[l->routine].second, l->second) || !fits(l, EMU_LAPACK_A, q, 1) ||
	    (l->routine != EMU_GELS && !l->matrix[EMU_VALUES].data))
		return 0;
	switch (l->routine) {
	case EMU_ORGQR:
		return l->n <= l->m && l->k <= l->n;
	case EMU_ORMQR:
		return l->k <= q && fits(l, EMU_LAPACK_U, l->m, 1);
	case EMU_GESVD:
		return fits(l, EMU_LAPACK_U, l->m, l->first != 'N') &&
		       fits(l, EMU_LAPACK_V, v->row == 1 ? rows_of_v(l) : l->n, l->second != 'N');
	case EMU_SYEV:
		return l->m == l->n;
	case EMU_GEEV:
		return l->m == l->n && fits(l, EMU_LAPACK_U, l->n, l->first != 'N') &&
		       fits(l, EMU_LAPACK_V, l->n, l->second != 'N');
	case EMU_GELS:
		return fits(l, EMU_LAPACK_U, l->m > l->n ? l->m : l->n, 1);
	default:
		return 1;
	}
}

/* Copies V^T to its strides. */
static void store_v(const struct emu_lapack *l, const void *from)
{
	const struct emu_matrix *v = &l->matrix[EMU_LAPACK_V];
	int64_t rows = rows_of_v(l);

	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < l->n; j++) {
			double complex x = emu_load_complex(v->type, from, i + j * rows);

			emu_store_complex(v->type, (void *)(uintptr_t)v->data,
					  i * v->row + j * v->column, v->conjugate ? conj(x) : x);
		}
}

/* The memory that the arguments of one call point to. */
struct call {
	enum emu_type type;
	char first, second;
	int32_t m, n, k, work_size, ld[EMU_LAPACK_MATRICES];
	void *data[EMU_LAPACK_MATRICES], *imaginary, *work, *reals;
	int32_t *info;
};

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

static void call_routine(uint8_t routine, struct call *c)
{
	void *const at[128] = {
		['f'] = &c->first,
		['s'] = &c->second,
		['m'] = &c->m,
		['n'] = &c->n,
		['k'] = &c->k,
		['a'] = c->data[EMU_LAPACK_A],
		['A'] = &c->ld[EMU_LAPACK_A],
		['u'] = c->data[EMU_LAPACK_U],
		['U'] = &c->ld[EMU_LAPACK_U],
		['v'] = c->data[EMU_LAPACK_V],
		['V'] = &c->ld[EMU_LAPACK_V],
		['t'] = c->data[EMU_VALUES],
		['i'] = c->imaginary,
		['w'] = c->work,
		['l'] = &c->work_size,
		['r'] = c->reals,
		['x'] = c->info,
	};
	int doubles = c->type == EMU_F64 || c->type == EMU_C64;
	void *p[MOST_ARGUMENTS];
	unsigned used = 0;

	for (const char *letter = table[routine].arguments; *letter; letter++)
		if (*letter != (is_complex(c->type) ? 'i' : 'r'))
			p[used++] = at[(unsigned char)*letter];
	while (used < MOST_ARGUMENTS)
		p[used++] = (void *)1; /* the length of a letter */
	routines[routine][is_complex(c->type) * 2 + doubles](
		p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12],
		p[13], p[14], p[15], p[16], p[17]);
}

int emu_lapack_run(const struct emu_lapack *l, int32_t *info)
{
	enum emu_type type = l->matrix[EMU_LAPACK_A].type;
	size_t bytes = emu_type_bytes(type), most = (size_t)(l->m > l->n ? l->m : l->n);
	uint8_t adjoint = is_complex(type) ? 'C' : 'T';
	scoped(free_ptr) void *v = NULL, *work = NULL;
	scoped(free_ptr) void *reals = malloc((5 * most + 1) * bytes);
	double query[2] = {0};
	struct call c = {type,
			 (char)(l->routine == EMU_GELS && l->first != 'N' ? adjoint : l->first),
			 (char)(l->routine == EMU_ORMQR && l->second != 'N' ? adjoint : l->second),
			 (int32_t)l->m,
			 (int32_t)l->n,
			 (int32_t)l->k,
			 .work_size = -1, /* the first call returns the size */
			 .work = query,
			 .reals = reals,
			 .info = info};

	if (!emu_lapack_valid(l))
		return -EINVAL;
	if (emu_lapack_load() < 0)
		return -ENOTSUP;
	for (int i = 0; i < EMU_LAPACK_MATRICES; i++) {
		c.data[i] = (void *)(uintptr_t)l->matrix[i].data;
		c.ld[i] = leading(&l->matrix[i]) > 1 ? (int32_t)leading(&l->matrix[i]) : 1;
	}
	if (l->routine == EMU_GEEV)
		c.imaginary = (char *)c.data[EMU_VALUES] + most * bytes;
	if (l->routine == EMU_GESVD && l->second != 'N' && l->matrix[EMU_LAPACK_V].row != 1) {
		c.data[EMU_LAPACK_V] = v = malloc((size_t)(l->n * l->n + 1) * bytes);
		c.ld[EMU_LAPACK_V] = rows_of_v(l) > 1 ? (int32_t)rows_of_v(l) : 1;
		if (!v)
			return -ENOMEM;
	}
	if (!reals)
		return -ENOMEM;
	call_routine(l->routine, &c);
	c.work_size = (int32_t)creal(emu_load_complex(type, query, 0)) + 1;
	c.work = work = malloc((size_t)c.work_size * bytes);
	if (!work)
		return -ENOMEM;
	call_routine(l->routine, &c);
	if (v)
		store_v(l, v);
	return 0;
}

double emu_lapack_operations(const struct emu_lapack *l)
{
	double m = (double)l->m, n = (double)l->n, k = (double)l->k;
	double large = fmax(m, n), least = fmin(m, n);
	int vectors = l->first != 'N' || l->second != 'N';

	switch (l->routine) {
	case EMU_GEQRF:
		return 2 * least * least * (large - least / 3);
	case EMU_ORGQR:
		return 4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3;
	case EMU_ORMQR:
		return 2 * k * (2 * m * n - (l->first == 'L' ? n : m) * k);
	case EMU_GELS:
		return 2 * least * least * (large - least / 3) + 4 * m * n * k;
	case EMU_GESVD:
		return vectors ? 6 * large * least * least + 20 * least * least * least
			       : 4 * least * least * (large - least / 3);
	case EMU_SYEV:
		return (l->first == 'V' ? 9 : 4. / 3) * n * n * n;
	default:
		return (vectors ? 25 : 10) * n * n * n;
	}
}
