/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/scan.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/passed.h"

void infer_scan_done(struct infer_scan *s)
{
	free(s->threads);
	free(s->next);
	free(s->last);
	free(s->awaited);
	free(s->in_order);
	free(s->event_of);
	free(s->recorded);
	free(s->has_kernels);
	free(s->candidates[0]);
	free(s->candidates[1]);
}

static bool launches_collective(const struct infer_view *v, uint32_t call)
{
	const struct infer_call *c = &v->calls[call];

	for (uint32_t i = 0; i < c->n_ops; i++)
		if (v->ops[v->launched[c->first_op + i]].kind == FMT_COLLECTIVE)
			return true;
	return false;
}

static void keep_least(uint32_t *least, uint32_t n)
{
	*least = n < *least ? n : *least;
}

/* Finds the next launch of each call, and counts the stream waits that NCCL itself makes: before a
 * collective, the waits that precede every collective; after it, one wait if a wait follows every
 * collective, unless that wait is for the event that the process group records. Waits between two
 * collectives include those before the second one. */
static void find_next_launches(struct infer_scan *s)
{
	const struct infer_view *v = s->v;
	uint32_t before = 2, after[] = {1, 3}, events[] = {2, 4}; /* [1]: up to a collective */

	for (uint32_t t = 0; t < v->n_threads; t++) {
		uint32_t next = INFER_NONE, waits = 0, records = 0;

		for (uint32_t i = v->threads[t].end; i-- > v->threads[t].first;) {
			bool to = next != INFER_NONE && launches_collective(v, next);

			s->next[i] = next;
			waits += v->calls[i].api == INFER_API_STREAM_WAIT;
			records += v->calls[i].api == INFER_API_RECORD_EVENT;
			if (v->calls[i].n_ops == 0)
				continue;
			if (launches_collective(v, i) && next != INFER_NONE) {
				keep_least(&after[to], waits);
				keep_least(&events[to], records);
			}
			if (to)
				keep_least(&before, waits);
			next = i;
			waits = records = 0;
		}
	}
	s->own_before = before;
	keep_least(&after[0], after[1] - before);
	keep_least(&events[0], events[1] < before ? 0 : events[1] - before);
	s->own_after = after[0] && (events[0] > 1 || !s->has_records);
	s->own_records = events[0] - (s->own_after && s->has_records);
}

/* A wait may be for an operation that another thread launches, to which this thread hands over: if
 * the thread makes no call while others launch. A single launch may be a coincidence, unless the
 * thread launches nothing afterwards. */
static int find_launches_after_hand_over(struct infer_scan *s)
{
	const struct infer_view *v = s->v;
	scoped(free_ptr) uint32_t *seen = calloc(v->n_threads + (size_t)1, sizeof(*seen));
	uint32_t next = INFER_NONE, n = 0; /* launches behind the call */

	if (!seen)
		return -ENOMEM;
	for (uint32_t i = v->n_calls; i-- > 0;) {
		uint32_t call = v->order[i], *at = &seen[v->calls[call].thread];

		if (n - *at > 1 || s->next[call] == INFER_NONE)
			s->next[call] = next;
		if (v->calls[call].n_ops > 0) {
			next = call;
			n++;
		}
		*at = n;
	}
	return 0;
}

static void add_candidate(struct infer_scan *s, uint32_t op)
{
	int other;

	if (op == INFER_NONE || s->recorded[op])
		return;
	other = s->v->ops[op].kind != FMT_COLLECTIVE;
	s->candidates[other][s->n_candidates[other]++] = op;
	s->recorded[op] = 1;
}

static bool same_name(const struct infer_view *v, uint32_t a, uint32_t b)
{
	const struct infer_op *x = &v->ops[a], *y = &v->ops[b];

	return x->stream == y->stream && infer_op_name(v, x) == infer_op_name(v, y);
}

/* Lists the newest candidates of a kind, until there are `most` in total. */
static void list_candidates(const struct infer_scan *s, int kind, uint32_t most,
			    struct infer_site *ret)
{
	const struct infer_view *v = s->v;
	uint32_t first = ret->n;

	for (uint32_t i = s->n_candidates[kind]; i-- > 0 && ret->n < most;) {
		uint32_t op = s->candidates[kind][i], nth = 0;

		for (uint32_t k = ret->n; k-- > first;)
			if (same_name(v, ret->candidates[k].op, op)) {
				nth = ret->candidates[k].nth + 1;
				break;
			}
		ret->candidates[ret->n++] = (struct infer_candidate){op, nth};
	}
}

