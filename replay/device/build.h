/* SPDX-License-Identifier: Apache-2.0 */

/* Builds the arguments of a recorded call for this process: translates handles and addresses, and
 * rebuilds the memory that pointers refer to. Any thread. */
#pragma once

#include "base/arena.h"
#include "replay/device/allocations.h"
#include "replay/device/objects.h"
#include "replay/device/share.h"

#define REX_WORDS 64
#define REX_ARGS 32
#define REX_KEY_BYTES 240

/* Shared by all threads of the process. */
struct rex_context {
	const struct rex_process *process;
	struct rex_objects *objects;
	struct rex_share *share;
	struct rex_allocations allocations;
	uint64_t seed;	 /* for contents that were not recorded */
	uint64_t seeded; /* number of copies from the host with such contents; atomic */
};

/* The arguments of one call. Initialise with zeros; free with rex_frame_done(). */
struct rex_frame {
	const struct rex_context *context;
	const struct rex_call *call;
	uint64_t words[REX_WORDS];
	void *behind[REX_ARGS]; /* memory of pointer arguments, valid during the call */
	size_t bytes[REX_ARGS];
	struct arena memory;
	char why[160]; /* reason of a failure */
};

/* Builds the arguments. Returns 0; -ENOENT if something is missing in the recording; -ENOTSUP if
 * the call cannot be executed again; other negative errnos. After an error b->why has the
 * reason. */
int rex_build(struct rex_context *context, const struct rex_call *c, struct rex_frame *b);
void rex_frame_done(struct rex_frame *b);

/* Records the handles and addresses that the call returned. Returns 0 or a negative errno. */
int rex_frame_results(struct rex_frame *b);

/* Announces the values that calls of the process create and others use (share.h). */
void rex_announce_values(const struct rex_process *p, struct rex_share *share);

/* ---- parts of rex_build() */

/* Returns zeroed memory, valid until rex_frame_done(), or NULL. */
void *rex_frame_alloc(struct rex_frame *b, size_t bytes);

/* Sets b->why and returns `r`. */
__attribute__((format(printf, 3, 4))) int rex_frame_fail(struct rex_frame *b, int r,
							 const char *format, ...);

/* Make the keys "PREFIX.NAME" and "PREFIX[I]". */
const char *rex_key(char ret[REX_KEY_BYTES], const char *prefix, const char *name);
const char *rex_key_at(char ret[REX_KEY_BYTES], const char *prefix, size_t i);

/* Translates a recorded value to this process. `bytes`: number of bytes accessed at an address; 0:
 * unknown. */
int rex_translate(struct rex_frame *b, enum api_meaning meaning, uint64_t value, uint64_t bytes,
		  uint64_t *ret);

/* Builds `n` structs from recorded fields with the prefix. With n > 1 or `indexed`, each struct has
 * an index in the key. */
int rex_build_structs(struct rex_frame *b, const char *prefix, const struct api_struct *layout,
		      size_t n, bool indexed, void *ret);

/* Builds the parameters of a kernel: an array of pointers. */
int rex_build_params(struct rex_frame *b, const char *prefix, void **ret);

/* Returns the code image that the call loads; b->why names an image that the trace does not
 * contain. */
int rex_build_image(struct rex_frame *b, void **ret, size_t *len);

/* Fills the host memory that the call copies to a device: with recorded contents, else from the
 * seed. The buffers of the call must be set. */
int rex_build_source(struct rex_context *context, struct rex_frame *b);
/* Returns true if the call defines a copy node of a graph that reads pageable host memory, which is
 * not recorded. */
bool rex_node_source_is_unknown(const struct rex_frame *b);

/* Contents of host memory that a kernel or a graph reads directly, as it was recorded. */
int rex_build_host_inputs(struct rex_frame *b);

/* Return a function that replaces one of the program; and replace the function and data of a call
 * that has a stream call the host. */
uint64_t rex_callback(void);
void rex_build_host_function(struct rex_frame *b);
