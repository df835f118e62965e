/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/event_links.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/scan.h"
#include "formats/trace/hash.h"

#define TOLERANCE INFER_TOLERANCE_NS
#define NEAR_NS                                                                                    \
	(25 * INFER_US) /* a waiting operation starts within this time after the other one's end   \
			 */
#define NEAR_COLLECTIVE_NS (60 * INFER_US)
#define GUESS UINT32_MAX
#define NEAR_CALL_NS (50 * INFER_US) /* a call returns so soon */
#define MOST_LINKS 1024 /* searched for those of a stream; else the time is quadratic */

/* Calls of one kind between launches of the same names. */
struct site {
	uint32_t kind, position;
	fmt_str earlier, before, next; /* launches before and after the calls */
};

/* The agreement of an explanation with the recorded times. */
struct fit {
	uint32_t n, violated; /* number of times that there was such an operation; that it ended too
				 late */
	double score;	      /* number of starts that were late, and directly after its end */
};

/* A possible dependency of the calls of a site. */
struct hypothesis {
	uint32_t site, nth; /* see struct infer_candidate; or GUESS */
	fmt_str name;
	int64_t from;
	bool elsewhere; /* not the stream of the next launch waits */
	struct fit fit;
};

struct sites {
	struct site *sites;
	struct hypothesis *hypotheses;
	size_t n_sites, sites_cap, n_hypotheses, hypotheses_cap;
	struct fmt_hash_table by_site, by_hypothesis;
};

static void sites_done(struct sites *s)
{
	free(s->sites);
	free(s->hypotheses);
	fmt_hash_done(&s->by_site);
	fmt_hash_done(&s->by_hypothesis);
}

static fmt_str name_of(const struct infer_view *v, uint32_t op)
{
	return op == INFER_NONE ? 0 : infer_op_name(v, &v->ops[op]);
}

/* Returns the recorded number of a stream with many operations. Others may change from iteration to
 * iteration. */
static int64_t number_of(const struct infer_view *v, uint32_t stream)
{
	const struct infer_span *s = &v->streams[stream];

	return s->end - s->first < v->n_ops / 64 ? -1
						 : fmt_track(v->names, v->index, s->track)->tid;
}

static bool same_site(const struct site *a, const struct site *b)
{
	return a->kind == b->kind && a->position == b->position && a->earlier == b->earlier &&
	       a->before == b->before && a->next == b->next;
}

static struct site describe_site(const struct infer_view *v, const struct infer_site *at)
{
	return (struct site){
		.kind = v->calls[at->call].api,
		.position = at->position,
		.before = name_of(v, at->before),
		.earlier = name_of(v, at->earlier),
		.next = at->next == INFER_NONE
				? 0
				: name_of(v, v->launched[v->calls[at->next].first_op]),
	};
}

static struct fmt_hash_slot *site_slot(const struct sites *s, const struct site *key,
				       uint32_t *hash)
{
	*hash = fmt_hash_numbers((uint64_t)key->before << 32 | key->next,
				 (uint64_t)key->earlier << 32 | (key->kind * 1000 + key->position));
	return fmt_hash_find(&s->by_site, *hash, i, same_site(&s->sites[i], key));
}

static uint32_t site_of(const struct sites *s, const struct infer_view *v,
			const struct infer_site *at)
{
	struct site key = describe_site(v, at);
	uint32_t hash;

	return site_slot(s, &key, &hash)->number - 1;
}

static int add_site(struct sites *s, const struct infer_view *v, const struct infer_site *at,
		    uint32_t *ret)
{
	struct site key = describe_site(v, at);
	struct fmt_hash_slot *slot;
	uint32_t hash;

	if (fmt_hash_reserve(&s->by_site) < 0 ||
	    array_reserve(&s->sites, s->n_sites + 1, &s->sites_cap) < 0)
		return -ENOMEM;
	slot = site_slot(s, &key, &hash);
	if (!slot->number) {
		s->sites[s->n_sites] = key;
		fmt_hash_set(&s->by_site, slot, hash, (uint32_t)s->n_sites++);
	}
	*ret = slot->number - 1;
	return 0;
}

