/* SPDX-License-Identifier: Apache-2.0 */

/* Measures lower bounds of an import: the CPU time for decompressing a profiler's files, and for
 * decompressing and parsing them with callbacks that do nothing. Prints both, in seconds.
 *
 *     limit FILE...
 */
#include "base/host.h"
#include "formats/run/kineto/json.h"

#include <stdio.h>
#include <string.h>

#define WINDOW (256 << 10)

static int on_event(void *context, const struct kineto_event *e)
{
	return 0;
}

static int on_member(void *context, uint32_t key, const char *json, size_t len)
{
	return 0;
}

static double cpu_s(void)
{
	return (double)host_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static int unpack(struct kineto_source *source, const char *path)
{
	static char window[WINDOW];
	ssize_t n;

	do
		n = kineto_source_read(source, window, WINDOW, NULL);
	while (n > 0);
	return (int)n;
}

static int read_json(struct kineto_source *source, const char *path)
{
	struct fmt_strings strings;
	struct kineto_json j = {.strings = &strings, .event = on_event, .member = on_member};
	struct kineto_json_counts counts;
	int r = kineto_strings_init(&strings);

	if (r == 0)
		r = kineto_json_read(source, path, &j, &counts, NULL);
	fmt_strings_done(&strings);
	return r;
}

static int measure(const char *path, int (*read)(struct kineto_source *source, const char *path),
		   double *seconds)
{
	double start = cpu_s();
	struct kineto_source *source;
	int r = kineto_source_open(path, &source, NULL);

	if (r < 0)
		return r;
	r = read(source, path);
	kineto_source_close(source);
	*seconds += cpu_s() - start;
	return r;
}

int main(int argc, char **argv)
{
	double unpack_s = 0, read_s = 0;

	for (int i = 1; i < argc; i++) {
		int r = measure(argv[i], unpack, &unpack_s);

		if (r == 0)
			r = measure(argv[i], read_json, &read_s);
		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return 1;
		}
	}
	printf("%.6f %.6f\n", unpack_s, read_s);
	return 0;
}
