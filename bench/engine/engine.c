/* SPDX-License-Identifier: Apache-2.0 */

/* Speed of the emulator on one core, in operations a second, and its memory, for runs of several
 * sizes. The cost of generating the run is measured separately and subtracted: clocks are read
 * twice a run. */
#include "base/host.h"
#include "bench/engine/made_run.h"
#include "replay/what_if/change.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct figures {
	double seconds; /* of CPU time */
	double kib;	/* growth of the process */
	struct made_run_counts counts;
};

static double seconds(void)
{
	return (double)host_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static double kib(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)used.ru_maxrss;
}

static struct made_run_options options(uint64_t ops, uint32_t gpus, int exposed)
{
	struct made_run_options o = {.gpus = gpus, .layers = 16, .kernels = 15, .exposed = exposed};
	uint64_t per_iteration = (uint64_t)gpus * o.layers * (o.kernels + 1);

	if (ops < per_iteration) {
		o.layers = 1;
		o.kernels = (uint32_t)(ops / gpus > 2 ? ops / gpus - 1 : 1);
		per_iteration = (uint64_t)gpus * (o.kernels + 1);
	}
	o.iterations = (ops + per_iteration - 1) / per_iteration;
	return o;
}

/* Changed runs that are emulated beside the run. */
static uint32_t n_what_ifs;

static struct change *changed(const struct replay_source *source)
{
	static const char *const specs[] = {"gpu=2x",  "gpu=0.5x",  "network=2x",  "network=0.5x",
					    "host=2x", "host=0.5x", "launch=0.5x", "launch=2x"};
	struct what_if *what_ifs[ARRAY_SIZE(specs)];
	struct what_if_error why;
	struct change *ret = NULL;
	uint32_t bad;

	for (uint32_t i = 0; i < n_what_ifs; i++)
		if (what_if_parse(specs[i], &what_ifs[i], &why) < 0)
			return NULL;
	change_new(what_ifs, n_what_ifs, source->names, source->numbers, source->n_ranks, &ret,
		   &bad, &why);
	return ret;
}

static int emulate(struct made_run *run)
{
	struct replay_source source = *made_run_source(run);
	struct replay_counts counts;
	struct fmt_error err;

	if (n_what_ifs > 0 && !(source.change = changed(&source)))
		return 1;
	if (replay_simulate(&source, &counts, &err) < 0) {
		fprintf(stderr, "engine: %s\n", err.what);
		return 1;
	}
	return counts.sim.broken > 0;
}

static int run_one(const struct made_run_options *o, int (*work)(struct made_run *),
		   struct figures *ret)
{
	struct made_run *run;
	double before_s, before_kib;
	int r;

	if (made_run_new(o, &run) < 0)
		return 1;
	before_kib = kib();
	before_s = seconds();
	r = work(run);
	ret->seconds = seconds() - before_s;
	ret->kib = kib() - before_kib;
	ret->counts = *made_run_counts(run);
	made_run_free(run);
	return r;
}

/* Takes the fastest of several runs, each in a process of its own, so that memory is counted from
 * zero. */
static int fastest(const struct made_run_options *o, int (*work)(struct made_run *), int runs,
		   struct figures *ret)
{
	struct figures *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, bad = shared == MAP_FAILED;

	fflush(stdout);
	for (int i = 0; !bad && i < runs; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(run_one(o, work, shared));
		bad = pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
		if (!bad && (i == 0 || shared->seconds < ret->seconds))
			*ret = *shared;
	}
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(*shared));
	return bad;
}

static int measure(uint64_t ops, uint32_t gpus, int exposed)
{
	struct made_run_options o = options(ops, gpus, exposed);
	int runs = ops <= 1000000 ? 10 : 1;
	struct figures all, making;
	double took;

	if (fastest(&o, made_run_drain, runs, &making) || fastest(&o, emulate, runs, &all))
		return 1;
	took = all.seconds - making.seconds;
	printf("%11lu  %5u  %-7s %9.4f  %8.2f  %9.1f  %9.1f  %9.4f  %016lx\n", all.counts.ops, gpus,
	       exposed ? "exposed" : "hidden", took, (double)all.counts.ops / took / 1e6,
	       all.kib / gpus, (all.kib - (double)all.counts.bytes / 1024.0) / gpus, making.seconds,
	       all.counts.checksum);
	return 0;
}

static int measure_both(uint64_t ops, uint32_t gpus)
{
	return measure(ops, gpus, 0) | measure(ops, gpus, 1);
}

int main(int argc, char **argv)
{
	static const uint64_t ops[] = {10000, 1000000, 100000000};
	static const uint32_t gpus[] = {8, 64, 512, 4096};
	int bad = 0;

	printf("        ops   GPUs  comm.      CPU s    Mops/s    KiB/GPU    KiB/GPU   making s  "
	       "checksum\n"
	       "                                                    (all)   (engine)\n");
	n_what_ifs = argc == 4 ? (uint32_t)atoi(argv[3]) % 9 : 0;
	if (argc >= 3)
		return measure_both(strtoull(argv[1], NULL, 10), (uint32_t)atoi(argv[2]));
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		for (size_t g = 0; g < ARRAY_SIZE(gpus); g++)
			bad |= measure_both(ops[i], gpus[g]);
	return bad;
}
