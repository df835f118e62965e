/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/single_rank.h"

#include "base/array.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/allocations.h"
#include "replay/device/driver.h"
#include "replay/device/functions.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_exchange(const struct rex_call *c)
{
	return c->api->class == API_CLASS_COLLECTIVE || c->api->class == API_CLASS_P2P;
}

/* ---- finding calls that need other ranks */

/* Digests of buffers that calls read and wrote, by correlation of the calls. */
struct digests {
	struct rex_content *items;
	size_t n, cap;
};

static void digests_done(struct digests *d)
{
	free(d->items);
}

static int by_correlation(const void *a, const void *b)
{
	const struct rex_content *x = a, *y = b;

	return array_order(x->correlation, y->correlation);
}

static int add_digests(struct digests *d, const struct fmt_slice *s)
{
	for (size_t i = 0; i < s->n_digests; i++) {
		const struct fmt_digest *of = &s->digests[i];

		if (of->op < s->first_number || of->op - s->first_number >= s->n_events)
			continue;
		if (array_reserve(&d->items, d->n + 1, &d->cap) < 0)
			return -ENOMEM;
		d->items[d->n++] = (struct rex_content){
			.correlation = s->events[of->op - s->first_number].correlation,
			.offset_bytes = of->offset_bytes,
			.length_bytes = of->length_bytes,
			.allocation = of->allocation,
			.access = of->access,
		};
	}
	return 0;
}

static int read_digests(const struct rex_process *p, struct digests *ret, struct fmt_error *err)
{
	uint32_t rank = p->ranks[0];
	int r = 0;

	for (uint32_t i = 0; i < fmt_trace_rank(p->trace, rank)->n_slices && r == 0; i++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
		int64_t number = fmt_trace_slice(p->trace, rank, i)->iteration.number;

		if (fmt_iteration_order(number, p->range.first) < 0 ||
		    fmt_iteration_order(number, p->range.last) > 0)
			continue;
		r = fmt_slice_load(p->trace, rank, i,
				   FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_DIGESTS, &s, err);
		if (r == 0)
			r = add_digests(ret, s);
	}
	if (ret->n > 0)
		qsort(ret->items, ret->n, sizeof(ret->items[0]), by_correlation);
	return r;
}

static bool is_held(const struct rex_process *p, const struct rex_content *buffer)
{
	size_t n;
	const struct rex_content *list = rex_find_contents(p, buffer->correlation, &n);

	for (size_t i = 0; i < n; i++)
		if (list[i].access == buffer->access && list[i].allocation == buffer->allocation &&
		    list[i].offset_bytes == buffer->offset_bytes &&
		    list[i].length_bytes == buffer->length_bytes)
			return true;
	return false;
}

