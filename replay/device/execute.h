/* SPDX-License-Identifier: Apache-2.0 */

/* Makes all calls of a recorded process again, each on a thread of its own recorded thread. */
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
	char why[320]; /* of a failure: the call, and the reason */
};

/* Reserves the memory of the process; before anything opens the driver. -EEXIST: other memory of
 * this process is at a recorded address, and regions may not be elsewhere, or `can_retry`; ret->why
 * says which. */
int rex_prepare(const struct rex_process *p, const struct rex_options *how, struct rex_result *ret);

/* Runs it. 0; -EIO: a call failed that succeeded when it was recorded; -ENOENT, -ENOTSUP: a call
 * cannot be made again; -ENODEV: there is no driver, or no NCCL or cuBLAS that is needed; ret->why
 * says more. Once a process. */
int rex_execute(const struct rex_process *p, const struct rex_options *how, struct rex_result *ret);
