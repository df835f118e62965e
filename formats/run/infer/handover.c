/* SPDX-License-Identifier: Apache-2.0 */

/* thread-handover: threads of a process that wait for each other, such as the main thread of a
 * training and the thread of its backward pass. A thread that made no calls while another did, and
 * continues when the other one stops, waited for it. The time between is the host's own time.
 *
 * Threads that do not wait for each other look alike if one makes few calls. So calls are grouped
 * by *site*: calls of one name, after and before launches of the same names. If no other thread
 * made calls before some calls of a site, the time before these is the thread's own, and a call
 * that begins as soon did not wait. */
#include "formats/run/infer/passed.h"
#include "formats/run/infer/walk.h"

#include "base/array.h"
#include "base/scope.h"

#include <math.h>
#include <stdbool.h>

/* Limit of threads that launch: more threads do not alternate in pairs. */
#define MOST_THREADS 64
#define SLACK_NS (20 * INFER_US) /* of a thread's own time, which varies by a factor of */
#define VARIES 2
#define MOST_QUEUED 16 /* events in a queue */

/* Calls of one name, after and before launches of the same names. */
struct site {
	fmt_str name, before, next;
	uint32_t n, n_free; /* calls; those before which no other thread made calls */
	int64_t own_ns;	    /* mean time before the latter */
};

struct hand_overs {
	struct infer_view *v;
	uint8_t *launches; /* by thread */
	uint32_t *last;	   /* by thread: its last call, or INFER_NONE */
	uint32_t *from;	   /* by call: the call of another thread after which it continued */
	uint32_t *next;	   /* by call: the next one of its thread */
	uint32_t *site;	   /* by call */
	struct site *sites;
	size_t n_sites, sites_cap;
	struct fmt_hash_table table;
	struct infer_passed *passed;
	long n_passed;
};

static void hand_overs_done(struct hand_overs *h)
{
	free(h->launches);
	free(h->last);
	free(h->from);
	free(h->next);
	free(h->site);
	free(h->sites);
	free(h->passed);
	fmt_hash_done(&h->table);
	*h = (struct hand_overs){0};
}

/* Returns the call of another thread after which `call` continued, or INFER_NONE. */
static uint32_t find_hand_over(const struct hand_overs *h, uint32_t call)
{
	const struct infer_view *v = h->v;
	const struct infer_call *c = &v->calls[call];
	uint32_t best = INFER_NONE;

	for (uint32_t t = 0; t < v->n_threads; t++) {
		uint32_t last = h->launches[t] && t != c->thread ? h->last[t] : INFER_NONE;

		while (last != INFER_NONE && v->calls[last].end_ns > c->start_ns)
			last = v->calls[last].prev;
		if (last == INFER_NONE ||
		    (c->prev != INFER_NONE && v->calls[last].end_ns <= v->calls[c->prev].end_ns))
			continue;
		if (best == INFER_NONE || v->calls[last].end_ns > v->calls[best].end_ns)
			best = last;
	}
	return best;
}

static fmt_str launched_name(const struct infer_view *v, uint32_t call)
{
	const struct infer_call *c = &v->calls[call];

	return infer_op_name(v, &v->ops[v->launched[c->first_op]]);
}

static bool same_site(const struct site *a, const struct site *b)
{
	return a->name == b->name && a->before == b->before && a->next == b->next;
}

static int find_site(struct hand_overs *h, const struct site *key, uint32_t *ret)
{
	uint32_t hash = fmt_hash_numbers((uint64_t)key->name << 32 | key->before, key->next);
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&h->table) < 0 ||
	    array_reserve(&h->sites, h->n_sites + 1, &h->sites_cap) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&h->table, hash, i, same_site(&h->sites[i], key));
	if (!slot->number) {
		h->sites[h->n_sites] = *key;
		fmt_hash_set(&h->table, slot, hash, (uint32_t)h->n_sites++);
	}
	*ret = slot->number - 1;
	return 0;
}

