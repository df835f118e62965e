/* SPDX-License-Identifier: Apache-2.0 */

/* Arbitrary bytes as a profiler file: refused, or imported as a trace that can be opened. */
#include "base/scope.h"
#include "formats/run/kineto/kineto.h"
#include "formats/trace/store/trace.h"
#include "tests/fuzz/folder.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void import(const char *file, const char *output)
{
	const char *files[] = {file};
	struct kineto_options o = {.files = files, .n_files = 1, .output = output, .level = 1};
	struct kineto_report report;
	struct fmt_trace *trace;

	if (kineto_import(&o, &report, NULL) == 0) {
		if (fmt_trace_open(output, &trace, NULL) < 0)
			abort();
		fmt_trace_close(trace);
	}
	kineto_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(close_fd) int fd = memfd_create("input", MFD_CLOEXEC);
	scoped(folder_done) struct folder f = folder_make();
	char output[128], file[64];

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	import(file, folder_in(&f, "trace", output));
	return 0;
}