static bool same_hypothesis(const struct hypothesis *a, const struct hypothesis *b)
{
	return a->site == b->site && a->nth == b->nth && a->name == b->name && a->from == b->from &&
	       a->elsewhere == b->elsewhere;
}

static struct fmt_hash_slot *hypothesis_slot(const struct sites *s, const struct hypothesis *key,
					     uint32_t *hash)
{
	*hash = fmt_hash_numbers((uint64_t)key->site << 32 | key->name,
				 (uint64_t)key->from * 64 + key->elsewhere * 32u + key->nth);
	return fmt_hash_find(&s->by_hypothesis, *hash, i, same_hypothesis(&s->hypotheses[i], key));
}

static const struct hypothesis *find_hypothesis(const struct sites *s, const struct hypothesis *key)
{
	uint32_t hash, number = hypothesis_slot(s, key, &hash)->number;

	return number ? &s->hypotheses[number - 1] : NULL;
}

static int add_hypothesis(struct sites *s, const struct hypothesis *key, struct fit **ret)
{
	struct fmt_hash_slot *slot;
	uint32_t hash;

	if (fmt_hash_reserve(&s->by_hypothesis) < 0 ||
	    array_reserve(&s->hypotheses, s->n_hypotheses + 1, &s->hypotheses_cap) < 0)
		return -ENOMEM;
	slot = hypothesis_slot(s, key, &hash);
	if (!slot->number) {
		s->hypotheses[s->n_hypotheses] = *key;
		fmt_hash_set(&s->by_hypothesis, slot, hash, (uint32_t)s->n_hypotheses++);
	}
	*ret = &s->hypotheses[slot->number - 1].fit;
	return 0;
}

/* ---- agreement of times ---- */

/* Returns true if the operation, or the call if `to` is INFER_NONE, began or returned before `op`
 * ended. */
static bool is_violated(const struct infer_view *v, uint32_t op, uint32_t to, uint32_t call)
{
	if (to == INFER_NONE)
		return v->ops[op].end_ns - v->constants.launch_ns >
		       v->calls[call].end_ns + TOLERANCE;
	return v->ops[op].end_ns > v->ops[to].start_ns + TOLERANCE;
}

static void test_explanation(struct fit *f, const struct infer_view *v, uint32_t op, uint32_t to,
			     uint32_t call)
{
	const struct infer_call *c = &v->calls[call];
	int64_t end = v->ops[op].end_ns, base, at, near;

	if (to == INFER_NONE) {
		end -= v->constants.launch_ns;
		base = c->start_ns + TOLERANCE;
		at = c->end_ns;
		near = NEAR_CALL_NS;
	} else {
		base = infer_base_start_ns(v, &v->ops[to], NULL);
		at = v->ops[to].start_ns;
		near = v->ops[op].kind == FMT_COLLECTIVE || v->ops[to].kind == FMT_COLLECTIVE
			       ? NEAR_COLLECTIVE_NS
			       : NEAR_NS;
	}
	f->n++;
	f->violated += is_violated(v, op, to, call);
	if (at > base + TOLERANCE && end > base && at - end <= near && end - at <= TOLERANCE)
		f->score += 1 - (at > end ? (double)(at - end) / (double)(2 * near)
					  : (double)(end - at) / (2 * TOLERANCE));
}

/* A possible explanation of a call. */
struct option {
	uint32_t op;
	bool is_work;	     /* a collective, of a call that likely waits for one */
	uint32_t stream, to; /* the waiting stream, and its next operation; INFER_NONE: the host */
	struct hypothesis h;
};

/* Returns 1 and explanation `number` of a site in *ret; 0 if that number is unused; -1 after the
 * last explanation. The waiting side is the stream of the next launch, the guessed stream, or the
 * host. */