/* Sets the sites of a thread's calls. */
static int find_sites(struct hand_overs *h, const struct infer_span *thread)
{
	const struct infer_view *v = h->v;
	fmt_str launched = 0;
	uint32_t next = INFER_NONE;
	int r = 0;

	for (uint32_t i = thread->end; i-- > thread->first;) {
		h->next[i] = next;
		h->site[i] = v->calls[i].n_ops > 0 ? launched = launched_name(v, i) : launched;
		next = v->calls[i].nested ? next : i;
	}
	launched = 0;
	for (uint32_t i = thread->first; i < thread->end && r == 0; i++) {
		const struct fmt_event *e = &v->rank->events[v->calls[i].event];
		struct site key = {.name = fmt_template(v->names, e->template)->name,
				   .before = launched,
				   .next = h->site[i]};

		r = find_site(h, &key, &h->site[i]);
		launched = v->calls[i].n_ops > 0 ? launched_name(v, i) : launched;
	}
	return r;
}

static int64_t time_before(const struct infer_view *v, uint32_t call)
{
	const struct infer_call *c = &v->calls[call];

	return c->prev == INFER_NONE ? INT64_MAX : c->start_ns - v->calls[c->prev].end_ns;
}

static bool has_own_time(const struct hand_overs *h, uint32_t call)
{
	const struct site *s = &h->sites[h->site[call]];

	return s->n_free * 4 >= s->n;
}

/* Returns true if the call began as soon as others of its site that waited for no thread. */
static bool goes_on(const struct hand_overs *h, uint32_t call)
{
	return has_own_time(h, call) &&
	       time_before(h->v, call) <= VARIES * h->sites[h->site[call]].own_ns + SLACK_NS;
}

/* The call `to` starts at least `lag_ns` after the end of `from`, or after its start. */
static int add_edge(struct infer_view *v, uint32_t from, uint32_t to, int64_t lag_ns,
		    enum fmt_edge_kind kind)
{
	return infer_add_edge(
		v, &(struct infer_edge){.from = v->calls[from].event,
					.to = infer_outermost_event(v, v->calls[to].event),
					.from_op = INFER_NONE,
					.to_op = INFER_NONE,
					.lag_ns = lag_ns,
					.kind = (uint8_t)kind,
					.rule = INFER_HAND_OVER});
}

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Adds the edges of a call: it continued after its own time and after the other thread's call. Its
 * own time is unknown if its thread always waits there. */
static int add_hand_over(const struct hand_overs *h, uint32_t call)
{
	struct infer_view *v = h->v;
	const struct infer_call *c = &v->calls[call];
	uint32_t from = h->from[call];
	int64_t own_ns = least_of(h->sites[h->site[call]].own_ns, time_before(v, call));
	int r;

	if (goes_on(h, call))
		return 0;
	r = add_edge(v, from, call, c->start_ns - v->calls[from].end_ns, FMT_EDGE_START);
	if (r == 0 && c->prev != INFER_NONE && has_own_time(h, call))
		r = add_edge(v, c->prev, call, own_ns, FMT_EDGE_START);
	return r;
}

/* ---- queues ---- */

static int64_t passed_ns(const struct infer_view *v, const struct infer_passed *p)
{
	return v->calls[p->wait].start_ns - v->calls[p->record].end_ns;
}

/* Adds the edges of a thread that takes an event from a queue, which takes at least `least_ns`. It
 * waited for the event if its next call started within about twice that time of the record, and
 * later than the thread's own time explains. */
static int add_taken(struct hand_overs *h, const struct infer_passed *p, int64_t least_ns)
{
	struct infer_view *v = h->v;
	const struct infer_call *c = &v->calls[p->wait];
	int64_t lag_ns = passed_ns(v, p), own_ns = time_before(v, p->wait);
	bool waited = lag_ns <= 2 * least_ns + SLACK_NS && !goes_on(h, p->wait);
	int r = 0;

	h->from[p->wait] = INFER_NONE;
	if (c->prev == INFER_NONE && !waited)
		return 0;
	if (waited)
		own_ns = least_of(own_ns, has_own_time(h, p->wait)
						  ? h->sites[h->site[p->wait]].own_ns
						  : lag_ns);
	if (c->prev != INFER_NONE)
		r = add_edge(v, c->prev, p->wait, own_ns, FMT_EDGE_START);
	return r < 0 ? r
		     : add_edge(v, p->record, p->wait, waited ? lag_ns : least_ns, FMT_EDGE_START);
}

/* Returns the time before the call behind record k, from when it could continue: its queue had
 * `size` events, of which one was taken (0: any number); negative if it began earlier. */
