/* SPDX-License-Identifier: Apache-2.0 */

/* Links: the operation that a stream or the host waits for, through an event. Recorded links come
 * from recorded.c. All others are inferred from all calls of the same *site*, over iterations and
 * ranks: calls of one kind between launches of the same names wait for the same operation, counted
 * back from the call. A single occurrence proves nothing, since something always ends just before
 * something else starts.
 *
 * Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/infer/view.h"

/* A call after which a stream, or the host, waits for an operation. */
struct infer_add_link {
	uint32_t call, op;
	const struct infer_view *view; /* of the operation */
	uint32_t stream; /* its next operation waits; INFER_NONE: the call itself waits */
	uint32_t next;	 /* next link of the same stream, or INFER_NONE */
	uint8_t recorded;
};

/* Adds a link. */
int infer_add_link(struct infer_view *v, const struct infer_add_link *l);

/* Adds recorded links to view->links of each view, and sets view->saw_events. */
struct infer_process;
int infer_add_recorded_links(const struct infer_process *p);

/* Adds inferred links. */
int infer_add_inferred_links(struct infer_view *views, uint32_t n_views);