/* Returns 2 if the call writes memory on each rank, 1 if only on its root, 0 if it writes none. */
static int written_on(const struct rex_call *c)
{
	static const char *const counts[] = {"count", "sendcount", "recvcount"};
	bool has_root = false, is_output = false;
	int64_t count = 1;

	for (unsigned i = 0; i < c->api->n_args; i++) {
		has_root |= strcmp(c->api->args[i].name, "root") == 0;
		is_output |= c->api->args[i].direction >= API_DIRECTION_WRITES;
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		rex_args_int(&c->args, counts[i], NULL, &count);
	if (!is_output || count == 0)
		return 0;
	return has_root && (strstr(c->api->name, "Reduce") || strstr(c->api->name, "Gather")) ? 1
											      : 2;
}

/* Returns true if the trace contains all output of the call. Each buffer that it used has a digest;
 * ranks other than the root only have inputs. */
static bool is_recorded(const struct rex_process *p, const struct digests *d,
			const struct rex_call *c)
{
	size_t i = array_bound(k, 0, d->n, d->items[k].correlation < c->correlation), n;
	const struct rex_content *list = rex_find_contents(p, c->correlation, &n);
	bool has_read = false, has_written = false;
	int kind = written_on(c);

	for (; i < d->n && d->items[i].correlation == c->correlation; i++) {
		has_read |= d->items[i].access == FMT_READ;
		if (d->items[i].access == FMT_WRITTEN && !is_held(p, &d->items[i]))
			return false;
	}
	for (size_t k = 0; k < n; k++) {
		has_read |= list[k].access == FMT_READ;
		if (list[k].access != FMT_WRITTEN)
			continue;
		has_written = true;
		if (fmt_blob_is_listed(p->trace, list[k].name) <= 0)
			return false;
	}
	return has_written || kind == 0 || (kind == 1 && has_read);
}

static bool begins_with_one(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

/* Returns true if the call uses an object of another process. */
static bool is_foreign(const struct rex_call *c)
{
	static const char *const names[] = {"cuIpcOpen", "cuMemImport", "cuMemPoolImport"};

	return begins_with_one(c->api->name, names, ARRAY_SIZE(names));
}

static int refuse(struct rex_single_rank_refusal *ret, const struct rex_process *p, size_t index,
		  bool is_missing, const char *why)
{
	const struct rex_call *c = &p->calls[index];

	ret->index = index;
	ret->is_missing = is_missing;
	snprintf(ret->why, sizeof(ret->why), "%s (correlation %" PRIu64 ") %s", c->api->name,
		 c->correlation, why);
	return 1;
}

int rex_single_rank_check(const struct rex_process *p, struct rex_single_rank_refusal *ret,
			  struct fmt_error *err)
{
	scoped(digests_done) struct digests digests = {0};
	size_t captures = 0;
	int r;

	if (p->n_ranks > 1) {
		*ret = (struct rex_single_rank_refusal){.why = "its process drives several GPUs"};
		return 1;
	}
	r = read_digests(p, &digests, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_calls; i++) {
		const struct rex_call *c = &p->calls[i];

		captures += c->api->class == API_CLASS_CAPTURE_BEGIN && c->result == 0;
		captures -= captures > 0 && c->api->class == API_CLASS_CAPTURE_END &&
			    api_capture_is_over((int)c->result);
		if (c->skipped || !api_succeeded(c->api, c->result))
			continue;
		if (is_foreign(c))
			return refuse(ret, p, i, false, "uses memory or events of another process");
		if (is_exchange(c) && captures > 0)
			return refuse(ret, p, i, false, "is in a graph, so its data is unknown");
		if (is_exchange(c) && !is_recorded(p, &digests, c))
			return refuse(ret, p, i, true, "received data that is not recorded");
	}
	return 0;
}

/* ---- execution */

/* Calls of an open group of one thread. */
struct group {
	uint32_t depth;
	const struct rex_call **calls; /* owned */
	size_t n, cap;
};

struct rex_single_rank {
	const struct rex_process *process;
	bool checks_inputs;
	struct rex_allocations allocations;
	struct group *groups; /* owned: by thread */
	struct rex_counts counts;
};

int rex_single_rank_new(const struct rex_process *p, bool checks_inputs,
			struct rex_single_rank **ret)
{
	struct rex_single_rank *a = calloc(1, sizeof(*a));
	int r = a ? rex_allocations_read(p, &a->allocations) : -ENOMEM;

	if (r == 0) {
		a->process = p;
		a->checks_inputs = checks_inputs;
		a->groups = calloc(p->n_threads + 1, sizeof(*a->groups));
	}
	if (r < 0 || !a->groups) {
		rex_single_rank_free(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

void rex_single_rank_free(struct rex_single_rank *a)
{
	if (!a)
		return;
	for (size_t i = 0; a->groups && i < a->process->n_threads; i++)
		free(a->groups[i].calls);
	free(a->groups);
	rex_allocations_done(&a->allocations);
	free(a);
}

bool rex_single_rank_replaces(const struct rex_call *c)
{
	/* Calls for other devices and processes. Contexts of all devices are mapped to those of
	 * one. */
	static const char *const names[] = {"cuCtxEnablePeer", "cuCtxDisablePeer", "cuIpcGet",
					    "cuMemExport", "cuMemPoolExport"};

	if (c->api->library == API_LIBRARY_NCCL)
		return c->api->class != API_CLASS_ALLOC && c->api->class != API_CLASS_FREE;
	return begins_with_one(c->api->name, names, ARRAY_SIZE(names));
}

static void add_count(uint64_t *of, uint64_t n)
{
	__atomic_add_fetch(of, n, __ATOMIC_RELAXED);
}

/* Compares the call's inputs with the recorded ones. */
static int compare_input(struct rex_single_rank *a, const struct rex_frame *b,
			 const struct rex_call *c, const uint8_t *recorded, const uint8_t *here,
			 size_t len)
{
	char text[REX_NOTE_BYTES];
	size_t same = 0;

	add_count(&a->counts.inputs, 1);
	while (same < len && recorded[same] == here[same])
		same++;
	if (same == len)
		return 0;
	add_count(&a->counts.other_inputs, 1);
	snprintf(text, sizeof(text),
		 "%s (correlation %" PRIu64
		 ") reads different bytes, first at byte %zu of its buffer",
		 c->api->name, c->correlation, same);
	rex_share_set_note(b->context->share, text);
	return 0;
}

static int copy_or_compare(struct rex_single_rank *a, struct rex_frame *b, const struct rex_call *c,
			   const struct rex_content *content, uint64_t stream)
{
	scoped(free_ptr) uint8_t *recorded = NULL;
	scoped(free_ptr) uint8_t *read = NULL;
	struct rex_objects *objects = b->context->objects;
	uint64_t address, here;
	size_t len;
	int r = fmt_blob_read(a->process->trace, content->name, &recorded, &len, NULL);

	if (r == -ENOENT && content->access == FMT_READ)
		return 0;
	if (r < 0 || len != content->length_bytes)
		return rex_frame_fail(b, r < 0 ? r : -EBADMSG, "cannot read a recorded content");
	if (!rex_allocations_find(&a->allocations, content, &address) ||
	    !rex_address(objects, address, &here) || !rex_address_is_mapped(objects, address, len))
		return rex_frame_fail(b, -ENOENT, "allocation %" PRIu64 " does not exist",
				      content->allocation);
	if (content->access == FMT_WRITTEN) {
		add_count(&a->counts.delivered_bytes, len);
		return rex_driver.to_device(here, recorded, len, stream) == 0
			       ? 0
			       : rex_frame_fail(b, -EIO, "cannot copy what it received");
	}
	read = malloc(len + 1);
	if (!read)
		return -ENOMEM;
	if (rex_driver.from_device(read, here, len, stream) != 0 ||
	    rex_driver.synchronize_stream(stream) != 0)
		return rex_frame_fail(b, -EIO, "cannot copy what it sent");
	return compare_input(a, b, c, recorded, read, len);
}

/* Makes a capture library digest pending buffers first: it does not see these copies. */
static void flush_digests(uint64_t stream)
{
	int (*query)(uint64_t stream);
	void *found = rex_function("cuStreamQuery", API_LIBRARY_CUDA);

	memcpy(&query, &found, sizeof(query));
	if (query)
		query(stream);
}

static int deliver_data(struct rex_single_rank *a, struct rex_frame *b, const struct rex_call *c)
{
	size_t n;
	const struct rex_content *list = rex_find_contents(a->process, c->correlation, &n);
	int64_t recorded = 0;
	uint64_t stream = 0, delivered = 0;
	int r;

	if (n == 0)
		return 0;
	if (!rex_driver.to_device || !rex_driver.from_device)
		return rex_frame_fail(b, -ENODEV, "the driver cannot copy");
	rex_args_int(&c->args, "stream", NULL, &recorded);
	r = rex_translate(b, API_MEANING_STREAM, (uint64_t)recorded, 0, &stream);
	if (r == 0)
		flush_digests(stream);
	for (size_t i = 0; i < n && r == 0 && a->checks_inputs; i++)
		if (list[i].access == FMT_READ)
			r = copy_or_compare(a, b, c, &list[i], stream);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (list[i].access != FMT_WRITTEN)
			continue;
		r = copy_or_compare(a, b, c, &list[i], stream);
		delivered = 1;
	}
	add_count(&a->counts.delivered, delivered);
	return r;
}

/* NCCL makes the context of its communicator current; a thread may have none. */
static int deliver_in_context(struct rex_single_rank *a, struct rex_frame *b,
			      const struct rex_call *c)
{
	void *context;
	int device, r;

	if (!rex_driver.device || rex_driver.device(&device) == 0)
		return deliver_data(a, b, c);
	if (rex_driver.retain(&context, rex_device(0, a->process->device)) != 0 ||
	    rex_driver.push(context) != 0)
		return rex_frame_fail(b, -EIO, "no context");
	r = deliver_data(a, b, c);
	rex_driver.pop(&context);
	return r;
}

static int end_group(struct rex_single_rank *a, struct rex_frame *b, struct group *g)
{
	int r = 0;

	if (g->depth == 0 || --g->depth > 0)
		return 0;
	for (size_t i = 0; i < g->n && r == 0; i++)
		r = deliver_in_context(a, b, g->calls[i]);
	g->n = 0;
	return r;
}

int rex_single_rank_call(struct rex_single_rank *a, struct rex_frame *b)
{
	const struct rex_call *c = b->call;
	struct group *g = &a->groups[c->thread];

	if (c->api->class == API_CLASS_GROUP_END)
		return end_group(a, b, g);
	g->depth += c->api->class == API_CLASS_GROUP_BEGIN;
	if (!is_exchange(c))
		return 0;
	if (g->depth == 0)
		return deliver_in_context(a, b, c);
	if (array_reserve(&g->calls, g->n + 1, &g->cap) < 0)
		return -ENOMEM;
	g->calls[g->n++] = c;
	return 0;
}

void rex_single_rank_count(const struct rex_single_rank *a, struct rex_counts *counts)
{
	counts->delivered += a->counts.delivered;
	counts->delivered_bytes += a->counts.delivered_bytes;
	counts->inputs += a->counts.inputs;
	counts->other_inputs += a->counts.other_inputs;
}
