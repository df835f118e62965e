/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/engine/made_run.h"

#include "formats/run/infer/constants.h"

#include "base/array.h"
#include "base/scope.h"

enum { THREAD, COMPUTE, COMMUNICATION };

struct made_run {
	struct made_run_options options;
	struct fmt_names *names;
	uint32_t *numbers;
	uint64_t *done;				   /* iterations done, by rank */
	uint32_t kernel, collective, launch, wait; /* templates */
	uint8_t rule;
	uint32_t n_kernels, n_events, n_edges; /* in a slice */

	struct fmt_slice **spare;
	size_t n_spare, spare_cap;

	struct replay_source source;
	struct made_run_counts counts;
};

static void slice_free(struct fmt_slice *s)
{
	if (!s)
		return;
	free(s->events);
	free(s->edges);
	free(s->values);
	free(s);
}

static struct fmt_slice *slice_new(struct made_run *run)
{
	struct fmt_slice *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->events = calloc(run->n_events, sizeof(*s->events));
	s->edges = calloc(run->n_edges, sizeof(*s->edges));
	s->values = calloc(2ul * run->options.layers, sizeof(*s->values));
	if (!s->events || !s->edges || !s->values)
		return slice_free(s), NULL;
	run->counts.bytes += run->n_events * sizeof(*s->events) + run->n_edges * sizeof(*s->edges) +
			     2ul * run->options.layers * sizeof(*s->values);
	return s;
}

static struct fmt_event *event(struct fmt_slice *s, uint32_t track, uint32_t template,
			       int64_t start_ns, int64_t duration_ns, uint64_t correlation)
{
	struct fmt_event *e = &s->events[s->n_events++];

	*e = (struct fmt_event){
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.correlation = correlation,
		.template = template,
		.track = track,
	};
	return e;
}

static void edge(struct made_run *run, struct fmt_slice *s, uint64_t from, uint64_t to,
		 int64_t lag_ns, uint8_t kind)
{
	s->edges[s->n_edges++] = (struct fmt_edge){
		.from = s->first_number + from,
		.to = s->first_number + to,
		.lag_ns = lag_ns,
		.kind = kind,
		.rule = run->rule,
	};
}

/* Durations of 2000 to 10191 ns that depend on the position in the run. */
static int64_t jitter(uint64_t seed)
{
	seed *= 0x9e3779b97f4a7c15u;
	return 2000 + (int64_t)(seed >> 51);
}

static void make_calls(const struct made_run *run, struct fmt_slice *s, uint64_t seed)
{
	uint32_t n = run->n_kernels + run->options.layers;
	int64_t t = (int64_t)(seed * 1000);

	for (uint32_t i = 0; i < n; i++) {
		event(s, THREAD, run->launch, t, 3000, seed * n + i + 1);
		t += 4000 + (int64_t)(i & 7) * 100;
	}
	event(s, THREAD, run->wait, t, 1000, 0);
}

static void make_ops(const struct made_run *run, struct fmt_slice *s, uint64_t seed)
{
	const struct made_run_options *o = &run->options;
	uint64_t n = run->n_kernels + o->layers, correlation;

	for (uint32_t l = 0; l < o->layers; l++) {
		for (uint32_t k = 0; k < o->kernels; k++) {
			correlation = seed * n + l * (o->kernels + 1ul) + k + 1;
			event(s, COMPUTE, run->kernel, 0, jitter(correlation), correlation);
		}
	}
	for (uint32_t l = 0; l < o->layers; l++) {
		correlation = seed * n + (l + 1ul) * (o->kernels + 1ul);
		event(s, COMMUNICATION, run->collective, 0, 4 * jitter(correlation), correlation)
			->first_value = 2 * l;
	}
}

/* Sorted by the event that an edge leads to. */
static void make_edges(struct made_run *run, struct fmt_slice *s)
{
	const struct made_run_options *o = &run->options;
	uint64_t compute = run->n_kernels + o->layers + 1, comm = compute + run->n_kernels;

	edge(run, s, comm - 1, compute - 1, 2000, FMT_EDGE_RETURN);
	for (uint32_t l = 1; l < o->layers; l++) {
		if (o->exposed)
			edge(run, s, comm + l - 1, compute + (uint64_t)l * o->kernels, 1000,
			     FMT_EDGE_START);
	}
	for (uint32_t l = 0; l < o->layers; l++)
		edge(run, s, compute + (l + 1ul) * o->kernels - 1, comm + l, 1000, FMT_EDGE_START);
}

static int next(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		struct fmt_error *err)
{
	struct made_run *run = context;
	uint64_t iteration = run->done[rank];
	uint64_t seed = iteration * run->options.gpus + rank;
	struct fmt_slice *s;

	if (iteration == run->options.iterations)
		return 0;
	s = run->n_spare > 0 ? run->spare[--run->n_spare] : slice_new(run);
	if (!s)
		return -ENOMEM;
	run->done[rank]++;
	s->rank = rank;
	s->index = (uint32_t)iteration;
	s->iteration.number = (int64_t)iteration;
	s->first_number = iteration * run->n_events;
	s->n_values = 2ul * run->options.layers;
	s->n_events = s->n_edges = 0;
	for (uint32_t l = 0; l < run->options.layers; l++) {
		s->values[2 * l] = 0;
		s->values[2 * l + 1] = (int64_t)(iteration * run->options.layers + l);
	}
	make_calls(run, s, seed);
	make_ops(run, s, seed);
	make_edges(run, s);
	run->counts.ops += run->n_kernels + run->options.layers;
	run->counts.events += s->n_events;
	run->counts.edges += s->n_edges;
	*more = 0;
	*ret = s;
	return 1;
}

