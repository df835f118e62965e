/* SPDX-License-Identifier: Apache-2.0 */

/* Maps handles of a traced process to objects. Drivers reuse handle values, so each object gets a
 * number, by kind (enum api_meaning), in the order of creation: 1, 2, 3 ... Pointers to objects are
 * valid until the next object is added. One thread. */
#pragma once

#include "formats/api/words.h"
#include "formats/trace/model.h"

struct rec_object {
	uint64_t handle;
	uint32_t kind; /* 1 + enum api_meaning */
	uint32_t number;
	uint8_t gone;
	uint8_t known;	      /* its creation was recorded */
	int32_t device;	      /* contexts, streams, events, communicators; -1 unknown */
	uint32_t track;	      /* streams: 1 + track; 0: none yet */
	uint32_t index;	      /* communicators: within the process */
	fmt_str name;	      /* functions */
	uint64_t bytes;	      /* physical memory */
	uint64_t recorded;    /* events: correlation of the last cuEventRecord; 0: none */
	uint32_t recorded_on; /* events: number of the stream of that record */
	uint8_t asked;	      /* streams, events: the last query was answered "not ready" */
	uint32_t capturing;   /* streams, events: 1 + the graph they are captured into (graphs.h) */
};

struct rec_handles;

int rec_handles_new(struct rec_handles **ret);
void rec_handles_free(struct rec_handles *h);

/* Returns the live object of a handle, or NULL. */
struct rec_object *rec_handles_find(struct rec_handles *h, uint32_t kind, uint64_t handle);

/* Returns the live object of a handle; adds a missing one, with known = 0. NULL if out of memory.
 */
struct rec_object *rec_handles_get(struct rec_handles *h, uint32_t kind, uint64_t handle);

/* Adds a new object for the handle, with known = 1. NULL if out of memory. */
struct rec_object *rec_handles_add(struct rec_handles *h, uint32_t kind, uint64_t handle);

/* Calls `each` for all live objects. */
void rec_handles_for_each(struct rec_handles *h, void (*each)(struct rec_object *t, void *context),
			  void *context);

/* Returns the number of objects that were used but whose creation was not recorded. */
uint64_t rec_handles_unknown(const struct rec_handles *h);
