/* SPDX-License-Identifier: Apache-2.0 */

/* How many operations a second the emulator works through on one core, and how much memory it
 * takes, over sizes of run. */
#include "bench/engine/made_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_one(uint64_t ops, uint32_t gpus, int exposed)
{
	struct made_run_options o = {.gpus = gpus, .layers = 16, .kernels = 15, .exposed = exposed};
	struct made_run *run;
	struct replay_counts counts;
	struct fmt_error err;
	struct rusage used;
	double begin, took;
	uint64_t per_iteration = (uint64_t)gpus * o.layers * (o.kernels + 1);
	const struct made_run_counts *c;

	if (ops < per_iteration) {
		o.layers = 1;
		o.kernels = (uint32_t)(ops / gpus > 2 ? ops / gpus - 1 : 1);
		per_iteration = (uint64_t)gpus * (o.kernels + 1);
	}
	o.iterations = (ops + per_iteration - 1) / per_iteration;
	if (made_run_new(&o, &run) < 0)
		return 1;
	begin = seconds();
	if (replay_feed(made_run_source(run), &counts, &err) < 0) {
		fprintf(stderr, "engine: %s\n", err.what);
		return 1;
	}
	c = made_run_counts(run);
	took = seconds() - begin - (double)c->made_ns / 1e9;
	getrusage(RUSAGE_SELF, &used);
	printf("%11lu  %5u  %-7s %8.3f  %8.2f  %9.1f  %9.1f  %8.3f  %016lx\n", c->ops, gpus,
	       exposed ? "exposed" : "hidden", took, (double)c->ops / took / 1e6,
	       (double)used.ru_maxrss / (double)gpus,
	       (double)used.ru_maxrss / (double)gpus - (double)c->bytes / gpus / 1024.0,
	       (double)c->made_ns / 1e9, c->checksum);
	made_run_free(run);
	return counts.sim.broken > 0;
}

/* In a process of its own, so that its memory is its own. */
static int measure(uint64_t ops, uint32_t gpus, int exposed)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(run_one(ops, gpus, exposed));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv)
{
	static const uint64_t ops[] = {10000, 1000000, 100000000};
	static const uint32_t gpus[] = {8, 64, 512, 4096};
	uint64_t only_ops = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint32_t only_gpus = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	int bad = 0;

	printf("        ops   GPUs  comm.     CPU s    Mops/s    KiB/GPU    KiB/GPU    making  "
	       "checksum\n"
	       "                                                   (all)   (engine)       (s)\n");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (size_t g = 0; g < sizeof(gpus) / sizeof(gpus[0]); g++) {
			if ((only_ops && only_ops != ops[i]) || (only_gpus && only_gpus != gpus[g]))
				continue;
			bad |= measure(ops[i], gpus[g], 0);
			bad |= measure(ops[i], gpus[g], 1);
		}
	}
	return bad;
}
