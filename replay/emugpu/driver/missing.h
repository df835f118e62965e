/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels without a host kernel compute nothing. Their launches are counted, and so are reads of
 * values that they should have written, to explain why a program fails because of such a value.
 *
 * For each launch, the addresses among its parameters are recorded. Inputs cannot be told from
 * outputs: only an address that no copy and no host kernel wrote before is certainly an output. A
 * full table forgets addresses. Any thread.
 */
#pragma once

#include <stddef.h>

struct emu_op;

/* Record a launch of `op`: its function has no host kernel; its host kernel has run. */
void emu_missing_launched(const struct emu_op *op);
void emu_missing_computed(const struct emu_op *op);

/* Records a copy. `to_host`: the destination is host memory. */
void emu_missing_copied(const void *to, const void *from, size_t bytes, int to_host);
void emu_missing_filled(const void *to);

/* Returns whether a kernel without a host kernel may have been meant to write `at`. */
int emu_missing_wrote(const void *at);

/* Writes why a value in this process may be wrong: the last missing result that it read, or the
 * launches without a host kernel. Returns the length; 0 if there were none. */
size_t emu_missing_explain(char *text, size_t size);
