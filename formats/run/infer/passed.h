/* SPDX-License-Identifier: Apache-2.0 */

/* Events that are passed in order: a thread, or the host, waits for as many events as are recorded
 * behind operations of one name and stream, and of no other. So it waits for these, in order. If
 * another thread records them, it passes them through a queue, as a loader of batches does. */
#pragma once

#include "formats/run/infer/view.h"

struct infer_passed {
	uint32_t record, op, wait; /* the calls, and the operation before the event */
	uint32_t first;		   /* index of the first one of its queue */
};

/* Lists passed events by queue, then order; the caller frees *ret. Returns their number or
 * -ENOMEM. */
long infer_list_passed(const struct infer_view *v, struct infer_passed **ret);
