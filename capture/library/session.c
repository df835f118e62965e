/* SPDX-License-Identifier: Apache-2.0 */

/* The process joins the session that $GPUCAPTURE_SESSION names, before main(). Without one, or with
 * one of another version, everything is forwarded and nothing recorded. */
#include "capture/library/session.h"
#include "base/host.h"
#include "capture/library/find/unknown.h"
#include "capture/library/range.h"
#include "capture/library/started.h"
#include "capture/library/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

const uint32_t cap_closed = 1;
static struct cap_control no_session = {.paused = 1};
struct cap_live cap_live;
struct cap_process cap_process = {.control = &no_session, .iteration = -1};

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

static struct cap_control *map_control(void)
{
	char path[CAP_PATH];
	struct stat st;
	void *map = MAP_FAILED;
	int fd;

	if (cap_session_file(path, "control", 0) < 0)
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size >= CAP_CONTROL_BYTES)
		map = mmap(NULL, CAP_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static bool usable(const struct cap_control *c)
{
	/* Publishes what the recorder has set before the first program starts. */
	return __atomic_load_n(&c->magic, __ATOMIC_ACQUIRE) == CAP_MAGIC &&
	       c->version == CAP_VERSION && c->ring_bytes >= CAP_MIN_RING_BYTES &&
	       c->ring_bytes <= CAP_MAX_RING_BYTES && (c->ring_bytes & (c->ring_bytes - 1)) == 0;
}

/* Lets the page be all zeroes again in a forked child. */
static bool wipe_on_fork(void)
{
	return (uintptr_t)&cap_live % (size_t)sysconf(_SC_PAGESIZE) == 0 &&
	       madvise(&cap_live, sizeof(cap_live), MADV_WIPEONFORK) == 0;
}

void cap_process_begin(void)
{
	cap_process.pid = getpid();
	cap_process.start = host_process_started((uint64_t)cap_process.pid);
	cap_process.generation++;
	cap_process.iteration = -1;
	cap_process.capturing = 0;
	__atomic_store_n(&cap_live.alive, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&cap_live.on, 1, __ATOMIC_RELAXED);
}

/* In any forked child: the threads that held these locks do not exist there. */
static void forked(void)
{
	cap_threads_forked();
	cap_unknown_forked();
	cap_nvtx_forked();
}

__attribute__((constructor)) static void join(void)
{
	const char *folder = getenv(CAP_SESSION_VARIABLE);
	struct cap_control *control;
	int kept = errno;

	pthread_atfork(NULL, NULL, forked);
	errno = kept;
	if (!folder || strlen(folder) >= sizeof(cap_process.folder))
		return;
	strcpy(cap_process.folder, folder);
	control = map_control();
	if (control && usable(control) && wipe_on_fork()) {
		cap_process.control = control;
		cap_process.session = true;
		__atomic_fetch_add(&control->n_processes, 1, __ATOMIC_RELAXED);
		cap_started_joined();
		cap_process_begin();
	} else if (control) {
		munmap(control, CAP_CONTROL_BYTES);
	}
	errno = kept;
}

const struct cap_control *cap_control(void)
{
	return cap_process.control;
}

int cap_emulated(void)
{
	return cap_emulated_clock() != NULL;
}

int64_t cap_now_ns(void)
{
	uint64_t (*emulated_ns)(void) = cap_emulated_clock();

	return emulated_ns ? (int64_t)emulated_ns() : host_clock_ns(CLOCK_MONOTONIC);
}
