/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/calls/ring_reader.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/gpucapture/calls/calls.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/gpucapture/process/digests.h"
#include "formats/run/gpucapture/process/times.h"

void rec_ring_reader_free(struct rec_ring_reader *f)
{
	if (!f)
		return;
	free(f->queue);
	free(f->held);
	cap_layouts_done(&f->layouts);
	free(f->thread.launched);
	free(f->thread.pending);
	free(f->thread.messages);
	free(f->thread.splits);
	free(f->thread.open);
	free(f);
}

define_cleanup(rec_ring_reader_freep, struct rec_ring_reader *, rec_ring_reader_free);

int rec_ring_reader_new(const struct cap_ring_info *about, struct rec_process *p,
			const struct cap_clock *clock, struct rec_ring_reader **ret)
{
	scoped(rec_ring_reader_freep) struct rec_ring_reader *f = calloc(1, sizeof(*f));
	struct rec_track track = {.kind = FMT_THREAD, .device = -1};
	int r;

	if (!f)
		return -ENOMEM;
	f->about = *about;
	f->process = p;
	f->thread.ring = f->about.number;
	track.number = f->about.tid;
	r = fmt_names_string(p->names, f->about.thread_name, strlen(f->about.thread_name),
			     &track.name);
	if (r == 0)
		r = rec_add_track(p, &track, &f->thread.track);
	if (r == 0 && array_reserve(&p->threads, p->n_threads + 1, &p->threads_cap) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	p->threads[p->n_threads++] = &f->thread;
	f->clock = f->about.clock == CAP_CLOCK_TSC ? clock : NULL;
	p->is_virtual |= f->about.clock == CAP_CLOCK_VIRTUAL;
	*ret = take(f);
	return 0;
}

static uint64_t ns_of(const struct rec_ring_reader *f, uint64_t at)
{
	int64_t ns = f->clock ? cap_clock_ns(f->clock, at) : (int64_t)at;

	if (f->process->clock && ns >= 0 && ns < REC_LATEST_NS)
		ns = fmt_clock_ns(f->process->clock, ns);

	return ns < 0 ? 0 : (uint64_t)(ns < REC_LATEST_NS ? ns : REC_LATEST_NS);
}

/* Keeps the record, its times in nanoseconds. */
static int queue_record(struct rec_ring_reader *f, const struct cap_record *r)
{
	uint8_t *at;

	if (array_reserve(&f->queue, f->n + r->bytes, &f->cap) < 0)
		return -ENOMEM;
	at = f->queue + f->n;
	memcpy(at, r, r->bytes);
	f->n += r->bytes;
	if (r->kind == CAP_CALL) {
		struct cap_call_record *c = (void *)at;

		c->start = ns_of(f, c->start);
		c->end = ns_of(f, c->end);
	} else if (r->kind == CAP_RANGE) {
		struct cap_range_record *range = (void *)at;

		range->at = ns_of(f, range->at);
	}
	return 0;
}

/* Queues kernel parameters with their current layout. */
static int queue_params(struct rec_ring_reader *f, const struct cap_params_record *r)
{
	uint32_t bytes = cap_layouts_blob_bytes(&f->layouts, r);

	if (bytes == 0) {
		f->process->counts.damaged++;
		return 0;
	}
	if (array_reserve(&f->queue, f->n + bytes, &f->cap) < 0)
		return -ENOMEM;
	cap_layouts_make_blob(&f->layouts, r, (void *)(f->queue + f->n));
	f->n += bytes;
	return 0;
}

static int add_text(struct rec_process *p, const struct cap_text_record *t)
{
	fmt_str name;
	int r = fmt_names_string(p->names, t->data, t->key_len, &name);
	uint32_t number = t->number >= CAP_API_UNKNOWN ? t->number - CAP_API_UNKNOWN : t->number;
	size_t before = p->unknown_cap;

	if (r < 0 || number > REC_MOST_UNKNOWN)
		return r;
	if (array_reserve(&p->unknown, (size_t)number + 1, &p->unknown_cap) < 0)
		return -ENOMEM;
	memset(p->unknown + before, 0, (p->unknown_cap - before) * sizeof(*p->unknown));
	p->unknown[number] = name;
	return 0;
}

/* Returns true if the first reading needs the record. */
static bool is_planned(const struct rec_process *p, const struct cap_record *r)
{
	switch ((enum cap_record_kind)r->kind) {
	case CAP_TIMES:
		return p->planned_times;
	case CAP_IMAGE:
	case CAP_LAYOUT:
	case CAP_PARAMS:
	case CAP_DIGEST:
	case CAP_PAYLOAD:
	case CAP_ANNOUNCED:
		return false;
	default:
		return true;
	}
}

/* Handles records immediately if their order does not matter; queues the others. */
static int add_record(struct rec_ring_reader *f, const struct cap_record *r)
{
	struct rec_process *p = f->process;
	const struct cap_text_record *text = (const void *)r;
	const struct cap_lost_record *lost = (const void *)r;
	const struct cap_announced_record *announced = (const void *)r;
	const struct cap_payload_record *payload = (const void *)r;
	const struct cap_digest_record *digest = (const void *)r;

	if (p->only_plan && !is_planned(p, r))
		return 0;
	switch ((enum cap_record_kind)r->kind) {
	case CAP_IMAGE:
		return rec_add_image(p, (const void *)r) < 0 ? -ENOMEM : queue_record(f, r);
	case CAP_CALL:
	case CAP_BLOB:
	case CAP_NODE:
	case CAP_RANGE:
		return queue_record(f, r);
	case CAP_LAYOUT:
		return cap_layouts_add(&f->layouts, (const void *)r);
	case CAP_PARAMS:
		return queue_params(f, (const void *)r);
	case CAP_TIMES:
		return rec_add_times(p, (const void *)r);
	case CAP_DIGEST:
		return rec_add_digest(p, digest, (int64_t)ns_of(f, digest->at));
	case CAP_PAYLOAD:
		return rec_add_content(p, payload, (int64_t)ns_of(f, payload->id));
	case CAP_ANNOUNCED:
		return rec_digests_expect(p, announced->id, announced->n);
	case CAP_FACT:
		return rec_add_fact(p, text->data, text->key_len, text->data + text->key_len,
				    text->value_len);
	case CAP_NAME:
		return add_text(p, text);
	case CAP_LOST:
		p->counts.lost_records += lost->records;
		p->counts.lost_bytes += lost->bytes;
		return 0;
	default:
		return 0;
	}
}

int rec_ring_reader_add(struct rec_ring_reader *f, struct fmt_cursor *c)
{
	const struct cap_record *record;
	int r, e;

	while ((e = cap_record_next(c, &record)) == 1) {
		const struct cap_times_record *next = (const void *)c->at;

		/* Their entries are far apart, and no longer cached. */
		if (fmt_left(c) >= sizeof(*next) && next->head.kind == CAP_TIMES)
			rec_pending_fetch(&f->process->times.waits, next->id + 1);
		r = add_record(f, record);
		if (r < 0)
			return r;
	}
	if (e < 0)
		rec_ring_reader_note_damage(f);
	return 0;
}

void rec_ring_reader_note_damage(struct rec_ring_reader *f)
{
	f->process->counts.damaged++;
	cap_layouts_done(&f->layouts);
}

#define MOST_MOVED 2 /* minimum of released bytes for each moved byte */

void rec_ring_reader_end_round(struct rec_ring_reader *f)
{
	if (f->at > 0 && f->at / MOST_MOVED >= f->n - f->at) {
		memmove(f->queue, f->queue + f->at, f->n - f->at);
		f->n -= f->at;
		f->group_end -= f->group_end ? f->at : 0;
		f->at = 0;
	}
	f->safe = f->n;
}

/* ---- reading */

/* Finds the next call or range, including its preceding records. */
static int find_group(struct rec_ring_reader *f)
{
	size_t at = f->at;

	if (f->group_end)
		return 1;
	while (at < f->n) {
		const struct cap_record *r = (const void *)(f->queue + at);

		at += r->bytes;
		if (r->kind == CAP_CALL)
			f->group_order = cap_call_order((const void *)r);
		else if (r->kind != CAP_RANGE)
			continue;
		else if (f->about.clock != CAP_CLOCK_VIRTUAL)
			f->group_order = ((const struct cap_range_record *)(const void *)r)->at;
		f->group_end = at;
		return 1;
	}
	return 0;
}

static const char *name_of(const struct rec_process *p, uint32_t api)
{
	uint32_t number = api - CAP_API_UNKNOWN;
	const char *name =
		number < p->unknown_cap ? fmt_string(p->names, p->unknown[number], NULL) : "";

	return *name ? name : "unknown";
}

/* Ends an outermost call: keeps its launches for the search for iterations. In the first reading
 * also drops the times of operations that are not collectives. */
static int end_outermost(const struct rec_call *c)
{
	struct rec_process *p = c->process;
	struct rec_thread *t = c->thread;
	int r = 0;

	for (size_t i = 0; i < t->n_launched && r == 0; i++) {
		const struct rec_launched_op *l = &t->launched[i];

		if (l->captured)
			continue;
		if (p->planned_times && l->kind != FMT_COLLECTIVE)
			r = rec_times_ignore(p, (uint64_t)t->ring << CAP_ORDINAL_BITS | l->ordinal);
		if (r == 0 && !p->is_planned && p->n_marks == 0)
			r = rec_add_launch(p, t->track, p->tracks[l->track].device,
					   &(struct rec_launch){c->start_ns, l->name});
	}
	t->n_launched = 0;
	t->over = t->seen;
	return r;
}

/* Whether the call works on a stream or waits for it, and makes, changes and ends no object. */
static bool is_work(const struct rec_call *c)
{
	const uint64_t classes = 1ull << API_CLASS_LAUNCH | 1ull << API_CLASS_COPY |
				 1ull << API_CLASS_SET | 1ull << API_CLASS_GRAPH_LAUNCH |
				 1ull << API_CLASS_EVENT_RECORD | 1ull << API_CLASS_EVENT_WAIT |
				 1ull << API_CLASS_SYNC | 1ull << API_CLASS_EVENT_QUERY |
				 1ull << API_CLASS_STREAM_QUERY;

	return c->api && c->api->library == API_LIBRARY_CUDA && classes >> c->api->class & 1;
}

/* Whether the call adds a host function: to a stream, or to a graph during its capture. */
static bool is_host_call(const struct rec_call *c)
{
	return c->api && c->api->library == API_LIBRARY_CUDA &&
	       c->api->class == API_CLASS_HOST_CALL;
}

/* Updates the objects of the process. New objects are added before the call, which refers to them.
 */
static int update_objects(struct rec_call *c)
{
	int r = rec_call_add_objects(c);

	if (r == 0)
		r = rec_call_add(c);
	if (r == 0)
		r = rec_call_update_graphs(c);
	if (r == 0)
		r = rec_call_update_comms(c);
	return r < 0 ? r : rec_call_remove_objects(c);
}

static int process_call(struct rec_call *c)
{
	struct rec_thread *t = c->thread;
	int r = is_work(c) ? rec_call_add(c) : update_objects(c);

	if (r == 0 && (is_work(c) || is_host_call(c)))
		r = rec_call_add_ops(c);
	if (cap_id_ordinal(c->record->id) > t->seen)
		t->seen = cap_id_ordinal(c->record->id);
	return r < 0 || c->record->head.depth > 0 ? r : end_outermost(c);
}

/* Returns the id of the call that the record belongs to, or 0. */
static uint64_t owner_of(const struct cap_record *r)
{
	if (r->kind == CAP_BLOB)
		return ((const struct cap_blob_record *)(const void *)r)->id;
	if (r->kind == CAP_IMAGE)
		return ((const struct cap_image_record *)(const void *)r)->id;
	if (r->kind == CAP_NODE)
		return ((const struct cap_node_record *)(const void *)r)->id;
	return 0;
}

/* Keeps a record of a call with nested calls until that call ends. */
static int hold_record(struct rec_ring_reader *f, const struct cap_record *r)
{
	if (array_reserve(&f->held, f->n_held + r->bytes, &f->held_cap) < 0)
		return -ENOMEM;
	memcpy(f->held + f->n_held, r, r->bytes);
	f->n_held += r->bytes;
	return 0;
}

/* Drops held records of this call and of its nested calls. Nested calls end before enclosing ones,
 * which have smaller ordinals. After an outermost call, drops all held records. */
static void drop_held(struct rec_ring_reader *f, const struct cap_call_record *call)
{
	uint64_t ordinal = call->head.depth > 0 ? cap_id_ordinal(call->id) : 0;
	size_t kept = 0, at = 0;

	while (at < f->n_held) {
		const struct cap_record *r = (const void *)(f->held + at);
		uint32_t bytes = r->bytes;

		if (cap_id_ordinal(owner_of(r)) < ordinal) {
			memmove(f->held + kept, r, bytes);
			kept += bytes;
		}
		at += bytes;
	}
	f->n_held = kept;
}

/* Adds the record to its call. */
static void add_to_call(struct rec_call *c, struct rec_blob *blobs,
			const struct cap_image_record **images, const struct cap_record *r)
{
	const struct cap_blob_record *b = (const void *)r;

	if (owner_of(r) != c->record->id)
		return;
	if (r->kind == CAP_BLOB && c->n_blobs < REC_BLOBS)
		blobs[c->n_blobs++] = (struct rec_blob){b->arg,	 b->head.flags, b->field,
							b->data, b->len,	b->whole_len};
	else if (r->kind == CAP_IMAGE && c->n_images < REC_BLOBS)
		images[c->n_images++] = (const void *)r;
}

static int process_record(struct rec_ring_reader *f, const struct cap_call_record *record,
			  size_t from)
{
	struct rec_blob blobs[REC_BLOBS];
	const struct cap_image_record *images[REC_BLOBS];
	struct rec_call c = {.process = f->process,
			     .thread = &f->thread,
			     .record = record,
			     .blobs = blobs,
			     .images = images,
			     .records = {{f->held, f->n_held}, {f->queue + from, f->at - from}}};
	const struct cap_record *r;
	int e;

	for (size_t at = 0; at < f->n_held; at += r->bytes) {
		r = (const void *)(f->held + at);
		add_to_call(&c, blobs, images, r);
	}
	for (size_t at = from; at < f->at; at += r->bytes) {
		r = (const void *)(f->queue + at);
		add_to_call(&c, blobs, images, r);
	}
	c.n_words = cap_call_words(c.record);
	c.start_ns = (int64_t)c.record->start;
	c.end_ns = c.record->end < c.record->start ? c.start_ns : (int64_t)c.record->end;
	if (c.record->api < CAP_API_UNKNOWN)
		c.api = api_call(c.record->api);
	c.name = c.api ? c.api->name : name_of(f->process, c.record->api);
	e = process_call(&c);
	if (f->n_held > 0)
		drop_held(f, record);
	return e;
}

static int process_group(struct rec_ring_reader *f)
{
	size_t from = f->at;
	const struct cap_record *r = NULL, *last = NULL;
	int e = 0;

	for (; f->at < f->group_end; f->at += last->bytes)
		last = (const void *)(f->queue + f->at);
	f->group_end = 0;
	for (size_t at = from; at < f->at && e == 0; at += r->bytes) {
		uint64_t owner;

		r = (const void *)(f->queue + at);
		owner = owner_of(r);
		if (owner != 0 &&
		    (last->kind != CAP_CALL ||
		     owner != ((const struct cap_call_record *)(const void *)last)->id))
			e = hold_record(f, r);
	}
	if (e < 0)
		return e;
	if (last->kind == CAP_RANGE)
		return rec_add_annotation(f->process, &f->thread, (const void *)last);
	rec_pending_fetch(&f->process->times.waits,
			  ((const struct cap_call_record *)(const void *)last)->id + 1);
	return process_record(f, (const void *)last, from);
}

/* Whether the next group of `a` comes before that of `b`, which is a later reader or NULL. */
static bool is_before(const struct rec_ring_reader *a, const struct rec_ring_reader *b,
		      bool a_first)
{
	return !b || a->group_order < b->group_order ||
	       (a_first && a->group_order == b->group_order);
}

int rec_ring_readers_process(struct rec_ring_reader *const *readers, size_t n, bool all)
{
	for (;;) {
		struct rec_ring_reader *first = NULL, *second = NULL;
		bool in_order = false; /* first is an earlier reader than second */

		for (size_t i = 0; i < n; i++) {
			if (!find_group(readers[i]))
				continue;
			if (is_before(readers[i], first, false)) {
				second = first;
				first = readers[i];
				in_order = false;
			} else if (is_before(readers[i], second, false)) {
				second = readers[i];
				in_order = true;
			}
		}
		if (!first)
			return 0;
		/* Most calls of a thread follow one another. */
		while (find_group(first) && is_before(first, second, in_order)) {
			int r;

			if (!all && first->group_end > first->safe)
				return 0;
			r = process_group(first);
			if (r < 0)
				return r;
		}
	}
}
