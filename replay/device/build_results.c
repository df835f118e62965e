/* SPDX-License-Identifier: Apache-2.0 */

/* Maps recorded objects and memory to those that a call returned. */
#include "replay/device/build.h"

#include "base/array.h"
#include "formats/api/fields.h"
#include "replay/device/driver.h"
#include "replay/device/nccl.h"
#include "replay/device/regions.h"

#include <string.h>
#include <unistd.h>

/* Returns the number of bytes that the call allocated, if its arguments contain it. */
static uint64_t memory_bytes(const struct rex_frame *b)
{
	static const char *const keys[] = {"bytesize", "size", "bytes.out", "bytes"};
	int64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (rex_args_int(&b->call->args, keys[i], NULL, &bytes) && bytes > 0)
			return (uint64_t)bytes;
	return 0;
}

/* Maps the memory that the call allocated or mapped at a recorded address. */
static int note_memory(struct rex_frame *b, uint64_t recorded, uint64_t here)
{
	uint64_t bytes = memory_bytes(b), start;
	size_t imported;

	/* Calls that open memory of another process have no size. */
	if (bytes == 0 && b->call->api->class == API_CLASS_ALLOC && rex_driver.address_range &&
	    rex_driver.address_range(&start, &imported, here) == 0)
		bytes = start + imported - here;
	/* A damaged trace may contain another size than the variable has. */
	if (strcmp(b->call->api->name, "cuLibraryGetManaged") == 0 && b->behind[1] &&
	    *(const size_t *)b->behind[1] < bytes)
		bytes = *(const size_t *)b->behind[1];
	if (bytes == 0 || b->call->api->class == API_CLASS_QUERY)
		return 0;
	return b->call->api->class == API_CLASS_RESERVE
		       ? rex_reserved_set(b->context->objects, recorded, bytes, here)
		       : rex_memory_set(b->context->objects, recorded, bytes, here);
}

/* cuMemMap(ptr, size, ...). */
static int note_mapping(struct rex_frame *b)
{
	int64_t recorded = 0;

	if (strcmp(b->call->api->name, "cuMemMap") != 0)
		return 0;
	rex_args_int(&b->call->args, "ptr", NULL, &recorded);
	return note_memory(b, (uint64_t)recorded, b->words[0]);
}

/* The memory of a graph, whose address is in the parameters of the node. */
static int note_alloc_node(struct rex_frame *b)
{
	const unsigned last = b->call->api->n_args - 1u;
	const struct api_view v = {.layout = b->call->api->args[last].layout,
				   .bytes = b->behind[last],
				   .len = b->bytes[last]};
	uint64_t recorded, bytes;

	if (!rex_regions_alloc_node(b->call, &recorded, &bytes) || !v.layout || !v.bytes)
		return 0;
	return rex_graph_memory_set(
		b->context->objects, recorded, bytes,
		api_number(&v, api_field(v.layout, "dptr") ? "dptr" : "alloc.dptr"));
}

#define POSIX_FD 1 /* CUmemAllocationHandleType: argument 2 of both functions that export */

/* The program closed the descriptor that it exported before with the same number. */
static int note_fd(struct rex_frame *b, const struct api_arg *a, int here)
{
	int64_t recorded;
	uint64_t last;
	char key[REX_KEY_BYTES];

	if (b->words[2] != POSIX_FD ||
	    !rex_args_int(&b->call->args, rex_key(key, a->name, "out"), NULL, &recorded))
		return 0;
	if (rex_handle_get(b->context->objects, API_MEANING_FD, (uint64_t)recorded, &last))
		close((int)last);
	return rex_handle_set(b->context->objects, API_MEANING_FD, (uint64_t)recorded,
			      (uint64_t)here);
}

/* Returns true if the call creates a value that other processes use. */
static bool is_shared(const struct api_call *call, const struct api_arg *a)
{
	return a->meaning == API_MEANING_UNIQUE_ID ||
	       (a->meaning == API_MEANING_BYTES && strncmp(call->name, "cuIpcGet", 8) == 0);
}

static int announce_values(struct rex_share *share, const struct rex_call *c)
{
	uint64_t recorded[REX_SHARED_BYTES / 8] = {0};
	char key[REX_KEY_BYTES];
	int r = 0;

	for (unsigned i = 0; i < c->api->n_args && r == 0; i++) {
		const struct api_arg *a = &c->api->args[i];

		if (a->direction != API_DIRECTION_OUT || !is_shared(c->api, a) ||
		    a->length.bytes > sizeof(recorded))
			continue;
		rex_args_bytes(&c->args, rex_key(key, a->name, "out"), 8, recorded,
			       a->length.bytes);
		r = rex_share_announce(share, recorded, a->length.bytes);
	}
	return r;
}

