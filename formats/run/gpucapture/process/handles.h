/* SPDX-License-Identifier: Apache-2.0 */

/* The objects that handles of a traced process stand for. A handle value is used again after its
 * thing is gone, so each gets a number of its own, by kind (enum api_meaning), in the order of
 * making: 1, 2, 3 ... Pointers to objects stand until the table gets another one. One thread. */
#pragma once

#include "formats/api/words.h"
#include "formats/trace/model.h"

struct rec_object {
	uint64_t handle;
	uint32_t kind; /* 1 + enum api_meaning */
	uint32_t number;
	uint8_t gone;
	uint8_t known;	    /* its making was seen */
	int32_t device;	    /* contexts, streams, events, communicators; -1 unknown */
	uint32_t track;	    /* streams: plus 1; 0 none yet */
	uint32_t index;	    /* communicators: among those of the process */
	fmt_str name;	    /* functions */
	uint64_t bytes;	    /* physical memory */
	uint64_t recorded;  /* events: correlation of the call that recorded it last; 0 none */
	uint32_t on;	    /* events: number of the stream that it was recorded on */
	uint32_t capturing; /* streams, events: 1 + the graph they are captured into (graphs.h) */
};

struct rec_handles;

int rec_handles_new(struct rec_handles **ret);
void rec_handles_free(struct rec_handles *h);

/* The thing that the handle stands for now; NULL if not found. */
struct rec_object *rec_handles_find(const struct rec_handles *h, uint32_t kind, uint64_t handle);

/* The same; one that was not there is made, as not known. NULL without memory. */
struct rec_object *rec_handles_get(struct rec_handles *h, uint32_t kind, uint64_t handle);

/* A new thing for that handle, known. NULL without memory. */
struct rec_object *rec_handles_make(struct rec_handles *h, uint32_t kind, uint64_t handle);

/* Calls `each` for all that live. */
void rec_handles_each(struct rec_handles *h, void (*each)(struct rec_object *t, void *context),
		      void *context);

/* Things that were used and never seen made. */
uint64_t rec_handles_unknown(const struct rec_handles *h);
