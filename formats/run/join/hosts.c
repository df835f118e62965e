/* SPDX-License-Identifier: Apache-2.0 */

/* Each host has a clock; parts of the same boot and time namespace share one. A collective of all
 * to all ends at practically the same moment on each of its ranks, and so tells how far their
 * clocks are apart. Where hosts have none in common, their CLOCK_REALTIME is believed. */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/peers.h"
#include "formats/trace/facts.h"
#include "formats/trace/json.h"
#include "formats/trace/store/cursor.h"

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

int join_clocks_list(struct join *j)
{
	size_t n = j->options->n_paths;

	j->clocks = calloc(n + 1, sizeof(*j->clocks));
	if (!j->clocks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		j->parts[i].clock = UINT32_MAX;
	/* The first rank's clock is the reference. */
	for (uint32_t rank = 0; rank < j->run.n_ranks; rank++) {
		struct join_part *p = &j->parts[j->ranks[rank].part];

		for (size_t i = 0; i < n && p->clock == UINT32_MAX && p->origin.clock[0]; i++)
			if (strcmp(j->parts[i].origin.clock, p->origin.clock) == 0)
				p->clock = j->parts[i].clock;
		if (p->clock == UINT32_MAX)
			p->clock = j->n_clocks++;
	}
	return 0;
}

/* What the realtime clocks say, where both are known. */
static void guess(struct join *j)
{
	const struct fmt_origin *reference = &j->parts[j->ranks[0].part].origin;

	for (size_t i = 0; i < j->options->n_paths; i++) {
		const struct join_part *p = &j->parts[i];

		if (p->clock != UINT32_MAX && p->origin.realtime_ns && reference->realtime_ns)
			j->clocks[p->clock].ahead_ns =
				fmt_sub(reference->realtime_ns, p->origin.realtime_ns);
	}
}

/* Whether each rank of it waits for what all others bring. */
static bool do_all_wait(const struct fmt_names *n, const struct fmt_template *s)
{
	static const char *const ops[] = {"all_reduce", "all_gather", "reduce_scatter",
					  "all_to_all", "barrier"};
	int64_t op = s->args[FMT_COLLECTIVE_OP].value;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (strcmp(fmt_string(n, (fmt_str)op, NULL), ops[i]) == 0)
			return true;
	return false;
}

static int see(const struct join *j, struct sightings *ret)
{
	for (uint32_t rank = 0; rank < j->run.n_ranks; rank++) {
		const struct fmt_run_rank *run = &j->run.ranks[rank];

		for (size_t i = 0; i < run->n_events; i++) {
			const struct fmt_event *e = &run->events[i];
			const struct fmt_template *s = fmt_template(j->names, e->template);
			const int64_t *values = run->values + e->first_value;

			if (s->kind != FMT_COLLECTIVE || values[FMT_COLLECTIVE_COMM] < 0 ||
			    fmt_template_peers(j->names, s))
				continue;
			if (array_reserve(&ret->seen, ret->n + 1, &ret->cap) < 0)
				return -ENOMEM;
			ret->seen[ret->n++] = (struct seen){
				.moment = (uint64_t)values[FMT_COLLECTIVE_COMM] << 32 |
					  (uint32_t)values[FMT_COLLECTIVE_SEQ],
				.start_ns = e->start_ns,
				.end_ns = e->start_ns + e->duration_ns,
				.clock = j->parts[j->ranks[rank].part].clock,
				.all_wait = do_all_wait(j->names, s)};
		}
	}
	return 0;
}

/* Sets the clocks by what has been seen, or by that alone which all wait for. */
static int align_by(struct join *j, const struct sightings *seen, bool all_wait)
{
	scoped(free_ptr) struct fmt_sighting *s = malloc((seen->n + 1) * sizeof(*s));
	size_t n = 0;
	int r;

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < seen->n; i++)
		if (seen->seen[i].all_wait || !all_wait)
			s[n++] = (struct fmt_sighting){seen->seen[i].moment, seen->seen[i].end_ns,
						       seen->seen[i].clock};
	guess(j);
	r = fmt_clocks_align(s, n, true, j->clocks, j->n_clocks);
	return r < 0 ? r : fmt_clocks_error(s, n, j->clocks, &j->result->error);
}

static int by_moment(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return array_order(x->moment, y->moment);
}

