/* SPDX-License-Identifier: Apache-2.0 */

/* One recorded call, with what belongs to it: its description, its blobs, its thread. What the
 * rules for single calls look at. Everything stands until the next call is looked at. */
#pragma once

#include "formats/api/fields.h"
#include "formats/raw/ring.h"
#include "formats/run/gpucapture/process/process.h"

#define REC_CONTEXT_DEPTH 64

/* An operation that a nested call launched, until the call around it says what it was for; or a
 * node that it became in a capture, where `event` is the call's. */
struct rec_launched {
	uint64_t ordinal; /* of the call */
	uint32_t event;	  /* REC_NONE: first reading */
	uint32_t track, index;
	uint8_t depth;
	uint8_t kind; /* enum fmt_kind */
	bool captured;
	uint32_t graph, node; /* see struct rec_graph_at */
	uint32_t stream;      /* its number */
};

/* A collective, or the sends and receives of one stream, that wait for the end of their group. */
struct rec_pending {
	struct rec_collective is; /* of no event yet; without messages */
	uint32_t stream;	  /* its number */
	int64_t sent_bytes, received_bytes;
	bool done;
	bool is_named; /* a range says what the sends and receives are */
};

struct rec_sent {
	uint32_t pending;
	struct fmt_message message;
};

struct rec_thread {
	uint32_t track;
	uint32_t ring;
	uint64_t seen, over; /* ordinals: the largest that was looked at; all up to there were */
	uint64_t contexts[REC_CONTEXT_DEPTH]; /* the last is current */
	uint32_t n_contexts;
	uint32_t kept_depth; /* calls around the last ones are kept if their depth is less */
	struct rec_launched *launched;
	size_t n_launched, launched_cap;
	uint32_t group; /* depth of ncclGroupStart */
	struct rec_pending *pending;
	size_t n_pending, pending_cap;
	struct rec_sent *messages; /* of what is pending */
	size_t n_messages, messages_cap;
	struct rec_open *open;
	size_t n_open, open_cap;
};

struct rec_blob {
	uint16_t arg;
	uint8_t what;	/* enum cap_blob_what */
	uint16_t field; /* CAP_BLOB_FIELD: of the argument's struct */
	const uint8_t *data;
	uint32_t len;
	uint64_t whole_len;
};

#define REC_BLOBS 64

struct rec_call {
	struct rec_process *process;
	struct rec_thread *thread;
	const struct cap_call_record *record;
	const struct api_call *api; /* NULL: without a description */
	const char *name;	    /* of an unknown one, too */
	const struct rec_blob *blobs;
	const struct cap_image_record *const *images;
	uint32_t n_words, n_blobs, n_images;
	struct {
		const uint8_t *at;
		size_t bytes;
	} records[2]; /* all that came with the call, and with others */
	int64_t start_ns, end_ns;
	uint32_t event; /* it is, once it was added */
};

/* The index of an argument by name; -1. */
int rec_arg(const struct rec_call *c, const char *name);

/* The value of an argument, extended to 64 bits by its type; `otherwise` if it has no such
 * argument. */
int64_t rec_value(const struct rec_call *c, const char *name, int64_t otherwise);
static inline int64_t rec_value_at(const struct rec_call *c, int arg)
{
	const struct api_arg *a = &c->api->args[arg];

	return a->word < c->n_words ? (int64_t)api_extended(a, c->record->words[a->word]) : 0;
}

/* The memory that the argument of that name points to, before or after the call. NULL if it was not
 * recorded. */
const struct rec_blob *rec_pointed(const struct rec_call *c, const char *name,
				   enum cap_blob_what what);
const struct rec_blob *rec_pointed_at(const struct rec_call *c, int arg, enum cap_blob_what what);

/* The number of `bytes` bytes at `offset` of a blob; 1, or 0 when it is not there. */
int rec_number(const struct rec_blob *b, size_t offset, size_t bytes, uint64_t *ret);

/* The struct that an argument points to, before the call: 1; 0 if it is not a struct, or was not
 * recorded. */
int rec_view(const struct rec_call *c, const char *name, struct api_view *ret);

/* The name of the function or kernel of a handle; its address in hex if its making was not
 * recorded. */
fmt_str rec_kernel_name(const struct rec_call *c, uint64_t handle);

int rec_is(const struct rec_call *c, const char *stem);

/* The stream argument as the object that it stands for now: with the thread's own, and the
 * context's default, told apart. NULL without memory. */
struct rec_object *rec_stream(const struct rec_call *c);
struct rec_object *rec_stream_of(const struct rec_call *c, uint64_t handle);

/* The handle of the thread's current context; 0. Its device; -1 unknown. */
uint64_t rec_current_context(const struct rec_call *c);
int rec_current_device(const struct rec_call *c);

/* Adds an event on the thread of the call, within its span, without a template yet. */
struct rec_event rec_call_event(const struct rec_call *c, enum fmt_kind kind);

/* Adds the call itself, with its arguments by meaning. */
int rec_call_add(struct rec_call *c);

/* The call is made for that device, whichever is current; -1 changes nothing. */
void rec_call_is_on(const struct rec_call *c, int device);

/* The call, and those around it, are in the prologue of a window: later ones need what it did. */
void rec_call_keep(const struct rec_call *c);

/* Follows what the call did to objects: what was made, before the call is added; what is gone and
 * which context is current, after it. */
int rec_call_makes(struct rec_call *c);
int rec_call_ends(struct rec_call *c);
/* The same of memory. */
int rec_call_allocates(const struct rec_call *c);
int rec_call_frees(const struct rec_call *c);
