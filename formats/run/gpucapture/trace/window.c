/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/window.h"

#include "base/array.h"
#include "base/scope.h"

/* Drops iterations outside of the window, and sets the time span of the others. Returns 0 if none
 * remains. */
static int keep_iterations(const struct rec_window *w, struct fmt_run_rank *run, int64_t *from_ns,
			   int64_t *to_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_iterations; i++) {
		const struct fmt_iteration it = run->iterations[i];

		if (it.number < w->first || it.number > w->last)
			continue;
		if (n == 0)
			*from_ns = it.start_ns;
		*to_ns = it.start_ns + it.duration_ns;
		run->iterations[n++] = it;
	}
	if (n > 0)
		run->n_iterations = n;
	return n > 0;
}

static int64_t launch_time(const struct fmt_run_rank *run, const struct fmt_run_part *part,
			   size_t i)
{
	return run->events[part->call_of[i] == FMT_RUN_NONE ? i : part->call_of[i]].start_ns;
}

static void keep_digests(struct fmt_run_part *part, const uint32_t *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < part->n_digests; i++) {
		struct fmt_run_digest d = part->digests[i];

		if (to[d.digest.op] == FMT_RUN_NONE)
			continue;
		d.digest.op = to[d.digest.op];
		part->digests[kept++] = d;
	}
	part->n_digests = kept;
}

static void keep_events(struct fmt_run_rank *run, struct fmt_run_part *part, uint32_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_events; i++) {
		if (to[i] == FMT_RUN_NONE)
			continue;
		run->events[n] = run->events[i];
		part->call_of[n] = part->call_of[i];
		part->keeps[n] = part->keeps[i];
		to[i] = (uint32_t)n++;
	}
	run->n_events = n;
	for (size_t i = 0; i < n; i++)
		if (part->call_of[i] != FMT_RUN_NONE)
			part->call_of[i] = to[part->call_of[i]];
	keep_digests(part, to);
}

int rec_window_filter(struct fmt_run_rank *run, struct fmt_run_part *part, int64_t from_ns,
		      int64_t to_ns)
{
	scoped(free_ptr) uint32_t *to = malloc((run->n_events + 1) * sizeof(*to));
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < run->n_events; i++) {
		int64_t at = launch_time(run, part, i);

		to[i] = (at >= from_ns || part->keeps[i]) && at < to_ns ? 0 : FMT_RUN_NONE;
	}
	keep_events(run, part, to);
	for (size_t i = 0; i < part->n_ranges; i++)
		if (part->ranges[i].start_ns >= from_ns && part->ranges[i].start_ns < to_ns)
			part->ranges[n++] = part->ranges[i];
	part->n_ranges = n;
	return 0;
}

/* Sets the span of the written events: the window, or from the first call of the prologue. */
static void set_span(const struct fmt_run_rank *run, struct fmt_run_part *part, int64_t from_ns,
		     int64_t to_ns)
{
	part->first_ns = from_ns;
	part->last_ns = to_ns;
	for (size_t i = 0; i < run->n_events; i++) {
		const struct fmt_event *e = &run->events[i];
		int64_t end_ns = e->start_ns + e->duration_ns;

		part->first_ns = e->start_ns < part->first_ns ? e->start_ns : part->first_ns;
		part->last_ns = end_ns > part->last_ns ? end_ns : part->last_ns;
	}
}

/* A segment before the window has its part of the prologue only. */
static int keep_prologue(struct fmt_run_rank *run, struct fmt_run_part *part)
{
	if (rec_window_filter(run, part, INT64_MAX, INT64_MAX) < 0)
		return -ENOMEM;
	if (run->n_events == 0)
		return 0;
	free(run->iterations);
	run->iterations = calloc(1, sizeof(*run->iterations));
	if (!run->iterations)
		return -ENOMEM;
	set_span(run, part, INT64_MAX, INT64_MIN);
	run->iterations[0] = (struct fmt_iteration){.number = FMT_BEFORE,
						    .start_ns = part->first_ns,
						    .duration_ns = part->last_ns - part->first_ns};
	run->n_iterations = 1;
	return 0;
}

void rec_window_state_done(struct rec_window_state *of)
{
	free(of->skipped);
	*of = (struct rec_window_state){0};
}

static bool is_message(const struct fmt_names *names, const struct fmt_template *template)
{
	int64_t peers;

	return fmt_template_const(names, template, FMT_KEY_TO, &peers) ||
	       fmt_template_const(names, template, FMT_KEY_FROM, &peers);
}

/* Counts the collectives in communicators before this time. */
static int count_skipped(const struct fmt_names *names, const struct fmt_run_rank *run,
			 const struct fmt_run_part *part, int64_t until_ns,
			 struct rec_window_state *of)
{
	for (size_t i = 0; i < run->n_events; i++) {
		const struct fmt_event *e = &run->events[i];
		const struct fmt_template *template = fmt_template(names, e->template);
		int64_t comm;

		if (template->kind != FMT_COLLECTIVE || launch_time(run, part, i) >= until_ns ||
		    is_message(names, template))
			continue;
		comm = run->values[e->first_value + FMT_COLLECTIVE_COMM];
		if (comm < 0)
			continue;
		if (array_reserve(&of->skipped, (size_t)comm + 1, &of->skipped_cap) < 0)
			return -ENOMEM;
		while (of->n_skipped <= (size_t)comm)
			of->skipped[of->n_skipped++] = 0;
		of->skipped[comm]++;
	}
	return 0;
}

int rec_window_apply(const struct rec_window *w, const struct fmt_names *names,
		     struct fmt_run_rank *run, struct fmt_run_part *part, bool more,
		     struct rec_window_state *of)
{
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
	int r = 0;

	of->has_begun = of->n > 0;

	if (!keep_iterations(w, run, &from_ns, &to_ns))
		run->n_iterations = 0;
	if (of->n == 0)
		r = count_skipped(names, run, part, from_ns, of);
	if (r < 0)
		return r;
	if (run->n_iterations == 0 && !of->has_begun)
		return keep_prologue(run, part);
	if (run->n_iterations > 0) {
		int64_t last = run->iterations[run->n_iterations - 1].number;

		from_ns = of->n > 0 ? part->first_ns : from_ns;
		to_ns = more && last < w->last ? INT64_MAX : to_ns;
		of->n += run->n_iterations - (of->n > 0 && run->iterations[0].number == of->last);
		of->last = last;
	}
	if (rec_window_filter(run, part, from_ns, to_ns) < 0)
		return -ENOMEM;
	if (run->n_iterations > 0)
		set_span(run, part, from_ns, to_ns < part->last_ns ? to_ns : part->last_ns);
	return 0;
}