static int64_t time_after(const struct hand_overs *h, const struct infer_passed *p, size_t k,
			  size_t size)
{
	const struct infer_view *v = h->v;
	int64_t from = v->calls[p[k].record].end_ns;

	if (size > 0 && k >= size && v->calls[p[k - size].wait].start_ns > from)
		from = v->calls[p[k - size].wait].start_ns;
	return v->calls[h->next[p[k].record]].start_ns - from;
}

/* Returns the mean distance of these times from their mean; infinite if a call began too early. */
static double spread_of(const struct hand_overs *h, const struct infer_passed *p, size_t n,
			size_t size)
{
	double mean = 0, sum = 0;

	if (n == 0)
		return 0;
	for (size_t k = 0; k < n; k++) {
		int64_t ns = time_after(h, p, k, size);

		if (ns < 0)
			return INFINITY;
		mean += (double)ns / (double)n;
	}
	for (size_t k = 0; k < n; k++)
		sum += fabs((double)time_after(h, p, k, size) - mean);
	return sum / (double)n;
}

/* The number of events before the first one after which no next call is known. */
static size_t count_puts(const struct hand_overs *h, const struct infer_passed *p, size_t n)
{
	size_t puts = 0;

	while (puts < n && h->next[p[puts].record] != INFER_NONE)
		puts++;
	return puts;
}

/* Adds the edges of a thread that waits while its queue, of `size` events, is full. */
static int add_put(struct hand_overs *h, const struct infer_passed *p, size_t n, size_t size)
{
	struct infer_view *v = h->v;
	int r = 0;

	for (size_t k = 0; k < n && r == 0; k++) {
		uint32_t next = h->next[p[k].record];
		int64_t own_ns = time_after(h, p, k, size);

		h->from[next] = INFER_NONE;
		if (size == 0 || k < size || v->calls[next].prev != p[k].record)
			continue;
		r = add_edge(v, p[k].record, next, own_ns, FMT_EDGE_START);
		if (r == 0)
			r = add_edge(v, p[k - size].wait, next, own_ns, FMT_EDGE_SPAWN);
	}
	return r;
}

/* The spread of a thread's own time, by size of the queue, over the same queues of all ranks. */
struct queue {
	fmt_str record, wait; /* the operations that precede the event and follow the wait */
	double spread[MOST_QUEUED + 1];
};

struct queues {
	struct queue *queues;
	size_t n, cap;
	struct fmt_hash_table table;
};

static void queues_done(struct queues *q)
{
	free(q->queues);
	fmt_hash_done(&q->table);
}

static int find_queue(struct queues *q, const struct hand_overs *h, const struct infer_passed *p,
		      struct queue **ret)
{
	fmt_str record = infer_op_name(h->v, &h->v->ops[p->op]);
	fmt_str wait = h->sites[h->site[p->wait]].next;
	uint32_t hash = fmt_hash_numbers(record, wait);
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&q->table) < 0 || array_reserve(&q->queues, q->n + 1, &q->cap) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&q->table, hash, i,
			     q->queues[i].record == record && q->queues[i].wait == wait);
	if (!slot->number) {
		q->queues[q->n] = (struct queue){record, wait, {0}};
		fmt_hash_set(&q->table, slot, hash, (uint32_t)q->n++);
	}
	*ret = &q->queues[slot->number - 1];
	return 0;
}

/* Returns the size for which the thread's own time varies least; 0 if no size explains it. */
static size_t size_of(const struct queue *q)
{
	double most = 0.7 * q->spread[0];
	size_t size = 0;

	for (size_t i = 1; i <= MOST_QUEUED; i++)
		if (q->spread[i] < most) {
			most = q->spread[i];
			size = i;
		}
	return size;
}

/* Returns true if one thread records all n events, and another one waits for all of them. */
static bool is_queue(const struct infer_view *v, const struct infer_passed *p, size_t n)
{
	uint32_t puts = v->calls[p->record].thread, takes = v->calls[p->wait].thread;

	for (size_t i = 1; i < n; i++)
		if (v->calls[p[i].record].thread != puts || v->calls[p[i].wait].thread != takes)
			return false;
	return puts != takes;
}

