/* SPDX-License-Identifier: Apache-2.0 */

/* Processes that share memory or events by IPC handles make their calls in the recorded order: a
 * call begins after all calls of the other processes that had returned before it began. So memory
 * is not freed while another process uses it, and host synchronisation that was not recorded keeps
 * its effect. The processes must have a common table. Any thread. */
#pragma once

#include "replay/device/recorded.h"
#include "replay/device/share.h"

struct rex_progress {
	struct rex_share *share; /* NULL: the process is alone */
	const struct rex_process *process;
	bool waits;		      /* it shares memory or events */
	bool is_other[REX_PROCESSES]; /* by process: another one of this host */
};

/* Returns 0 or -ENOMEM. */
int rex_progress_begin(struct rex_progress *p, struct rex_share *share,
		       const struct rex_process *process);
/* Publishes that all calls before `first`, in the order of returns, have been made. */
void rex_progress_publish(const struct rex_progress *p, uint32_t first);
/* Waits until a call with this `began` may begin, or until *error is not 0. */
void rex_progress_wait(const struct rex_progress *p, int64_t began, const int *error);
/* Waits for the last calls of the others: they may use memory of this process. */
void rex_progress_end(const struct rex_progress *p, const int *error);