static int take_slice(void *context, uint32_t rank, struct fmt_slice *slice, const int64_t *times,
		      const int64_t *variants, struct fmt_error *err)
{
	struct made_run *run = context;
	uint64_t sum = 2 * (slice->first_number * run->options.gpus + rank) + 1;

	for (size_t i = 0; i < 2 * slice->n_events; i++)
		sum = sum * 31 + (uint64_t)times[i];
	run->counts.checksum += sum;
	if (array_reserve(&run->spare, run->n_spare + 1, &run->spare_cap) < 0)
		return -ENOMEM;
	run->spare[run->n_spare++] = slice;
	return 0;
}

static int template(struct fmt_names *n, enum fmt_kind kind, const char *name, uint32_t *ret)
{
	struct fmt_arg args[2] = {{.varies = 1}, {.varies = 1}};
	struct fmt_template s = {.kind = (uint8_t)kind, .args = args};

	if (kind == FMT_COLLECTIVE)
		s.n_args = 2;
	if (fmt_names_string(n, FMT_KEY_COMM, strlen(FMT_KEY_COMM), &args[0].key) < 0 ||
	    fmt_names_string(n, FMT_KEY_SEQ, strlen(FMT_KEY_SEQ), &args[1].key) < 0 ||
	    fmt_names_string(n, name, strlen(name), &s.name) < 0)
		return -ENOMEM;
	return fmt_names_template(n, &s, ret);
}

static int make_names(struct made_run *run)
{
	static const struct fmt_track tracks[] = {
		{.kind = FMT_THREAD, .pid = 1, .tid = 1},
		{.kind = FMT_STREAM, .tid = 7},
		{.kind = FMT_STREAM, .tid = 20},
	};
	struct fmt_constants constants = {.launch_ns = 4000, .copy_ns = 15000};
	struct fmt_names *n = run->names;
	struct fmt_comm comm = {.n_ranks = run->options.gpus, .ranks = run->numbers};
	uint32_t unused;

	for (int i = 0; i < FMT_GAP_CLASSES * FMT_GAP_CLASSES; i++)
		constants.gap_ns[i / FMT_GAP_CLASSES][i % FMT_GAP_CLASSES] = 1000;
	for (uint32_t r = 0; r < run->options.gpus; r++) {
		for (size_t i = 0; i < ARRAY_SIZE(tracks); i++) {
			if (fmt_names_track(n, r, &tracks[i], &unused) < 0)
				return -ENOMEM;
		}
		if (fmt_constants_put(n, r, &constants) < 0)
			return -ENOMEM;
	}
	if (fmt_names_comm(n, &comm, &unused) < 0 || fmt_names_rule(n, "made", 0, &run->rule) < 0 ||
	    template(n, FMT_KERNEL, "kernel", &run->kernel) < 0 ||
	    template(n, FMT_COLLECTIVE, "all_reduce", &run->collective) < 0 ||
	    template(n, FMT_CALL, "launch", &run->launch) < 0 ||
	    template(n, FMT_CALL, "wait", &run->wait) < 0)
		return -ENOMEM;
	return 0;
}

int made_run_new(const struct made_run_options *options, struct made_run **ret)
{
	struct made_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->options = *options;
	run->n_kernels = options->layers * options->kernels;
	run->n_events = 2 * (run->n_kernels + options->layers) + 1;
	run->n_edges = 2 * options->layers + 1;
	run->numbers = calloc(options->gpus, sizeof(*run->numbers));
	run->done = calloc(options->gpus, sizeof(*run->done));
	if (!run->numbers || !run->done || fmt_names_new(&run->names) < 0)
		return made_run_free(run), -ENOMEM;
	for (uint32_t i = 0; i < options->gpus; i++)
		run->numbers[i] = i;
	if (make_names(run) < 0)
		return made_run_free(run), -ENOMEM;
	run->source = (struct replay_source){
		.names = run->names,
		.n_ranks = options->gpus,
		.numbers = run->numbers,
		.context = run,
		.next = next,
		.taken = take_slice,
	};
	*ret = run;
	return 0;
}

void made_run_free(struct made_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->n_spare; i++)
		slice_free(run->spare[i]);
	free(run->spare);
	free(run->numbers);
	free(run->done);
	fmt_names_free(run->names);
	free(run);
}

int made_run_drain(struct made_run *run)
{
	scoped(free_ptr) int64_t *times = calloc(2ul * run->n_events, sizeof(*times));
	scoped(free_ptr) struct fmt_slice **slices = calloc(run->options.gpus, sizeof(*slices));
	int r = 0, more;

	if (!times || !slices)
		return -ENOMEM;
	for (uint64_t i = 0; i < run->options.iterations; i++) {
		for (uint32_t rank = 0; r >= 0 && rank < run->options.gpus; rank++)
			r = next(run, rank, &slices[rank], &more, NULL);
		for (uint32_t rank = 0; r >= 0 && rank < run->options.gpus; rank++)
			r = take_slice(run, rank, slices[rank], times, NULL, NULL);
	}
	return r < 0 ? r : 0;
}

const struct replay_source *made_run_source(const struct made_run *run)
{
	return &run->source;
}

const struct made_run_counts *made_run_counts(const struct made_run *run)
{
	return &run->counts;
}
