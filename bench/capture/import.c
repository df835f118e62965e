/* SPDX-License-Identifier: Apache-2.0 */

/* import FILE OUT [SEGMENT]: imports a raw recording. Prints millions of events a second, CPU
 * nanoseconds an event, and the peak memory in MB. */
#include "formats/run/gpucapture/import.h"
#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rec_import_report report;
	struct fmt_error err = {0};
	struct rusage used;
	int64_t begin_ns = host_clock_ns(CLOCK_MONOTONIC);
	double took, cpu, events;
	int r;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: import FILE OUT [SEGMENT]\n");
		return 2;
	}
	r = rec_import(&(struct rec_import){.files = (const char *const[]){argv[1]},
					    .n_files = 1,
					    .output = argv[2],
					    .folder = "/tmp",
					    .segment = argc > 3 ? strtoul(argv[3], NULL, 10) : 0},
		       &report, &err);
	if (r < 0) {
		fprintf(stderr, "import: %s: %s\n", argv[1], *err.what ? err.what : strerror(-r));
		return 1;
	}
	took = (double)(host_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
	getrusage(RUSAGE_SELF, &used);
	cpu = seconds(&used.ru_utime) + seconds(&used.ru_stime);
	events = (double)(report.result.calls + report.result.ops);
	printf("%.0f %.2f %.0f %.0f\n", events, events / took / 1e6, cpu * 1e9 / events,
	       (double)used.ru_maxrss / 1024);
	rec_import_report_done(&report);
	return 0;
}