static int option_of(const struct infer_scan *scan, const struct infer_site *at, uint32_t site,
		     uint32_t number, struct option *ret)
{
	const struct infer_view *v = scan->v;
	uint32_t i = number / 2, next = INFER_NONE;
	bool host = v->calls[at->call].api == INFER_API_EVENT_SYNC, elsewhere = number % 2;
	struct option o = {.to = INFER_NONE, .h = {.site = site, .elsewhere = elsewhere}};

	if (i > at->n)
		return -1;
	if (at->next != INFER_NONE)
		next = v->ops[v->launched[v->calls[at->next].first_op]].stream;
	o.op = i == 0 ? at->guess : at->candidates[i - 1].op;
	o.stream = host ? INFER_NONE : elsewhere ? at->stream : next;
	if (o.op == INFER_NONE || (elsewhere && (host || o.stream == next)) ||
	    (!elsewhere && !host && at->not_next))
		return 0;
	if (o.stream != INFER_NONE)
		o.to = infer_scan_next(scan, o.stream);
	if (!host && (o.to == INFER_NONE || o.stream == v->ops[o.op].stream))
		return 0;
	o.h.nth = i == 0 ? GUESS : at->candidates[i - 1].nth;
	if (i > 0) {
		o.is_work = at->for_work && o.stream == at->stream &&
			    v->ops[o.op].kind == FMT_COLLECTIVE;
		o.h.name = name_of(v, o.op);
		o.h.from = number_of(v, v->ops[o.op].stream);
	}
	*ret = o;
	return 1;
}

static int compare_all(struct sites *s, const struct infer_scan *scan, const struct infer_site *at,
		       uint32_t site)
{
	struct option o;
	struct fit *f;
	int more;

	for (uint32_t i = 0; (more = option_of(scan, at, site, i, &o)) >= 0; i++) {
		if (more == 0)
			continue;
		if (add_hypothesis(s, &o.h, &f) < 0)
			return -ENOMEM;
		test_explanation(f, scan->v, o.op, o.to, at->call);
	}
	return 0;
}

static int add_call(struct sites *s, const struct infer_scan *scan, const struct infer_site *at)
{
	uint32_t site;
	int r = add_site(s, scan->v, at, &site);

	return r < 0 ? r : compare_all(s, scan, at, site);
}

/* ---- the choice ---- */

/* Returns true if an explanation agrees with the times of its site, and of this call. One violation
 * in twenty is allowed, and one if there are few. */
static bool is_possible(const struct fit *f, const struct infer_view *v, const struct option *o,
			uint32_t call)
{
	return f->violated <= f->n / 20 + (f->n >= 8) && !is_violated(v, o->op, o->to, call);
}

/* Returns the score of an explanation. It replaces the guess only if its score is clearly higher;
 * among operations that never delayed a waiting call, or collectives that never delayed their
 * stream, the newest is chosen. */
static double value_of(const struct fit *f, const struct option *o, uint32_t number)
{
	if (o->h.nth == GUESS)
		return f->score * 1.3 + 1 + o->h.elsewhere * 0.5;
	if (o->to != INFER_NONE && f->score < 1.5 && !o->is_work)
		return 0;
	return f->score + (double)(2 * INFER_CANDIDATES + 2 - number) / 1000;
}

/* Returns true if one of the newest links already makes the stream wait for the operation. The
 * times of another wait then prove nothing. */
static bool is_known(const struct infer_view *v, uint32_t stream, uint32_t op)
{
	for (size_t i = v->n_links; i-- > 0 && v->n_links - i <= 4;)
		if (stream != INFER_NONE && v->links[i].stream == stream && v->links[i].op == op)
			return true;
	return false;
}

/* Adds the link of a call. An event also completes what its stream was made to wait for before it;
 * operations of other GPUs are ignored. */
static int link_event(const struct infer_scan *scan, const struct infer_site *at,
		      struct infer_view *v, const struct option *o)
{
	struct infer_add_link l = {.call = at->call, .op = o->op, .view = v, .stream = o->stream};
	const struct infer_op *op = &v->ops[o->op];
	size_t n = v->n_links, first = n > MOST_LINKS ? n - MOST_LINKS : 0;
	bool is_last = at->direct && scan->last[op->stream] == o->op;
	int r = infer_add_link(v, &l);

	for (size_t i = n; is_last && i-- > first && r == 0;) {
		if (v->calls[v->links[i].call].start_ns < v->calls[op->call].start_ns)
			break;
		if (v->links[i].view != v ||
		    v->calls[v->links[i].call].start_ns > v->calls[at->call].start_ns)
			continue;
		l.op = v->links[i].op;
		if (v->links[i].stream == op->stream && v->ops[l.op].stream != o->stream &&
		    !is_violated(v, l.op, o->to, at->call))
			r = infer_add_link(v, &l);
	}
	return r;
}

