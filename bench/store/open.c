/* SPDX-License-Identifier: Apache-2.0 */

/* Time to open a trace, as a whole and per slice: the fastest of several runs. */
#include "base/host.h"
#include "formats/trace/store/trace.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 20

struct opened {
	double seconds; /* of CPU time */
	uint64_t slices;
};

static double seconds(void)
{
	return (double)host_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

/* Opens the trace in a new process, whose memory is untouched. Returns 0 on failure. */
static int open_once(const char *path, struct opened *ret)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct fmt_error err;
		struct fmt_trace *t;
		double begin = seconds();

		if (fmt_trace_open(path, &t, &err) < 0) {
			fprintf(stderr, "bench_open: %s: %s\n", path, err.what);
			_exit(3);
		}
		ret->seconds = seconds() - begin;
		ret->slices = 0;
		for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++)
			ret->slices += fmt_trace_rank(t, i)->n_slices;
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	struct opened *o =
		mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (o == MAP_FAILED)
		return 3;
	printf("    slices        ms  ns/slice  trace\n");
	fflush(stdout);
	for (int i = 1; i < argc; i++) {
		double best = 1e9;

		for (int k = 0; k < TIMES; k++) {
			if (!open_once(argv[i], o))
				return 3;
			best = o->seconds < best ? o->seconds : best;
		}
		printf("%10lu  %8.3f  %8.0f  %s\n", o->slices, best * 1e3,
		       best * 1e9 / (double)(o->slices ? o->slices : 1), argv[i]);
		fflush(stdout);
	}
	return 0;
}
