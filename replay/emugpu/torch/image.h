/* SPDX-License-Identifier: Apache-2.0 */

/* Images in memory, of up to three dimensions. */
#pragma once

#include <stdint.h>

enum { EMU_AXES = 3 };

/* A tensor: batch, channel, depth, height, width. */
struct emu_torch_image {
	void *data;
	int64_t size[2 + EMU_AXES], stride[2 + EMU_AXES];
};

static inline struct emu_torch_image emu_torch_packed(void *data, int64_t batch, int64_t channels,
						      const int64_t size[EMU_AXES], int last)
{
	struct emu_torch_image r = {data, {batch, channels, size[0], size[1], size[2]}, {0}};
	int64_t stride = last ? channels : 1;

	for (int i = 1 + EMU_AXES; i >= 2; i--) {
		r.stride[i] = stride;
		stride *= r.size[i];
	}
	r.stride[1] = last ? 1 : stride;
	r.stride[0] = size[0] * size[1] * size[2] * channels;
	return r;
}

static inline int64_t emu_torch_image_offset(const struct emu_torch_image *m, int64_t n, int64_t c,
					     const int64_t p[EMU_AXES])
{
	return n * m->stride[0] + c * m->stride[1] + p[0] * m->stride[2] + p[1] * m->stride[3] +
	       p[2] * m->stride[4];
}

/* For each position in a plane of `m`. */
#define EMU_EACH_POSITION(m, p)                                                                    \
	for (int64_t p[EMU_AXES] = {0}; p[0] < (m)->size[2]; p[0]++)                               \
		for (p[1] = 0; p[1] < (m)->size[3]; p[1]++)                                        \
			for (p[2] = 0; p[2] < (m)->size[4]; p[2]++)

static inline double emu_torch_image_elements(const struct emu_torch_image *m)
{
	double n = 1;

	for (int i = 0; i < 2 + EMU_AXES; i++)
		n *= (double)m->size[i];
	return n;
}
