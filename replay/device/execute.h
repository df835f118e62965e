/* SPDX-License-Identifier: Apache-2.0 */

/* Executes all calls of a recorded process again. Uses one thread per recorded thread. */
#pragma once

#include "replay/device/recorded.h"
#include "replay/device/share.h"

struct rex_options {
	struct rex_share *share;
	uint64_t seed;
	bool can_retry; /* the caller can start another process, with another address space */
};

struct rex_result {
	struct rex_counts counts;
	char why[320]; /* reason of a failure: the call and the problem */
};

/* Reserves the memory of the process; before anything opens the driver. -EEXIST: other memory of
 * this process is at a recorded address, and regions may not be elsewhere, or `can_retry`; ret->why
 * says which. */
int rex_prepare(const struct rex_process *p, const struct rex_options *how, struct rex_result *ret);

/* Executes the process; once per process. Returns 0; -EIO: a call failed that succeeded in the
 * recording; -ENOENT, -ENOTSUP: a call cannot be executed again; -ENODEV: the driver, or a required
 * NCCL or cuBLAS, is missing. ret->why has the reason. */
int rex_execute(const struct rex_process *p, const struct rex_options *how, struct rex_result *ret);
