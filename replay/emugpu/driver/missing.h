/* SPDX-License-Identifier: Apache-2.0 */

/* Counts launches that compute nothing, because the kernel has no host kernel or its host kernel
 * skipped the launch, and reads of values that they should have written, to explain why a program
 * fails because of such a value.
 *
 * For each launch, the addresses among its parameters are recorded. Inputs and outputs cannot be
 * distinguished: only an address that no copy and no host kernel wrote before is certainly an
 * output. A full table drops addresses. Any thread. */
#pragma once

#include <stddef.h>

struct emu_op;

/* Record a launch of `op`: without a host kernel (`skipped`: its host kernel computed nothing);
 * after its host kernel has run. */
void emu_missing_launched(const struct emu_op *op, int skipped);
void emu_missing_computed(const struct emu_op *op);

/* Records a copy. `to_host`: the destination is host memory. */
void emu_missing_copied(const void *to, const void *from, size_t bytes, int to_host);
void emu_missing_filled(const void *to);

/* Returns true if a kernel without a host kernel may have written `at`. */
int emu_missing_wrote(const void *at);

/* Writes a possible reason for a wrong value in this process: the last missing result that it read,
 * or the launches without a host kernel. Returns the length; 0: no reason. */
size_t emu_missing_explain(char *text, size_t size);