/* Measures the queues of a rank, or adds their edges. */
static int process_queues(struct hand_overs *h, struct queues *queues, bool measure)
{
	const struct infer_view *v = h->v;
	int r = 0;

	for (long first = 0, end; first < h->n_passed && r == 0; first = end) {
		const struct infer_passed *p = &h->passed[first];
		int64_t least_ns = SLACK_NS; /* to take an event */
		struct queue *q;
		size_t n;

		for (end = first; end < h->n_passed && h->passed[end].first == p->first; end++)
			least_ns = least_of(least_ns, passed_ns(v, &h->passed[end]));
		if (!is_queue(v, p, (size_t)(end - first)))
			continue;
		n = count_puts(h, p, (size_t)(end - first));
		r = find_queue(queues, h, p, &q);
		for (size_t i = 0; i <= MOST_QUEUED && measure && r == 0; i++)
			q->spread[i] += spread_of(h, p, n, i);
		for (long i = first; i < end && !measure && r == 0; i++)
			r = add_taken(h, &h->passed[i], least_ns);
		if (r == 0 && !measure)
			r = add_put(h, p, n, size_of(q));
	}
	return r;
}

/* Finds the hand-overs, and the own time before the calls of each site. */
static void find_hand_overs(struct hand_overs *h)
{
	const struct infer_view *v = h->v;

	for (uint32_t i = 0; i < v->n_calls; i++) {
		uint32_t call = v->order[i];
		const struct infer_call *c = &v->calls[call];
		struct site *s = &h->sites[h->site[call]];

		h->from[call] = INFER_NONE;
		if (c->nested || !h->launches[c->thread])
			continue;
		h->from[call] = find_hand_over(h, call);
		h->last[c->thread] = call;
		s->n++;
		if (h->from[call] == INFER_NONE && c->prev != INFER_NONE)
			s->own_ns += (time_before(v, call) - s->own_ns) / ++s->n_free;
	}
}

static int hand_overs_init(struct hand_overs *h, struct infer_view *v)
{
	size_t n = v->n_calls + (size_t)1, n_threads = v->n_threads + (size_t)1;

	*h = (struct hand_overs){.v = v};
	h->launches = calloc(n_threads, 1);
	h->last = malloc(n_threads * sizeof(*h->last));
	h->from = malloc(n * sizeof(*h->from));
	h->next = malloc(n * sizeof(*h->next));
	h->site = malloc(n * sizeof(*h->site));
	if (!h->launches || !h->last || !h->from || !h->next || !h->site)
		return -ENOMEM;
	memset(h->last, 0xff, n_threads * sizeof(*h->last));
	return 0;
}

/* Returns the number of threads that launch. */
static uint32_t count_launching(struct hand_overs *h)
{
	const struct infer_view *v = h->v;
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_calls; i++)
		if (v->calls[i].n_ops > 0 && !h->launches[v->calls[i].thread]) {
			h->launches[v->calls[i].thread] = 1;
			n++;
		}
	return n;
}

/* Finds the hand-overs and the passed events of a rank. */
static int find_all(struct hand_overs *h, struct infer_view *v)
{
	int r = hand_overs_init(h, v);
	uint32_t n = r < 0 ? 0 : count_launching(h);

	if (n < 2 || n > MOST_THREADS) {
		hand_overs_done(h);
		return r;
	}
	for (uint32_t t = 0; t < v->n_threads && r == 0; t++)
		r = find_sites(h, &v->threads[t]);
	if (r < 0)
		return r;
	find_hand_overs(h);
	h->n_passed = infer_list_passed(v, &h->passed);
	return h->n_passed < 0 ? (int)h->n_passed : 0;
}

static int add_all(struct hand_overs *h, struct queues *queues)
{
	const struct infer_view *v = h->v;
	int r = process_queues(h, queues, false);

	for (uint32_t i = 0; v && i < v->n_calls && r == 0; i++)
		if (h->from[v->order[i]] != INFER_NONE)
			r = add_hand_over(h, v->order[i]);
	return r;
}

int infer_add_hand_overs(struct infer_view *views, uint32_t n_views)
{
	scoped(free_ptr) struct hand_overs *all = calloc(n_views + (size_t)1, sizeof(*all));
	scoped(queues_done) struct queues queues = {0};
	int r = all ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n_views && r == 0; i++) {
		r = find_all(&all[i], &views[i]);
		if (r == 0)
			r = process_queues(&all[i], &queues, true);
	}
	for (uint32_t i = 0; i < n_views && r == 0; i++)
		r = add_all(&all[i], &queues);
	for (uint32_t i = 0; all && i < n_views; i++)
		hand_overs_done(&all[i]);
	return r;
}