void rex_announce_values(const struct rex_process *p, struct rex_share *share)
{
	for (size_t i = 0; i < p->n_calls; i++)
		if (!p->calls[i].skipped && api_succeeded(p->calls[i].api, p->calls[i].result) &&
		    announce_values(share, &p->calls[i]) < 0)
			return; /* the table is full: other processes wait longer than needed */
	rex_share_end_announcements(share, p->n_processes);
}

static int note_pointed(struct rex_frame *b, unsigned i)
{
	const struct api_arg *a = &b->call->api->args[i];
	uint64_t recorded[64] = {0}, here = 0;
	char key[REX_KEY_BYTES];
	size_t n, width = b->bytes[i] < 8 ? b->bytes[i] : 8;
	int r = 0;

	n = rex_args_bytes(&b->call->args, rex_key(key, a->name, "out"), 8, recorded,
			   b->bytes[i] < sizeof(recorded) ? b->bytes[i] : sizeof(recorded));
	if (a->meaning == API_MEANING_FD)
		return note_fd(b, a, *(const int *)b->behind[i]);
	if (is_shared(b->call->api, a))
		return rex_share_put(b->context->share, recorded, b->bytes[i], b->behind[i]);
	for (size_t k = 0; 8 * k < n && r == 0; k++) {
		memcpy(&here, (char *)b->behind[i] + 8 * k, width);
		if (a->meaning == API_MEANING_DEVPTR || a->meaning == API_MEANING_HOST) {
			r = note_memory(b, recorded[k], here);
		} else {
			r = rex_handle_set(b->context->objects, (enum api_meaning)a->meaning,
					   recorded[k], here);
		}
	}
	return r;
}

/* Maps the communicators that the end of the group set. */
static int note_splits(struct rex_frame *b)
{
	const struct rex_context *context = b->context;
	const struct rex_call *splits[64];
	uint64_t recorded[ARRAY_SIZE(splits)], *here;
	size_t n = rex_args_bytes(&b->call->args, "comms.out", 8, recorded, sizeof(recorded)) / 8;
	int64_t to;
	int r = 0;

	if (n > 0)
		n = rex_find_splits(context->process, b->call, splits, n);
	for (size_t i = 0; i < n && r == 0; i++) {
		rex_args_int(&splits[i]->args, "newcomm", NULL, &to);
		here = rex_host_memory(context->objects, (uint64_t)to, sizeof(*here));
		r = here ? rex_handle_set(context->objects, API_MEANING_COMM, recorded[i], *here)
			 : -ENOMEM;
	}
	return r;
}

/* Maps the nodes on which the next operation of a capture depends. */
static int note_dependencies(struct rex_frame *b)
{
	const struct api_call *call = b->call->api;
	uint64_t recorded[64];
	const uint64_t *here = NULL;
	size_t n = 0, n_recorded = rex_args_bytes(&b->call->args, "dependencies_out.nodes", 8,
						  recorded, sizeof(recorded)) /
				   8;
	int r = 0;

	for (unsigned i = 0; i < call->n_args && n_recorded > 0; i++) {
		if (strcmp(call->args[i].name, "dependencies_out") == 0 && b->behind[i])
			memcpy(&here, b->behind[i], sizeof(here));
		if (strcmp(call->args[i].name, "numDependencies_out") == 0 && b->behind[i])
			memcpy(&n, b->behind[i], sizeof(n));
	}
	for (size_t i = 0; here && i < n && i < n_recorded && r == 0; i++)
		r = rex_handle_set(b->context->objects, API_MEANING_GRAPH_NODE, recorded[i],
				   here[i]);
	return r;
}

int rex_frame_results(struct rex_frame *b)
{
	const struct api_call *call = b->call->api;
	int r = call->class == API_CLASS_GROUP_END    ? note_splits(b)
		: call->class == API_CLASS_QUERY      ? note_dependencies(b)
		: call->class == API_CLASS_GRAPH_NODE ? note_alloc_node(b)
						      : note_mapping(b);

	for (unsigned i = 0; i < call->n_args && r == 0; i++) {
		const struct api_arg *a = &call->args[i];

		if ((a->direction != API_DIRECTION_OUT && a->direction != API_DIRECTION_INOUT) ||
		    !b->behind[i])
			continue;
		if (api_is_handle((enum api_meaning)a->meaning) ||
		    a->meaning == API_MEANING_DEVPTR || a->meaning == API_MEANING_HOST ||
		    a->meaning == API_MEANING_UNIQUE_ID || a->meaning == API_MEANING_BYTES ||
		    a->meaning == API_MEANING_REDUCTION || a->meaning == API_MEANING_FD)
			r = note_pointed(b, i);
	}
	return r;
}