/* Collectives that would end on one host before they began on another. */
static uint64_t count_disorder(const struct join *j, struct sightings *s)
{
	uint64_t count = 0;
	size_t end;

	if (s->n > 0)
		qsort(s->seen, s->n, sizeof(*s->seen), by_moment);
	for (size_t i = 0; i < s->n; i = end) {
		int64_t latest = INT64_MIN, earliest = INT64_MAX;

		for (end = i; end < s->n && s->seen[end].moment == s->seen[i].moment; end++) {
			const struct fmt_clock *c = &j->clocks[s->seen[end].clock];
			int64_t from = fmt_clock_ns(c, s->seen[end].start_ns);
			int64_t to = fmt_clock_ns(c, s->seen[end].end_ns);

			latest = from > latest ? from : latest;
			earliest = to < earliest ? to : earliest;
		}
		count += s->seen[i].all_wait && latest > earliest;
	}
	return count;
}

int join_clocks_align(struct join *j)
{
	scoped(sightings_done) struct sightings s = {0};
	bool known = true;
	int r = see(j, &s);

	if (r == 0)
		r = align_by(j, &s, true);
	for (uint32_t i = 0; i < j->n_clocks; i++)
		known &= j->clocks[i].known;
	if (r == 0 && !known)
		r = align_by(j, &s, false);
	for (uint32_t i = 1; i < j->n_clocks; i++)
		j->result->n_aligned += j->clocks[i].known;
	j->result->n_clocks = j->n_clocks;
	j->result->out_of_order = count_disorder(j, &s);
	return r;
}

/* ---- what the trace says of it */

static const char *host_of(const struct join *j, uint32_t rank)
{
	const char *host = fmt_fact_value(j->names, rank, "host");

	return host ? host : "null";
}

static uint32_t clock_of(const struct join *j, uint32_t rank)
{
	return j->parts[j->ranks[rank].part].clock;
}

static bool on_one_host(const struct join *j, uint32_t a, uint32_t b)
{
	return clock_of(j, a) == clock_of(j, b) && strcmp(host_of(j, a), host_of(j, b)) == 0;
}

/* How the clock of a rank's host was set. */
static const char *set_by(const struct join *j, uint32_t rank)
{
	const struct fmt_clock *c = &j->clocks[clock_of(j, rank)];

	if (clock_of(j, rank) == 0)
		return "reference";
	if (c->known)
		return "collectives";
	return j->parts[j->ranks[rank].part].origin.realtime_ns && c->ahead_ns ? "realtime"
									       : "unknown";
}

/* The host of `first`, of which no rank comes before. */
static void put_host(const struct join *j, struct fmt_json *json, uint32_t first)
{
	const struct fmt_clock *c = &j->clocks[clock_of(j, first)];

	fmt_json_open(json, NULL, '{');
	fmt_json_verbatim(json, "host", host_of(j, first), strlen(host_of(j, first)));
	fmt_json_open(json, "ranks", '[');
	for (uint32_t i = first; i < j->run.n_ranks; i++)
		if (on_one_host(j, first, i))
			fmt_json_u64(json, NULL, j->ranks[i].number);
	fmt_json_close(json, ']');
	fmt_json_str(json, "clock", set_by(j, first));
	fmt_json_i64(json, "ahead_ns", c->ahead_ns);
	fmt_json_double(json, "drift_ppm", c->drift * 1e6, 3);
	fmt_json_close(json, '}');
}

static void put_error(const struct fmt_join_result *r, struct fmt_json *json)
{
	fmt_json_open(json, NULL, '{');
	fmt_json_u64(json, "clocks", r->n_clocks);
	fmt_json_u64(json, "aligned", r->n_aligned);
	fmt_json_u64(json, "collectives", r->error.moments);
	fmt_json_i64(json, "p50_ns", r->error.p50_ns);
	fmt_json_i64(json, "p95_ns", r->error.p95_ns);
	fmt_json_i64(json, "max_ns", r->error.max_ns);
	fmt_json_u64(json, "out_of_order", r->out_of_order);
	fmt_json_close(json, '}');
}

int join_clocks_put(struct join *j)
{
	scoped(text_done) struct text hosts = {0}, error = {0};
	struct fmt_json h = {.text = &hosts}, e = {.text = &error};
	int r;

	fmt_json_open(&h, NULL, '[');
	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		uint32_t first = 0;

		while (!on_one_host(j, first, i))
			first++;
		if (first == i)
			put_host(j, &h, i);
	}
	fmt_json_close(&h, ']');
	put_error(j->result, &e);
	r = join_fact(j, "hosts", &hosts);
	return r < 0 ? r : join_fact(j, FMT_CLOCKS_KEY, &error);
}
