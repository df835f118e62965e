/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/hosts.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/json.h"

/* A collective on one rank. */
struct seen {
	uint64_t moment;
	int64_t start_ns, end_ns;
	uint32_t clock;
	bool all_wait; /* its ranks end together */
};

struct sightings {
	struct seen *seen; /* owned */
	size_t n, cap;
};

static void sightings_done(struct sightings *s)
{
	free(s->seen);
}

void rec_hosts_done(struct rec_hosts *h)
{
	free(h->origins);
	free(h->clock_of);
	free(h->clocks);
	*h = (struct rec_hosts){0};
}

/* The recording of the rank's process. */
static uint32_t recording_of(const struct rec_plan *plan, struct rec_process *const *processes,
			     uint32_t rank)
{
	return processes[plan->ranks.ranks[rank].process]->recording;
}

static int list_clocks(struct rec_hosts *h, const struct rec_plan *plan,
		       struct rec_process *const *processes)
{
	h->clocks = calloc(h->n + 1, sizeof(*h->clocks));
	h->clock_of = malloc((h->n + 1) * sizeof(*h->clock_of));
	if (!h->clocks || !h->clock_of)
		return -ENOMEM;
	memset(h->clock_of, 0xff, h->n * sizeof(*h->clock_of));
	for (uint32_t rank = 0; rank < plan->ranks.n; rank++) {
		uint32_t of = recording_of(plan, processes, rank);
		const char *clock = h->origins[of].clock;

		for (size_t i = 0; i < h->n && h->clock_of[of] == UINT32_MAX && *clock; i++)
			if (strcmp(h->origins[i].clock, clock) == 0)
				h->clock_of[of] = h->clock_of[i];
		if (h->clock_of[of] == UINT32_MAX)
			h->clock_of[of] = h->n_clocks++;
	}
	return 0;
}

/* Sets offsets by the CLOCK_REALTIME of hosts, if both are known. */
static void align_by_realtime(struct rec_hosts *h, const struct fmt_origin *reference)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct fmt_origin *o = &h->origins[i];

		if (h->clock_of[i] != UINT32_MAX && o->realtime_ns && reference->realtime_ns)
			h->clocks[h->clock_of[i]].ahead_ns =
				fmt_sub(reference->realtime_ns, o->realtime_ns);
	}
}

/* Returns true if each rank of the collective waits for data of all others. */
static bool is_all_to_all(const struct fmt_names *n, fmt_str op)
{
	static const char *const ops[] = {"all_reduce", "all_gather", "reduce_scatter",
					  "all_to_all", "barrier"};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (strcmp(fmt_string(n, op, NULL), ops[i]) == 0)
			return true;
	return false;
}

static int add_sightings(const struct rec_hosts *h, const struct rec_plan *plan,
			 const struct rec_process *p, const struct fmt_names *names,
			 struct sightings *ret)
{
	for (size_t i = 0; i < p->nccl.n_collectives; i++) {
		const struct rec_collective *c = &p->nccl.collectives[i];
		const struct rec_pair *of = &plan->pairing.pairs[p->index][c->number];

		if (of->comm == FMT_NO_COMM || of->peers || c->end_ns == 0 ||
		    c->end_ns < c->start_ns)
			continue;
		if (array_reserve(&ret->seen, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		ret->seen[ret->n++] =
			(struct seen){.moment = (uint64_t)of->comm << 32 | (uint32_t)of->seq,
				      .start_ns = c->start_ns,
				      .end_ns = c->end_ns,
				      .clock = h->clock_of[p->recording],
				      .all_wait = is_all_to_all(names, c->op)};
	}
	return 0;
}

/* Aligns the clocks by the sightings, or only by collectives in which all ranks wait for all
 * others. */
static int align_by(struct rec_hosts *h, const struct fmt_origin *reference,
		    const struct sightings *seen, bool all_wait)
{
	scoped(free_ptr) struct fmt_clock_sample *s = malloc((seen->n + 1) * sizeof(*s));
	size_t n = 0;
	int r;

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < seen->n; i++)
		if (seen->seen[i].all_wait || !all_wait)
			s[n++] = (struct fmt_clock_sample){
				seen->seen[i].moment, seen->seen[i].end_ns, seen->seen[i].clock};
	align_by_realtime(h, reference);
	r = fmt_clocks_align(s, n, true, h->clocks, h->n_clocks);
	return r < 0 ? r : fmt_clocks_error(s, n, h->clocks, &h->error);
}

static int by_moment(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return array_order(x->moment, y->moment);
}

static uint64_t count_disorder(const struct rec_hosts *h, struct sightings *s)
{
	uint64_t count = 0;
	size_t end;

	if (s->n > 0)
		qsort(s->seen, s->n, sizeof(*s->seen), by_moment);
	for (size_t i = 0; i < s->n; i = end) {
		int64_t latest = INT64_MIN, earliest = INT64_MAX;

		for (end = i; end < s->n && s->seen[end].moment == s->seen[i].moment; end++) {
			const struct fmt_clock *c = &h->clocks[s->seen[end].clock];
			int64_t from = fmt_clock_ns(c, s->seen[end].start_ns);
			int64_t to = fmt_clock_ns(c, s->seen[end].end_ns);

			latest = from > latest ? from : latest;
			earliest = to < earliest ? to : earliest;
		}
		count += s->seen[i].all_wait && latest > earliest;
	}
	return count;
}

int rec_hosts_align(struct rec_hosts *h, const struct rec_plan *plan,
		    struct rec_process *const *processes, size_t n, const struct fmt_names *names)
{
	scoped(sightings_done) struct sightings s = {0};
	const struct fmt_origin *reference;
	bool known = true;
	int r = list_clocks(h, plan, processes);