static int add_link(const struct sites *s, const struct infer_scan *scan,
		    const struct infer_site *at, struct infer_view *v)
{
	uint32_t site = site_of(s, v, at);
	struct option o, best = {.op = INFER_NONE}, guess = best;
	double most = 0, value;
	int more;

	for (uint32_t i = 0; (more = option_of(scan, at, site, i, &o)) >= 0; i++) {
		const struct hypothesis *known = more > 0 ? find_hypothesis(s, &o.h) : NULL;

		if (!known || !is_possible(&known->fit, v, &o, at->call))
			continue;
		value = value_of(&known->fit, &o, i);
		if (o.h.nth == GUESS && !is_known(v, o.stream, o.op))
			guess = o;
		if (value > most) {
			most = value;
			best = o;
		}
	}
	if (guess.op != INFER_NONE &&
	    (is_known(v, best.stream, best.op) ||
	     (at->direct && is_known(v, v->ops[guess.op].stream, best.op))))
		best = guess;
	return best.op == INFER_NONE ? 0 : link_event(scan, at, v, &best);
}

/* Marks the waiting calls whose operation or event was not recorded. Returns their number. */
static size_t mark_open(const struct infer_view *v, uint8_t *open)
{
	size_t n = 0;

	for (uint32_t i = 0; i < v->n_calls; i++)
		open[i] = v->calls[i].api == INFER_API_EVENT_SYNC ||
			  (v->calls[i].api == INFER_API_STREAM_WAIT && !v->saw_events);
	for (size_t i = 0; i < v->n_links; i++)
		open[v->links[i].call] = 0;
	for (uint32_t i = 0; i < v->n_calls; i++)
		n += open[i];
	return n;
}

/* Iterates over the calls of a rank: scores all hypotheses, or adds the chosen ones as links. */
static int scan_view(struct sites *s, struct infer_view *v, bool chosen)
{
	scoped(infer_scan_done) struct infer_scan scan = {0};
	scoped(free_ptr) uint8_t *open = malloc(v->n_calls + (size_t)1);
	struct infer_site at;
	int r;

	if (!open)
		return -ENOMEM;
	if (mark_open(v, open) == 0)
		return 0;
	r = infer_scan_init(&scan, v);
	for (uint32_t i = 0; i < v->n_calls && r == 0; i++) {
		uint32_t call = v->order[i];

		if (!infer_scan_call(&scan, call, &at) || !open[call])
			continue;
		r = chosen ? add_link(s, &scan, &at, v) : add_call(s, &scan, &at);
	}
	return r;
}

static int by_order(const void *a, const void *b, void *order)
{
	const struct infer_add_link *x = a, *y = b;
	const uint32_t *number = order;

	return array_order(number[x->call], number[y->call]) ?: array_order(x->op, y->op);
}

/* Sorts the links of a rank by call. */
static int sort_links(struct infer_view *v)
{
	scoped(free_ptr) uint32_t *number = malloc((v->n_calls + (size_t)1) * sizeof(*number));

	if (!number)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_calls; i++)
		number[v->order[i]] = i;
	if (v->n_links > 0)
		qsort_r(v->links, v->n_links, sizeof(*v->links), by_order, number);
	return 0;
}

int infer_add_link(struct infer_view *v, const struct infer_add_link *l)
{
	if (array_reserve(&v->links, v->n_links + 1, &v->links_cap) < 0)
		return -ENOMEM;
	v->links[v->n_links++] = *l;
	return 0;
}

int infer_add_inferred_links(struct infer_view *views, uint32_t n_views)
{
	scoped(sites_done) struct sites s = {0};
	int r = 0;

	for (uint32_t i = 0; i < n_views && r == 0; i++)
		r = scan_view(&s, &views[i], false);
	for (uint32_t i = 0; i < n_views && r == 0; i++)
		r = scan_view(&s, &views[i], true);
	for (uint32_t i = 0; i < n_views && r == 0; i++)
		r = sort_links(&views[i]);
	return r;
}
