/* SPDX-License-Identifier: Apache-2.0 */

/* Links: the operation that a call made a stream or the host wait for, through an event. A recorder
 * may have seen it (recorded.c). Otherwise it is inferred from all calls of the same *site*
 * together, over iterations and ranks: calls of one kind between launches of the same names wait
 * for the same thing, counted back from the call. One time alone proves nothing, since something
 * always ends just before something else starts.
 *
 * Functions return 0 or -ENOMEM.
 */
#pragma once

#include "formats/run/infer/view.h"

/* A call that made a stream, or the host, wait for an operation. */
struct infer_link {
	uint32_t call, op;
	uint32_t stream; /* whose next operation waits; INFER_NONE: the call */
	uint32_t next;	 /* of the same stream, or INFER_NONE */
	uint8_t recorded;
};

/* Adds a link. */
int infer_link(struct infer_view *v, uint32_t call, uint32_t op, uint32_t stream, int recorded);

/* Adds to view->links what the recorder saw, and sets view->saw_events. */
int infer_links_recorded(struct infer_view *v);

/* Adds the others. */
int infer_links_infer(struct infer_view *views, uint32_t n_views);