/* Returns the number of waits between the call and the following launch. */
static uint32_t waits_before(const struct infer_scan *s, uint32_t call)
{
	uint32_t n = 0;

	for (uint32_t i = call + 1; i < s->next[call] && n < s->own_before; i++)
		n += s->v->calls[i].api == INFER_API_STREAM_WAIT;
	return n;
}

/* Returns the oldest launched collective of a stream that no wait was for; INFER_NONE without one.
 */
static uint32_t next_open(const struct infer_scan *s, uint32_t stream)
{
	const struct infer_view *v = s->v;
	uint32_t *awaited = &s->awaited[stream];
	uint32_t op = *awaited == INFER_NONE ? v->streams[stream].first : *awaited + 1;

	for (; s->last[stream] != INFER_NONE && op <= s->last[stream]; *awaited = op++)
		if (v->ops[op].kind == FMT_COLLECTIVE && v->ops[op].call != INFER_NONE)
			return op;
	return INFER_NONE;
}

/* As next_open(), of all streams. */
static uint32_t oldest_open(const struct infer_scan *s)
{
	const struct infer_view *v = s->v;
	uint32_t best = INFER_NONE;

	for (uint32_t i = 0; i < v->n_streams; i++) {
		uint32_t op = next_open(s, i);

		if (op != INFER_NONE &&
		    (best == INFER_NONE ||
		     v->calls[v->ops[op].call].start_ns < v->calls[v->ops[best].call].start_ns))
			best = op;
	}
	return best;
}

/* Returns the collective that a wait is for, if the wait directly follows neither the launch of a
 * collective nor an event record. Programs wait for the collectives of a stream in order; those on
 * the stream of the newest collective come first. */
static uint32_t next_awaited(const struct infer_scan *s)
{
	uint32_t newest = s->collective, op;

	if (newest == INFER_NONE)
		return newest;
	op = next_open(s, s->v->ops[newest].stream);
	op = op != INFER_NONE ? op : oldest_open(s);
	return op != INFER_NONE ? op : newest;
}

/* Returns the newest operation, with an event behind it, of a second stream of kernels; else
 * `other`.
 */
static uint32_t side_kernel(const struct infer_scan *s, uint32_t stream, uint32_t other)
{
	for (uint32_t i = s->n_candidates[1]; i-- > 0;) {
		uint32_t op = s->candidates[1][i];

		if (s->v->ops[op].stream != stream && s->has_kernels[s->v->ops[op].stream])
			return op;
	}
	return other;
}

/* Returns the collective that a wait directly behind the launch of `newest` is for. If an earlier
 * wait was for that one, another is pending. */
static uint32_t direct_wait(struct infer_scan *s, uint32_t newest, uint32_t waiting)
{
	uint32_t stream = s->v->ops[newest].stream, oldest = oldest_open(s);

	if (oldest == INFER_NONE)
		return side_kernel(s, waiting, newest);
	if (s->awaited[stream] != INFER_NONE && s->awaited[stream] >= newest)
		return oldest;
	if (s->n_direct) {
		s->n_direct[stream]++;
		s->n_alone[stream] += oldest == newest;
	}
	return s->n_direct || s->in_order[stream] ? oldest : newest;
}

/* PyTorch makes the stream of a process group wait for the current stream before each collective,
 * and `work.wait()` the current stream for the collective. Otherwise, an event that was recorded
 * directly before a wait is most often the awaited one. */
