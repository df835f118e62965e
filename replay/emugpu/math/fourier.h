/* SPDX-License-Identifier: Apache-2.0 */

/* Discrete Fourier transforms of one to three dimensions, not normalised, in double precision.
 * Stores nothing but the result. */
#pragma once

#include "replay/emugpu/math/element.h"

/* Element (i0, i1, i2) of batch b: at b * distance + ((i0 * embed[1] + i1) * embed[2] + i2) *
 * stride. Sizes that are not used are 1 and come first. */
struct emu_fourier_side {
	const void *data;
	enum emu_type type; /* real or complex */
	int64_t embed[3], stride, distance;
};

struct emu_fourier {
	int64_t size[3]; /* of the complex, or of the real side */
	int64_t batch;
	struct emu_fourier_side in, out; /* of a real one's complex side, the last size is halved */
	int inverse;
};

/* Additions and multiplications of one transform of the batch. */
double emu_fourier_operations(const struct emu_fourier *f);

/* 0 or -ENOMEM. */
int emu_fourier_run(const struct emu_fourier *f);
