/* SPDX-License-Identifier: Apache-2.0 */

/* Writes some ranks of a trace as a host with another clock would have recorded them.
 *
 *     split IN OUT FIRST LAST AHEAD_NS DRIFT_PPM NOISE_NS CLOCK REALTIME_NS [INDEX COUNT RUN]
 *
 * Writes ranks FIRST to LAST. The clock is AHEAD_NS ahead at the first event and gains DRIFT_PPM;
 * collectives end up to NOISE_NS later, by a different amount on each host. CLOCK is the clock's
 * name, REALTIME_NS how far CLOCK_REALTIME is ahead of it (0: unknown). INDEX, COUNT and RUN
 * identify the part and the run, as a launcher does.
 */
#include "base/scope.h"
#include "formats/trace/origin.h"
#include "formats/trace/store/trace.h"
#include "formats/trace/store/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct split {
	struct fmt_trace *trace;
	struct fmt_names *names;
	int64_t zero_ns, ahead_ns, noise_ns;
	double drift;
	uint64_t seed;
	struct fmt_error err;
};

static void die(struct split *s, const char *what)
{
	fprintf(stderr, "split: %s: %s\n", what, s->err.what);
	exit(2);
}

static int64_t moved(const struct split *s, int64_t at_ns)
{
	return at_ns + s->ahead_ns + (int64_t)(s->drift * (double)(at_ns - s->zero_ns));
}

static void move(const struct split *s, int64_t *start_ns, int64_t *duration_ns)
{
	int64_t end_ns = moved(s, *start_ns + *duration_ns);

	*start_ns = moved(s, *start_ns);
	*duration_ns = end_ns - *start_ns;
}

/* Blurs the end of a collective, up to the start of the next operation on the stream. */
static void blur(struct split *s, struct fmt_slice *slice)
{
	for (size_t i = 0; i + 1 < slice->n_events && s->noise_ns > 0; i++) {
		struct fmt_event *e = &slice->events[i];
		int64_t room = e[1].start_ns - e->start_ns - e->duration_ns, noise;

		if (fmt_template(s->names, e->template)->kind != FMT_COLLECTIVE)
			continue;
		s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
		noise = (int64_t)((s->seed >> 33) % (uint64_t)s->noise_ns);
		if (e[1].track != e->track || noise < room)
			e->duration_ns += noise;
	}
}

static void write_rank(struct split *s, struct fmt_writer *w, uint32_t rank)
{
	const struct fmt_rank *info = fmt_trace_rank(s->trace, rank);
	struct fmt_rank_writer *out;

	if (fmt_writer_rank(w, rank, info->number, &out, &s->err) < 0)
		die(s, "write");
	for (uint32_t i = 0; i < info->n_slices; i++) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		if (fmt_slice_load(s->trace, rank, i, FMT_WANT_ALL, &slice, &s->err) < 0)
			die(s, "load");
		blur(s, slice);
		move(s, &slice->iteration.start_ns, &slice->iteration.duration_ns);
		for (size_t k = 0; k < slice->n_events; k++)
			move(s, &slice->events[k].start_ns, &slice->events[k].duration_ns);
		for (size_t k = 0; k < slice->n_ranges; k++)
			move(s, &slice->ranges[k].start_ns, &slice->ranges[k].duration_ns);
		if (fmt_slice_sort(slice, NULL) < 0 ||
		    fmt_rank_writer_slice(out, slice, &s->err) < 0)
			die(s, "write");
	}
}

int main(int argc, char **argv)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	struct fmt_origin origin = {0};
	struct split s = {0};
	struct fmt_writer *w;
	uint32_t n;

	if (argc != 10 && argc != 13)
		return 2;
	if (fmt_trace_open(argv[1], &s.trace, &s.err) < 0)
		die(&s, argv[1]);
	n = fmt_trace_n_ranks(s.trace);
	s.ahead_ns = strtoll(argv[5], NULL, 10);
	s.drift = strtod(argv[6], NULL) * 1e-6;
	s.noise_ns = strtoll(argv[7], NULL, 10);
	s.seed = 1 + strtoull(argv[3], NULL, 10);
	snprintf(origin.clock, sizeof(origin.clock), "%s", argv[8]);
	origin.realtime_ns = strtoll(argv[9], NULL, 10);
	if (argc == 13) {
		origin.part = (uint32_t)atoi(argv[10]);
		origin.n_parts = (uint32_t)atoi(argv[11]);
		snprintf(origin.run, sizeof(origin.run), "%s", argv[12]);
	}
	s.zero_ns = fmt_trace_rank(s.trace, 0)->start_ns;
	if (fmt_names_copy(fmt_trace_names(s.trace), n, &s.names) < 0 ||
	    fmt_origin_put(s.names, &origin) < 0 ||
	    fmt_writer_open(argv[2], s.names, &options, &w, &s.err) < 0)
		die(&s, argv[2]);
	for (uint32_t i = (uint32_t)atoi(argv[3]); i <= (uint32_t)atoi(argv[4]) && i < n; i++)
		write_rank(&s, w, i);
	if (fmt_writer_close(w, &s.err) < 0)
		die(&s, argv[2]);
	fmt_names_free(s.names);
	fmt_trace_close(s.trace);
	return 0;
}
