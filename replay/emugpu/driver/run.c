/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/run.h"
#include "base/host.h"
#include "base/scope.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PROCESSES = 4096, GENERATIONS = 64 };

/* Untouched pages cost nothing. */
struct run {
	uint32_t n; /* processes[n ...] were never used */
	uint8_t padding[60];
	struct emu_run_process processes[PROCESSES];
};

static struct run *run; /* of this process, and of those that it forks */

static struct run *map(const char *path)
{
	scoped(close_fd) int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(struct run)) < 0)
		return NULL;
	at = mmap(NULL, sizeof(struct run), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static uint32_t used(void)
{
	uint32_t n = __atomic_load_n(&run->n, __ATOMIC_ACQUIRE);

	return n < PROCESSES ? n : PROCESSES;
}

static struct emu_run_process *find(uint64_t pid)
{
	uint64_t started = host_process_started(pid);

	for (uint32_t i = 0; i < used(); i++) {
		struct emu_run_process *p = &run->processes[i];

		if (__atomic_load_n(&p->pid, __ATOMIC_ACQUIRE) == pid && p->started == started)
			return p;
	}
	return NULL;
}

static int64_t cpu_ns_of(uint64_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid((pid_t)pid, &clock) == 0 ? host_clock_ns(clock) : 0;
}

/* Where a process is by now. Without calls, all that it does is its own work. */
static int64_t now_of(const struct emu_run_process *p, double per_ns)
{
	int64_t own_ns = p->calls ? 0 : cpu_ns_of(p->pid) - p->cpu_ns;

	return __atomic_load_n(&p->now_ns, __ATOMIC_RELAXED) +
	       (own_ns > 0 ? (int64_t)((double)own_ns * per_ns) : 0);
}

void emu_run_mark(struct emu_run_process *p)
{
	p->cpu_ns = cpu_ns_of(p->pid);
}

static int claim(struct emu_run_process *p, uint64_t was)
{
	return __atomic_compare_exchange_n(&p->pid, &was, (uint64_t)getpid(), 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* A place that was never used; where there is none, that of a process that is gone. */
static struct emu_run_process *place(void)
{
	uint32_t n = __atomic_fetch_add(&run->n, 1, __ATOMIC_ACQ_REL);

	if (n < PROCESSES && claim(&run->processes[n], 0))
		return &run->processes[n];
	__atomic_store_n(&run->n, PROCESSES, __ATOMIC_RELEASE);
	for (n = 0; n < PROCESSES; n++) {
		struct emu_run_process *p = &run->processes[n];
		uint64_t was = __atomic_load_n(&p->pid, __ATOMIC_ACQUIRE);

		if (host_process_started(was) != p->started && claim(p, was))
			return p;
	}
	return NULL;
}

struct emu_run_process *emu_run_join_at(int64_t now_ns)
{
	struct emu_run_process *p = run ? place() : NULL;

	if (!p)
		return NULL;
	p->now_ns = now_ns;
	p->calls = 0;
	p->cpu_ns = cpu_ns_of((uint64_t)getpid());
	p->started = host_process_started((uint64_t)getpid());
	return p;
}

struct emu_run_process *emu_run_join(double per_ns)
{
	uint64_t pid = (uint64_t)getpid(), above = pid;
	struct emu_run_process *p;

	if (!run)
		run = map(getenv("GPUEMU_RUN"));
	if (!run)
		return NULL;
	p = find(pid);
	if (p) { /* it has executed another program */
		p->now_ns = now_of(p, per_ns);
		p->cpu_ns = cpu_ns_of(pid);
		p->calls = 0;
		return p;
	}
	for (int i = 0; i < GENERATIONS && !p && above > 1; i++) {
		above = host_process_parent(above);
		p = find(above);
	}
	return emu_run_join_at(p ? now_of(p, per_ns) : 0);
}
