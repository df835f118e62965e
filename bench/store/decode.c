/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the records decoded in a second on one core:
 *
 *     bench/store/decode [-n TIMES] TRACE...
 *
 * Opens each trace TIMES times and loads all slices in order; prints the fastest. First every load
 * also reads the slices it depends on, then they are cached, as in a mount.
 */
#include "base/host.h"
#include "formats/trace/store/trace.h"

#include "base/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double cpu_seconds(void)
{
	return (double)host_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

/* Loads everything. Returns the number of records, or -errno. */
static long load_all(struct fmt_trace *t, unsigned want)
{
	long n = 0;

	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(t); rank++)
		for (uint32_t i = 0; i < fmt_trace_rank(t, rank)->n_slices; i++) {
			struct fmt_slice *s = NULL;
			int r = fmt_slice_load(t, rank, i, want, &s, NULL);

			if (r < 0)
				return r;
			for (int k = 0; k < FMT_KINDS; k++)
				n += (long)fmt_trace_slice(t, rank, i)->n_records[k];
			fmt_slice_free(s);
		}
	return n;
}

static int measure(const char *path, int times)
{
	double best[3] = {1e9, 1e9, 1e9};
	long n = 0;

	for (int i = 0; i < times; i++) {
		scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
		static const unsigned want[3] = {FMT_WANT_ALL, FMT_WANT_ALL, FMT_WANT_OPS};
		int r = fmt_trace_open(path, &t, NULL);

		if (r < 0)
			return r;
		for (int k = 0; k < 3; k++) {
			double start = cpu_seconds();

			n = load_all(t, want[k]);
			if (n < 0)
				return (int)n;
			if (cpu_seconds() - start < best[k])
				best[k] = cpu_seconds() - start;
		}
	}
	printf("%-40s %9ld records: %.2f M/s, bases at hand %.2f, operations only %.2f\n", path, n,
	       (double)n / best[0] / 1e6, (double)n / best[1] / 1e6, (double)n / best[2] / 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	int times = 5, option;

	while ((option = getopt(argc, argv, "n:")) == 'n')
		times = atoi(optarg);
	if (option != -1 || optind == argc || times < 1) {
		fprintf(stderr, "usage: decode [-n TIMES] TRACE...\n");
		return 2;
	}
	for (; optind < argc; optind++) {
		int r = measure(argv[optind], times);

		if (r < 0) {
			fprintf(stderr, "decode: %s: %s\n", argv[optind], strerror(-r));
			return 3;
		}
	}
	return 0;
}
