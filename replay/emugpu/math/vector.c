/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/vector.h"

#include "replay/emugpu/math/complex_element.h"

#include <math.h>

enum { BLOCK = 512 };

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

struct emu_vector emu_vector_of(enum emu_type type, const void *data, int64_t n, int64_t increment)
{
	int64_t first = increment < 0 ? (1 - n) * increment : 0;
	char *at = (char *)(uintptr_t)data + first * (int64_t)emu_type_bytes(type);

	return (struct emu_vector){at, type, increment};
}

static struct emu_vector skip(struct emu_vector v, int64_t n)
{
	v.data = (char *)v.data + n * v.step * (int64_t)emu_type_bytes(v.type);
	return v;
}

static void map_values(enum emu_map map, size_t n, const double s[4], double *x, double *y)
{
	for (size_t i = 0; i < n; i++) {
		double old = x[i];

		switch (map) {
		case EMU_AXPY:
			y[i] += s[0] * old;
			break;
		case EMU_SCAL:
			x[i] = s[0] * old;
			break;
		case EMU_COPY:
			y[i] = old;
			break;
		case EMU_SWAP:
			x[i] = y[i];
			y[i] = old;
			break;
		case EMU_ROT:
			x[i] = s[0] * old + s[2] * y[i];
			y[i] = s[0] * y[i] - s[2] * old;
			break;
		}
	}
}

static void map_complex(enum emu_map map, int64_t i, double complex a, double complex b,
			struct emu_vector x, struct emu_vector y)
{
	double complex u = emu_load_complex(x.type, x.data, i * x.step), v = 0;

	if (map == EMU_SCAL) {
		emu_store_complex(x.type, x.data, i * x.step, a * u);
		return;
	}
	if (map != EMU_COPY)
		v = emu_load_complex(y.type, y.data, i * y.step);
	if (map == EMU_SWAP)
		emu_store_complex(x.type, x.data, i * x.step, v);
	if (map == EMU_ROT)
		emu_store_complex(x.type, x.data, i * x.step, a * u + b * v);
	v = map == EMU_AXPY ? v + a * u : map == EMU_ROT ? a * v - conj(b) * u : u;
	emu_store_complex(y.type, y.data, i * y.step, v);
}

void emu_map(enum emu_map map, int64_t n, const double s[4], struct emu_vector x,
	     struct emu_vector y)
{
	double xs[BLOCK], ys[BLOCK];

	if (is_complex(x.type)) {
		for (int64_t i = 0; i < n; i++)
			map_complex(map, i, emu_complex(s[0], s[1]), emu_complex(s[2], s[3]), x, y);
		return;
	}
	for (int64_t at = 0; at < n; at += BLOCK) {
		size_t block = (size_t)(n - at < BLOCK ? n - at : BLOCK);
		struct emu_vector u = skip(x, at), v = y;

		emu_to_f64(u.type, u.data, u.step, block, xs);
		if (map != EMU_SCAL) {
			v = skip(y, at);
			emu_to_f64(v.type, v.data, v.step, block, ys);
		}
		map_values(map, block, s, xs, ys);
		if (map == EMU_SCAL || map == EMU_SWAP || map == EMU_ROT)
			emu_from_f64(u.type, u.data, u.step, block, xs);
		if (map != EMU_SCAL)
			emu_from_f64(v.type, v.data, v.step, block, ys);
	}
}

struct fold_state {
	double complex sum;
	double extreme;
	int64_t index; /* of the extreme, from 1 */
};

static void fold_element(enum emu_fold fold, struct fold_state *s, int64_t i, double complex x,
			 double complex y)
{
	double size = fabs(creal(x)) + fabs(cimag(x));

	switch (fold) {
	case EMU_DOT:
		s->sum += x * y;
		break;
	case EMU_DOTC:
		s->sum += conj(x) * y;
		break;
	case EMU_NRM2:
		s->sum += creal(x) * creal(x) + cimag(x) * cimag(x);
		break;
	case EMU_ASUM:
		s->sum += size;
		break;
	case EMU_IAMAX:
	case EMU_IAMIN:
		if (s->index == 0 || (fold == EMU_IAMAX ? size > s->extreme : size < s->extreme)) {
			s->extreme = size;
			s->index = i + 1;
		}
	}
}

void emu_fold(enum emu_fold fold, int64_t n, struct emu_vector x, struct emu_vector y,
	      double ret[2])
{
	int two = fold == EMU_DOT || fold == EMU_DOTC;
	struct fold_state s = {0};

	for (int64_t i = 0; i < n; i++) {
		double complex u = emu_load_complex(x.type, x.data, i * x.step);
		double complex v = two ? emu_load_complex(y.type, y.data, i * y.step) : 0;

		fold_element(fold, &s, i, u, v);
	}
	ret[0] = creal(s.sum);
	ret[1] = cimag(s.sum);
	if (fold == EMU_NRM2)
		ret[0] = sqrt(ret[0]);
	if (fold == EMU_IAMAX || fold == EMU_IAMIN)
		ret[0] = (double)s.index;
}
