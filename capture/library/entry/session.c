/* SPDX-License-Identifier: Apache-2.0 */

/* The process joins the session that $GPUCAPTURE_SESSION names, before main(). Without a session,
 * or with one of another version, every call is forwarded and none recorded. */
#include "capture/library/call/chain.h"
#include "capture/library/entry/unknown.h"
#include "capture/library/process/nvtx.h"
#include "capture/library/process/process_facts.h"
#include "capture/library/process/started.h"
#include "capture/library/ring/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool is_usable(const struct cap_control *c)
{
	/* Publishes the data that the recorder set before the first program started. */
	return __atomic_load_n(&c->magic, __ATOMIC_ACQUIRE) == CAP_MAGIC &&
	       c->version == CAP_VERSION && c->ring_bytes >= CAP_MIN_RING_BYTES &&
	       c->ring_bytes <= CAP_MAX_RING_BYTES && (c->ring_bytes & (c->ring_bytes - 1)) == 0;
}

/* Lets the kernel zero cap_live in forked children. */
static bool wipe_on_fork(void)
{
	return (uintptr_t)&cap_live % (size_t)sysconf(_SC_PAGESIZE) == 0 &&
	       madvise(&cap_live, sizeof(cap_live), MADV_WIPEONFORK) == 0;
}

/* In a forked child: threads that may have held these locks do not exist there. */
static void reset_locks(void)
{
	cap_rings_after_fork();
	cap_unknown_after_fork();
	cap_nvtx_after_fork();
}

__attribute__((constructor)) static void join_session(void)
{
	static const struct cap_ring_listener listener = {
		.process_begun = cap_put_process_facts,
		.thread_ending = cap_chain_thread_end,
	};
	const char *folder = getenv(CAP_SESSION_VARIABLE);
	struct cap_control *control;
	int kept = errno;

	pthread_atfork(NULL, NULL, reset_locks);
	cap_ring_set_listener(&listener);
	errno = kept;
	if (!folder || strlen(folder) >= sizeof(cap_process.folder))
		return;
	strcpy(cap_process.folder, folder);
	control = map_control();
	if (control && is_usable(control) && wipe_on_fork()) {
		cap_process.control = control;
		cap_process.session = true;
		__atomic_fetch_add(&control->n_processes, 1, __ATOMIC_RELAXED);
		cap_started_remove_self();
		cap_process_begin();
	} else if (control) {
		munmap(control, CAP_CONTROL_BYTES);
	}
	errno = kept;
}