static void guess(struct infer_scan *s, const struct infer_scan_thread *t, struct infer_site *ret)
{
	const struct infer_view *v = s->v;
	uint32_t next = INFER_NONE, compute = t->compute != INFER_NONE ? t->compute : s->compute;
	bool to_compute = false, behind = t->launched != INFER_NONE && !t->took_over &&
					  v->ops[t->launched].kind == FMT_COLLECTIVE;

	ret->guess = t->records > 0 ? t->launched : INFER_NONE;
	if (s->event_of[ret->call] != INFER_NONE)
		ret->guess = s->event_of[ret->call];
	if (v->calls[ret->call].api == INFER_API_EVENT_SYNC || ret->next == INFER_NONE)
		return;
	next = v->launched[v->calls[ret->next].first_op];
	ret->stream = v->ops[next].stream;
	if (s->event_of[ret->call] != INFER_NONE)
		return;
	if (!s->has_records && ret->position == 0 && v->ops[next].kind != FMT_COLLECTIVE) {
		ret->guess = t->launched;
		ret->direct = true;
	}
	if (v->ops[next].kind == FMT_COLLECTIVE && waits_before(s, ret->call) < s->own_before) {
		ret->guess = compute;
		ret->direct = true;
	} else if (behind && s->own_records > 0 && t->records > s->own_records &&
		   v->ops[next].kind != FMT_COLLECTIVE && compute != INFER_NONE &&
		   v->ops[compute].stream != ret->stream) {
		ret->guess = compute;
	} else if (behind) {
		ret->for_work = ret->position >= s->own_after;
		ret->guess = ret->for_work ? direct_wait(s, t->launched, ret->stream) : INFER_NONE;
		to_compute = ret->position == s->own_after || v->ops[next].kind == FMT_COLLECTIVE;
	} else if (ret->guess == INFER_NONE || v->ops[ret->guess].stream == ret->stream) {
		ret->guess = t->records > 0 ? s->collective : next_awaited(s);
		/* The stream of the next launch does not wait for itself, and that of a collective
		 * only by the waits of its launch. */
		to_compute =
			ret->guess != INFER_NONE && (v->ops[ret->guess].stream == ret->stream ||
						     v->ops[next].kind == FMT_COLLECTIVE);
	}
	if (to_compute && compute != INFER_NONE) {
		ret->not_next = v->ops[next].kind == FMT_COLLECTIVE &&
				ret->stream != v->ops[compute].stream;
		ret->stream = v->ops[compute].stream;
	}
	if (ret->guess != INFER_NONE && v->ops[ret->guess].stream == ret->stream)
		ret->guess = INFER_NONE;
}

/* An event represents all operations of its stream so far; the stream was not recorded. */
static void record_event(struct infer_scan *s, struct infer_scan_thread *t)
{
	for (uint32_t i = 0; i < s->v->n_streams; i++)
		add_candidate(s, s->last[i]);
	t->records++;
}

/* The thread continues where others launched meanwhile. */
static void take_over(const struct infer_scan *s, struct infer_scan_thread *t)
{
	t->launched = s->launched;
	t->earlier = s->earlier;
	t->compute = s->compute;
	t->position = 0;
	t->records = 0;
	t->took_over = true;
}

int infer_scan_call(struct infer_scan *s, uint32_t call, struct infer_site *ret)
{
	const struct infer_view *v = s->v;
	const struct infer_call *c = &v->calls[call];
	struct infer_scan_thread *t = &s->threads[c->thread];
	bool waits = c->api == INFER_API_STREAM_WAIT || c->api == INFER_API_EVENT_SYNC;

	if (s->n_launches - t->seen > 1)
		take_over(s, t);
	if (c->api == INFER_API_RECORD_EVENT)
		record_event(s, t);
	if (waits) {
		ret->call = call;
		ret->next = s->next[call];
		ret->before = t->launched;
		ret->earlier = t->earlier;
		ret->position = t->position++;
		ret->stream = ret->guess = INFER_NONE;
		ret->for_work = ret->not_next = false;
		ret->direct = t->records > 0;
		ret->n = 0;
		if (!s->n_direct) {
			list_candidates(s, 0, INFER_CANDIDATES / 4, ret);
			list_candidates(s, 1, INFER_CANDIDATES, ret);
		}
		guess(s, t, ret);
		if (ret->guess != INFER_NONE && v->ops[ret->guess].kind == FMT_COLLECTIVE) {
			s->awaited[v->ops[ret->guess].stream] = ret->guess;
			s->n_work_waits++;
			s->n_open = s->n_collectives;
		}
	}
	if (waits || c->n_ops > 0)
		t->records = 0;
	if (c->n_ops > 0) {
		s->earlier = t->earlier = t->launched;
		s->n_launches++;
	}
	t->seen = s->n_launches;
	for (uint32_t i = 0; i < c->n_ops; i++) {
		uint32_t op = v->launched[c->first_op + i];

		s->last[v->ops[op].stream] = op;
		if (!s->has_records)
			add_candidate(s, op);
		if (v->ops[op].kind == FMT_COLLECTIVE) {
			s->collective = op;
			s->n_collectives++;
		} else if (s->has_kernels[v->ops[op].stream]) {
			t->compute = s->compute = op;
		}
		s->launched = t->launched = op;
		t->took_over = false;
		t->position = 0;
	}
	return waits;
}

