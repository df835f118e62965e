/* SPDX-License-Identifier: Apache-2.0 */

/* The kernel of gd128.cu, for cuModuleLoadData() and cuLibraryLoadData(). */
#pragma once

#include <stddef.h>

extern const unsigned char gd128_image[];
extern const size_t gd128_image_bytes; /* 0: built without nvcc */
