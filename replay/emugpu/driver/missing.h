/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels without a host kernel compute nothing. Their launches are counted, and so are the reads
 * of values that they should have written, so that a program that fails because of such a value can
 * be told why.
 *
 * Of each launch the addresses among the parameters are remembered. Nothing tells inputs from
 * outputs: only an address where no copy and no host kernel wrote before is certainly an output.
 * The table forgets addresses when it is full. Any thread.
 */
#pragma once

#include "replay/emugpu/driver/op.h"

/* A launch of `op`, whose function has no host kernel; or of one that has. */
void emu_missing_launched(const struct emu_op *op);
void emu_missing_computed(const struct emu_op *op);

/* Bytes were copied from memory of a device to memory of a device or of the host; either side may
 * be the host's. */
void emu_missing_copied(const void *to, const void *from, size_t bytes, int to_host);
void emu_missing_filled(const void *to);

/* Writes why a value in this process may be wrong: the last missing result that it read, or that
 * kernels without a host kernel were launched. The length; 0: there were none. */
size_t emu_missing_explain(char *text, size_t size);
