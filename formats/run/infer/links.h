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
	const struct infer_view *of; /* of the operation */
	uint32_t stream;	     /* whose next operation waits; INFER_NONE: the call */
	uint32_t next;		     /* of the same stream, or INFER_NONE */
	uint8_t recorded;
};

/* Adds a link. */
int infer_link(struct infer_view *v, const struct infer_link *l);

/* Adds to view->links of each view what the recorder saw, and sets view->saw_events. */
struct infer_process;
int infer_links_recorded(const struct infer_process *p);

/* Adds the others. */
int infer_links_infer(struct infer_view *views, uint32_t n_views);
