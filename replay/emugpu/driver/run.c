/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/run.h"
#include "base/host.h"
#include "base/scope.h"
#include "replay/emugpu/notes.h"
#include "replay/emugpu/refuse.h"

#include <sys/prctl.h>
#include <time.h>

enum { GENERATIONS = 64 };

static struct emu_run *run; /* of this process and its forked children */

static uint32_t n_used_rows(void)
{
	uint32_t n = __atomic_load_n(&run->n_processes, __ATOMIC_ACQUIRE);

	return n < EMU_RUN_PROCESSES ? n : EMU_RUN_PROCESSES;
}

static struct emu_run_process *find_row(uint64_t pid)
{
	uint64_t started = host_process_started(pid);

	for (uint32_t i = 0; i < n_used_rows(); i++) {
		struct emu_run_process *p = &run->processes[i];

		if (__atomic_load_n(&p->pid, __ATOMIC_ACQUIRE) == pid && p->started == started)
			return p;
	}
	return NULL;
}

EMU_API int64_t gpuemu_process_ended(int32_t pid, int status)
{
	int64_t now_ns = 0;

	for (uint32_t i = 0; run && i < n_used_rows(); i++) {
		struct emu_run_process *p = &run->processes[i];

		/* A reused process id may belong to a later row, of a running process. */
		if (__atomic_load_n(&p->pid, __ATOMIC_ACQUIRE) != (uint64_t)pid ||
		    p->end == EMU_RUN_WAITED || host_process_started((uint64_t)pid) == p->started)
			continue;
		if (!p->ended_ns)
			p->ended_ns = host_clock_ns(CLOCK_MONOTONIC);
		p->status = status;
		p->end = EMU_RUN_WAITED;
		now_ns = __atomic_load_n(&p->now_ns, __ATOMIC_RELAXED);
	}
	return now_ns;
}

static int64_t cpu_ns_of(uint64_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid((pid_t)pid, &clock) == 0 ? host_clock_ns(clock) : 0;
}

/* Returns the present clock of a process. Before its first call, all of its CPU time counts as its
 * own work. */
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

static int try_claim(struct emu_run_process *p, uint64_t was)
{
	return __atomic_compare_exchange_n(&p->pid, &was, (uint64_t)getpid(), 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Returns an unused row; else the row of a process that has ended and used no GPU. */
static struct emu_run_process *claim_row(void)
{
	uint32_t n = __atomic_fetch_add(&run->n_processes, 1, __ATOMIC_ACQ_REL);

	if (n < EMU_RUN_PROCESSES && try_claim(&run->processes[n], 0))
		return &run->processes[n];
	__atomic_store_n(&run->n_processes, EMU_RUN_PROCESSES, __ATOMIC_RELEASE);
	for (n = 0; n < EMU_RUN_PROCESSES; n++) {
		struct emu_run_process *p = &run->processes[n];
		uint64_t was = __atomic_load_n(&p->pid, __ATOMIC_ACQUIRE);

		if (p->driver_ns == 0 && host_process_started(was) != p->started &&
		    try_claim(p, was))
			return p;
	}
	return NULL;
}

struct emu_run_process *emu_run_join_at(int64_t now_ns)
{
	struct emu_run_process *p = run ? claim_row() : NULL;

	if (!p)
		return NULL;
	p->now_ns = now_ns;
	p->calls = 0;
	p->cpu_ns = cpu_ns_of((uint64_t)getpid());
	p->started = host_process_started((uint64_t)getpid());
	p->end = EMU_RUN_GOING;
	p->ended_ns = 0;
	prctl(PR_GET_NAME, p->name);
	return p;
}

struct emu_run_process *emu_run_join(double per_ns)
{
	uint64_t pid = (uint64_t)getpid(), above = pid;
	struct emu_run_process *p;

	run = emu_run_map();
	if (!run)
		return NULL;
	p = find_row(pid);
	if (p) { /* after exec() */
		prctl(PR_GET_NAME, p->name);
		p->now_ns = now_of(p, per_ns);
		p->cpu_ns = cpu_ns_of(pid);
		p->calls = 0;
		return p;
	}
	for (int i = 0; i < GENERATIONS && !p && above > 1; i++) {
		above = host_process_parent(above);
		p = find_row(above);
	}
	return emu_run_join_at(p ? now_of(p, per_ns) : 0);
}
