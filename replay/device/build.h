/* SPDX-License-Identifier: Apache-2.0 */

/* Makes the arguments of a recorded call for this process: handles and addresses are translated,
 * and everything that pointers lead to is rebuilt. Any thread. */
#pragma once

#include "base/arena.h"
#include "replay/device/objects.h"
#include "replay/device/recorded.h"
#include "replay/device/share.h"

#define REX_WORDS 64
#define REX_ARGS 32
#define REX_KEY_BYTES 240

/* One for all threads of the process. */
struct rex_context {
	const struct rex_process *process;
	struct rex_objects *objects;
	struct rex_share *share;
	uint64_t seed;	 /* of contents that were not recorded */
	uint64_t seeded; /* copies from the host with such contents; atomic */
};

/* The arguments of one call. Zeroes are empty; rex_built_done() frees. */
struct rex_built {
	const struct rex_context *context;
	const struct rex_call *call;
	uint64_t words[REX_WORDS];
	void *behind[REX_ARGS]; /* what pointers for the duration of the call lead to */
	size_t bytes[REX_ARGS];
	struct arena memory;
	char why[160]; /* of a failure */
};

/* 0; -ENOENT if something is not in the recording, -ENOTSUP if the call cannot be made again,
 * other negative errnos; b->why then says why. */
int rex_build(struct rex_context *context, const struct rex_call *c, struct rex_built *b);
void rex_built_done(struct rex_built *b);

/* Takes note of handles and addresses that the call returned. 0 or a negative errno. */
int rex_built_results(struct rex_built *b);

/* ---- parts of it */

/* Memory until rex_built_done(), cleared; NULL. */
void *rex_built_take(struct rex_built *b, size_t bytes);

/* Sets b->why and returns `r`. */
__attribute__((format(printf, 3, 4))) int rex_built_fail(struct rex_built *b, int r,
							 const char *format, ...);

/* "PREFIX.NAME", or "PREFIX[I]". */
const char *rex_key(char ret[REX_KEY_BYTES], const char *prefix, const char *name);
const char *rex_key_at(char ret[REX_KEY_BYTES], const char *prefix, size_t i);

/* Translates a recorded value to this process. `bytes` of memory are used at an address; 0: not
 * known. */
int rex_translate(struct rex_built *b, enum api_meaning meaning, uint64_t value, uint64_t bytes,
		  uint64_t *ret);

/* `n` structs, whose recorded fields have the prefix; each has an index where n > 1 or `indexed`.
 */
int rex_build_structs(struct rex_built *b, const char *prefix, const struct api_struct *layout,
		      size_t n, bool indexed, void *ret);

/* The parameters of a kernel: an array of pointers to them. */
int rex_build_params(struct rex_built *b, const char *prefix, void **ret);

/* The code image that the call loads; b->why names one that the trace does not hold. */
int rex_build_image(struct rex_built *b, void **ret, size_t *len);

/* Contents of host memory from which the call copies to a device: recorded, else from the seed.
 * The buffers of the call are in place. */
int rex_build_source(struct rex_context *context, struct rex_built *b);

/* Contents of host memory that a kernel or a graph reads directly, as it was recorded. */
int rex_build_host_inputs(struct rex_built *b);