	if (r < 0 || h->n_clocks < 2)
		return r;
	reference = &h->origins[recording_of(plan, processes, 0)];
	for (size_t i = 0; i < n && r == 0; i++)
		if (h->clock_of[processes[i]->recording] != UINT32_MAX)
			r = add_sightings(h, plan, processes[i], names, &s);
	if (r == 0)
		r = align_by(h, reference, &s, true);
	for (uint32_t i = 0; i < h->n_clocks; i++)
		known &= h->clocks[i].known;
	if (r == 0 && !known)
		r = align_by(h, reference, &s, false);
	for (uint32_t i = 1; i < h->n_clocks; i++)
		h->n_aligned += h->clocks[i].known;
	h->out_of_order = count_disorder(h, &s);
	return r;
}

/* ---- facts */

/* The ranks and the hosts of their processes. */
struct rank_hosts {
	const struct rec_hosts *hosts;
	const struct rec_plan *plan;
	struct rec_process *const *processes;
};

static const char *host_of(const struct rank_hosts *p, uint32_t rank)
{
	const char *host =
		rec_process_fact(p->processes[p->plan->ranks.ranks[rank].process], "host");

	return host ? host : "null";
}

static uint32_t clock_of(const struct rank_hosts *p, uint32_t rank)
{
	return p->hosts->clock_of[recording_of(p->plan, p->processes, rank)];
}

static bool on_one_host(const struct rank_hosts *p, uint32_t a, uint32_t b)
{
	return clock_of(p, a) == clock_of(p, b) && strcmp(host_of(p, a), host_of(p, b)) == 0;
}

/* Returns the method by which the clock of a rank's host was aligned. */
static const char *set_by(const struct rank_hosts *p, uint32_t rank)
{
	const struct fmt_clock *c = &p->hosts->clocks[clock_of(p, rank)];
	uint32_t recording = recording_of(p->plan, p->processes, rank);

	if (clock_of(p, rank) == 0)
		return "reference";
	if (c->known)
		return "collectives";
	return p->hosts->origins[recording].realtime_ns && c->ahead_ns ? "realtime" : "unknown";
}

/* Adds the host of `first`, its first rank. */
static void put_host(const struct rank_hosts *p, struct fmt_json *json, uint32_t first)
{
	const struct fmt_clock *c = &p->hosts->clocks[clock_of(p, first)];

	fmt_json_open(json, NULL, '{');
	fmt_json_verbatim(json, "host", host_of(p, first), strlen(host_of(p, first)));
	fmt_json_open(json, "ranks", '[');
	for (uint32_t i = first; i < p->plan->ranks.n; i++)
		if (on_one_host(p, first, i))
			fmt_json_u64(json, NULL, p->plan->ranks.ranks[i].number);
	fmt_json_close(json, ']');
	fmt_json_str(json, "clock", set_by(p, first));
	fmt_json_i64(json, "ahead_ns", c->ahead_ns);
	fmt_json_double(json, "drift_ppm", c->drift * 1e6, 3);
	fmt_json_close(json, '}');
}

static void put_error(const struct rec_hosts *h, struct fmt_json *json)
{
	fmt_json_open(json, NULL, '{');
	fmt_json_u64(json, "clocks", h->n_clocks);
	fmt_json_u64(json, "aligned", h->n_aligned);
	fmt_json_u64(json, "collectives", h->error.moments);
	fmt_json_i64(json, "p50_ns", h->error.p50_ns);
	fmt_json_i64(json, "p95_ns", h->error.p95_ns);
	fmt_json_i64(json, "max_ns", h->error.max_ns);
	fmt_json_u64(json, "out_of_order", h->out_of_order);
	fmt_json_close(json, '}');
}

int rec_hosts_put(const struct rec_hosts *h, const struct rec_plan *plan,
		  struct rec_process *const *processes, struct fmt_names *names)
{
	const struct rank_hosts p = {h, plan, processes};
	scoped(text_done) struct text hosts = {0}, error = {0};
	struct fmt_json list = {.text = &hosts}, e = {.text = &error};
	int r;

	fmt_json_open(&list, NULL, '[');
	for (uint32_t i = 0; i < plan->ranks.n; i++) {
		uint32_t first = 0;

		while (!on_one_host(&p, first, i))
			first++;
		if (first == i)
			put_host(&p, &list, i);
	}
	fmt_json_close(&list, ']');
	put_error(h, &e);
	r = fmt_names_fact_text(names, FMT_WHOLE_TRACE, "hosts", &hosts);
	return r < 0 ? r : fmt_names_fact_text(names, FMT_WHOLE_TRACE, FMT_CLOCKS_KEY, &error);
}
