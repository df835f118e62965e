/* SPDX-License-Identifier: Apache-2.0 */

/* What a process did on its GPUs, for `gpuemu`: lines appended to $GPUEMU_REPORT when it ends. */
#include "base/host.h"
#include "base/scope.h"
#include "replay/emugpu/driver/device.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Numbers that were taken when the driver was initialised; a child of the process has none. */
static struct {
	pid_t pid;
	int64_t started_ns;
} origin;

void emu_report_start(void)
{
	origin.pid = getpid();
	origin.started_ns = host_clock_ns(CLOCK_MONOTONIC);
}

static void append_line(int fd, const char *line, int n)
{
	ssize_t written = n > 0 ? write(fd, line, (size_t)n) : 0;

	(void)written;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("GPUEMU_REPORT");
	scoped(close_fd) int fd = -1;
	int64_t end_ns = emu_horizon_ns();
	char line[256];

	if (!path || origin.pid != getpid() || emu.n_devices == 0)
		return;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	for (int i = 0; i < emu.n_devices; i++) {
		const struct emu_device *d = &emu.devices[i];

		if (d->last_end_ns > end_ns)
			end_ns = d->last_end_ns;
		if (!d->kernels && !d->copies)
			continue;
		append_line(fd, line,
			    snprintf(line, sizeof(line),
				     "gpu\t%d\t%d\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
				     "\t%.96s\n",
				     d->physical, (int)origin.pid, d->busy_ns, d->kernels,
				     d->copies, d->copied_bytes, d->model.name));
	}
	append_line(fd, line,
		    snprintf(line, sizeof(line), "process\t%d\t%" PRId64 "\t%" PRId64 "\n",
			     (int)origin.pid, end_ns,
			     host_clock_ns(CLOCK_MONOTONIC) - origin.started_ns));
}
