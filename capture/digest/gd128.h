/* SPDX-License-Identifier: Apache-2.0 */

/* gd128: a digest of 128 bits, whose parts may be summed in any order (doc/design/digest.md).
 *
 *     struct gd128 pages[gd128_pages(bytes)] = {0};
 *     gd128_add(pages, 0, data, bytes);      in any number of pieces, in any order
 *     digest = gd128_fold(pages, bytes);
 *
 * Any thread; functions have no state. */
#pragma once

#include "capture/digest/gd128_unit.h"

#include <stddef.h>

/* Adds the bytes at `offset_bytes` of the buffer to the sums of the buffer's pages. The offset must
 * be a multiple of GD128_UNIT_BYTES, and so must `bytes` unless it extends to the end of the
 * buffer. */
void gd128_add(struct gd128 *pages, uint64_t offset_bytes, const void *data, size_t bytes);

/* Returns the digest of a buffer of `bytes` bytes, from the sums of its pages. */
struct gd128 gd128_fold(const struct gd128 *pages, uint64_t bytes);

/* Returns the digest of `data`. */
struct gd128 gd128_of(const void *data, size_t bytes);