uint32_t infer_scan_next(const struct infer_scan *s, uint32_t stream)
{
	const struct infer_span *span = &s->v->streams[stream];
	uint32_t op = s->last[stream] == INFER_NONE ? span->first : s->last[stream] + 1;

	while (op < span->end && s->v->ops[op].call == INFER_NONE)
		op++;
	return op < span->end ? op : INFER_NONE;
}

/* Sets the state before the first call. */
static void rewind_scan(struct infer_scan *s)
{
	const struct infer_view *v = s->v;

	s->launched = s->earlier = s->compute = s->collective = INFER_NONE;
	s->n_launches = s->n_work_waits = s->n_collectives = s->n_open = 0;
	memset(s->n_candidates, 0, sizeof(s->n_candidates));
	memset(s->last, 0xff, v->n_streams * sizeof(*s->last));
	memset(s->awaited, 0xff, v->n_streams * sizeof(*s->awaited));
	memset(s->recorded, 0, v->n_ops);
	for (uint32_t i = 0; i < v->n_threads; i++)
		s->threads[i] = (struct infer_scan_thread){
			.launched = INFER_NONE, .compute = INFER_NONE, .earlier = INFER_NONE};
}

/* Finds streams whose collectives are awaited in the order of their launches: every wait directly
 * behind a collective has an older one that it may be for. A program that waits for a collective
 * directly also does so when nothing else is pending. There must be a wait for each collective, up
 * to the last wait. */
static int find_orders(struct infer_scan *s)
{
	const struct infer_view *v = s->v;
	scoped(free_ptr) uint32_t *counts = calloc(v->n_streams * 2ul + 1, sizeof(*counts));
	struct infer_site at;

	if (!counts)
		return -ENOMEM;
	s->n_direct = counts;
	s->n_alone = counts + v->n_streams;
	for (uint32_t i = 0; i < v->n_calls; i++)
		infer_scan_call(s, v->order[i], &at);
	for (uint32_t i = 0; i < v->n_streams && s->n_work_waits >= s->n_open; i++)
		s->in_order[i] = s->n_direct[i] > 0 && s->n_alone[i] == 0;
	s->n_direct = s->n_alone = NULL;
	rewind_scan(s);
	return 0;
}

static int find_events(struct infer_scan *s)
{
	scoped(free_ptr) struct infer_passed *p = NULL;
	long n = infer_list_passed(s->v, &p);

	for (long i = 0; i < n; i++)
		s->event_of[p[i].wait] = p[i].op;
	return n < 0 ? (int)n : 0;
}

int infer_scan_init(struct infer_scan *s, const struct infer_view *v)
{
	int r;

	*s = (struct infer_scan){.v = v};
	s->threads = malloc((v->n_threads + (size_t)1) * sizeof(*s->threads));
	s->next = malloc((v->n_calls + (size_t)1) * sizeof(*s->next));
	s->last = malloc((v->n_streams + (size_t)1) * sizeof(*s->last));
	s->awaited = malloc((v->n_streams + (size_t)1) * sizeof(*s->awaited));
	s->in_order = calloc(v->n_streams + (size_t)1, 1);
	s->event_of = malloc((v->n_calls + (size_t)1) * sizeof(*s->event_of));
	s->recorded = calloc(v->n_ops + (size_t)1, 1);
	s->has_kernels = calloc(v->n_streams + (size_t)1, 1);
	for (int i = 0; i < 2; i++)
		s->candidates[i] = malloc((v->n_ops + (size_t)1) * sizeof(*s->candidates[i]));
	if (!s->threads || !s->next || !s->last || !s->awaited || !s->in_order || !s->event_of ||
	    !s->recorded || !s->has_kernels || !s->candidates[0] || !s->candidates[1])
		return -ENOMEM;
	memset(s->event_of, 0xff, v->n_calls * sizeof(*s->event_of));
	rewind_scan(s);
	for (uint32_t i = 0; i < v->n_calls; i++)
		s->has_records |= v->calls[i].api == INFER_API_RECORD_EVENT;
	for (uint32_t i = 0; i < v->n_ops; i++)
		s->has_kernels[v->ops[i].stream] |= v->ops[i].kind == FMT_KERNEL;
	find_next_launches(s);
	r = find_launches_after_hand_over(s);
	if (r == 0)
		r = find_events(s);
	return r < 0 ? r : find_orders(s);
}
