/* SPDX-License-Identifier: Apache-2.0 */

/* One recorded call with its description, blobs and thread: the input of all functions that process
 * a call. Valid until the next call is processed. */
#pragma once

#include "formats/api/fields.h"
#include "formats/raw/ring.h"
#include "formats/run/gpucapture/process/process.h"

#define REC_CONTEXT_DEPTH 64

/* An operation that a nested call launched, kept until the outermost call ends, which may turn it
 * into a collective. In a capture it is a graph node, and `event` is that of the call. */
struct rec_launched_op {
	uint64_t ordinal; /* of the call, within its ring */
	uint32_t event;	  /* REC_NONE: first reading */
	uint32_t track;
	uint8_t depth;
	uint8_t kind; /* enum fmt_kind */
	bool captured;
	uint32_t graph, node; /* see struct rec_graph_node_ref */
	uint32_t stream;      /* in a capture: number of the object */
	fmt_str name;	      /* else: of the operation */
};

/* A collective, or the sends and receives of one stream, waiting for the end of their group. */
struct rec_pending_collective {
	struct rec_collective collective; /* without event and messages */
	uint32_t stream;		  /* number of the object */
	int64_t sent_bytes, received_bytes;
	bool done;
	bool is_named; /* an annotation names the sends and receives */
};

struct rec_pending_message {
	uint32_t pending;
	struct fmt_message message;
};

struct rec_thread {
	uint32_t track;
	uint32_t ring;
	uint64_t seen, over; /* ordinals: largest processed; all up to `over` are processed */
	uint64_t contexts[REC_CONTEXT_DEPTH]; /* context stack; the last is current */
	uint32_t n_contexts;
	uint32_t kept_depth; /* calls around the next calls are kept in the prologue if their depth
				is less */
	struct rec_launched_op *launched;
	size_t n_launched, launched_cap;
	uint32_t group;		 /* depth of ncclGroupStart */
	struct rec_comm *splits; /* communicators without a handle until the end of the group */
	size_t n_splits, splits_cap;
	struct rec_pending_collective *pending;
	size_t n_pending, pending_cap;
	struct rec_pending_message *messages; /* of `pending` */
	size_t n_messages, messages_cap;
	struct rec_open_range *open;
	size_t n_open, open_cap;
};

struct rec_blob {
	uint16_t arg;
	uint8_t what;	/* enum cap_blob_kind */
	uint16_t field; /* as in struct cap_blob_record */
	const uint8_t *data;
	uint32_t len;
	uint64_t whole_len;
};

#define REC_BLOBS 64

struct rec_call {
	struct rec_process *process;
	struct rec_thread *thread;
	const struct cap_call_record *record;
	const struct api_call *api; /* NULL: unknown function */
	const char *name;	    /* also set for an unknown function */
	const struct rec_blob *blobs;
	const struct cap_image_record *const *images;
	uint32_t n_words, n_blobs, n_images;
	struct {
		const uint8_t *at;
		size_t bytes;
	} records[2]; /* records of this call; records held since before its nested calls */
	int64_t start_ns, end_ns;
	uint32_t event; /* index of its event, once added */
};

/* Returns the index of an argument by name, or -1. */
int rec_call_arg(const struct rec_call *c, const char *name);

/* Returns the value of an argument, extended to 64 bits by its type; `otherwise` if the call has no
 * such argument. */
int64_t rec_call_value(const struct rec_call *c, const char *name, int64_t otherwise);
static inline int64_t rec_call_value_at(const struct rec_call *c, int arg)
{
	const struct api_arg *a = &c->api->args[arg];

	return a->word < c->n_words ? (int64_t)api_extended(a, c->record->words[a->word]) : 0;
}

/* Returns the memory that the argument points to, before or after the call; NULL if not
 * recorded. */
const struct rec_blob *rec_call_blob(const struct rec_call *c, const char *name,
				     enum cap_blob_kind what);
const struct rec_blob *rec_call_blob_at(const struct rec_call *c, int arg, enum cap_blob_kind what);

/* Reads the number of `bytes` bytes at `offset` of a blob. Returns 1, or 0 if out of range. */
int rec_blob_number(const struct rec_blob *b, size_t offset, size_t bytes, uint64_t *ret);

/* Reads the struct that an argument points to, before the call. Returns 1, or 0 if the argument is
 * not a struct or was not recorded. */
int rec_call_struct(const struct rec_call *c, const char *name, struct api_view *ret);

/* Returns the name of a function or kernel handle; the handle in hex if its creation was not
 * recorded. */
fmt_str rec_call_kernel_name(const struct rec_call *c, uint64_t handle);

int rec_call_is(const struct rec_call *c, const char *stem);

/* Returns the object of the stream argument. Resolves per-thread default streams and default
 * streams of contexts to separate objects. NULL if out of memory. */
struct rec_object *rec_call_stream(const struct rec_call *c);
struct rec_object *rec_call_stream_of(const struct rec_call *c, uint64_t handle);

/* Return the handle of the thread's current context, or 0; its device, or -1 if unknown. */
uint64_t rec_call_context(const struct rec_call *c);
int rec_call_device(const struct rec_call *c);

/* Returns an event on the thread of the call, with the call's times and no template yet. */
struct rec_event rec_call_event(const struct rec_call *c, enum fmt_kind kind);

/* Adds the call itself as an event, with its decoded arguments. */
int rec_call_add(struct rec_call *c);

/* Sets the device of the call, whichever context is current; -1 changes nothing. */
void rec_call_set_device(const struct rec_call *c, int device);

/* Marks the call and its enclosing calls as needed by later calls: a window keeps them in its
 * prologue. */
void rec_call_keep_in_prologue(const struct rec_call *c);

/* Add created objects, before the call's event is added; remove destroyed ones and set the current
 * context, after it. */
int rec_call_add_objects(struct rec_call *c);
int rec_call_remove_objects(struct rec_call *c);
/* Add the allocations that the call made; remove those that it freed. */
int rec_call_add_allocations(const struct rec_call *c);
int rec_call_remove_allocations(const struct rec_call *c);
