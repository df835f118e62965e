/* SPDX-License-Identifier: Apache-2.0 */

/* What an import can't do without: the CPU time that unpacking a profiler's files takes, and that
 * yajl takes to read them, handing every token to a function that does nothing. Prints both, in
 * seconds.
 *
 *     limit FILE...
 */
#include "base/host.h"
#include "formats/run/kineto/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#define WINDOW (256 << 10)

static int on_nothing(void *context)
{
	(void)context;
	return 1;
}

static int on_bool(void *context, int v)
{
	(void)v;
	return on_nothing(context);
}

static int on_text(void *context, const char *s, size_t len)
{
	(void)s;
	(void)len;
	return on_nothing(context);
}

static int on_bytes(void *context, const unsigned char *s, size_t len)
{
	return on_text(context, (const char *)s, len);
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_nothing,
	.yajl_boolean = on_bool,
	.yajl_number = on_text,
	.yajl_string = on_bytes,
	.yajl_start_map = on_nothing,
	.yajl_map_key = on_bytes,
	.yajl_end_map = on_nothing,
	.yajl_start_array = on_nothing,
	.yajl_end_array = on_nothing,
};

static double cpu_s(void)
{
	return (double)host_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

/* Reads the file by windows, and adds the seconds that getting and parsing them took. */
static int measure(const char *path, char *window, double *unpack_s, double *parse_s)
{
	yajl_handle yajl = yajl_alloc(&callbacks, NULL, NULL);
	struct kineto_source *source;
	int r = yajl ? kineto_source_open(path, &source, NULL) : -ENOMEM;
	ssize_t n = 0;

	if (r < 0)
		return r;
	yajl_config(yajl, yajl_dont_validate_strings, 1);
	do {
		double start = cpu_s(), between;

		n = kineto_source_read(source, window, WINDOW, NULL);
		between = cpu_s();
		if (n > 0 && yajl_parse(yajl, (const unsigned char *)window, (size_t)n))
			n = -EBADMSG;
		*unpack_s += between - start;
		*parse_s += cpu_s() - between;
	} while (n > 0);
	kineto_source_close(source);
	yajl_free(yajl);
	return (int)n;
}

int main(int argc, char **argv)
{
	static char window[WINDOW];
	double unpack_s = 0, parse_s = 0;

	for (int i = 1; i < argc; i++) {
		int r = measure(argv[i], window, &unpack_s, &parse_s);

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return 1;
		}
	}
	printf("%.6f %.6f\n", unpack_s, parse_s);
	return 0;
}
