/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/ring/process.h"

#include "base/host.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static struct cap_control no_session = {.paused = 1};
struct cap_live cap_live;
struct cap_process cap_process = {.control = &no_session, .iteration = -1};

const struct cap_control *cap_control(void)
{
	return cap_process.control;
}

void cap_process_begin(void)
{
	cap_process.pid = getpid();
	cap_process.start = host_process_started((uint64_t)cap_process.pid);
	cap_process.generation++;
	cap_process.iteration = -1;
	cap_process.capturing = 0;
	__atomic_store_n(&cap_live.alive, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&cap_live.is_recording, 1, __ATOMIC_RELAXED);
}

int cap_session_file(char path[CAP_PATH], const char *name, uint64_t bytes)
{
	int n = snprintf(path, CAP_PATH, "%s/%s", cap_process.folder, name);
	struct rlimit most;

	if (n >= CAP_PATH)
		errno = ENAMETOOLONG;
	else if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < bytes)
		errno = EFBIG;
	else
		return 0;
	return -errno;
}
