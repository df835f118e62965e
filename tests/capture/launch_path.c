/* SPDX-License-Identifier: Apache-2.0 */

/* launch_path: threads launch under the capture library, and count the library's work within a
 * launch: mutexes locked, allocations, system calls, and driver calls. Prints one line of "NAME
 * COUNT" pairs for all launches together. Linked with streams_driver.c, which does none of this.
 * The counting functions below are found before those of the C library.
 *
 * Each thread first makes many launches that are not counted and whose operations do not end. This
 * excludes the growth of queues to the number of operations in flight, and page faults on the first
 * use of the thread's ring.
 */
#include "base/array.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS 8
#define LAUNCHES 300 /* of a thread, on each of its streams */
#define WARM_UP 2000 /* launches that are not counted and fill the thread's ring */

int cuInit(unsigned flags);
int cuStreamCreate(void **ret, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra);
unsigned streams_driver_contexts(void);
unsigned streams_driver_events(void);
void streams_driver_hold(int holds);

static struct counts {
	unsigned launches, mutexes, allocations, system_calls, contexts, events;
} all;
static __thread struct counts own;
static __thread bool counts;
static bool no_filter;
static pthread_barrier_t launched;

/* ---- counting */

#define COUNTS __attribute__((visibility("default")))
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

COUNTS int pthread_mutex_lock(pthread_mutex_t *m)
{
	static int (*lock)(pthread_mutex_t * m); /* resolved before threads start */

	if (!lock)
		lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	own.mutexes += counts;
	return lock(m);
}

COUNTS void *malloc(size_t bytes)
{
	own.allocations += counts;
	return __libc_malloc(bytes);
}

COUNTS void *calloc(size_t n, size_t bytes)
{
	own.allocations += counts;
	return __libc_calloc(n, bytes);
}

COUNTS void *realloc(void *old, size_t bytes)
{
	own.allocations += counts;
	return __libc_realloc(old, bytes);
}

#if defined(__x86_64__)
#define SECOND_ARGUMENT(c) ((c)->uc_mcontext.gregs[REG_RSI])
#define RESULT(c) ((c)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define SECOND_ARGUMENT(c) ((c)->uc_mcontext.regs[1])
#define RESULT(c) (*(long long *)&(c)->uc_mcontext.regs[0])
#endif

static bool is_wait(int futex_op)
{
	futex_op &= FUTEX_CMD_MASK;
	return futex_op == FUTEX_WAIT || futex_op == FUTEX_WAIT_BITSET;
}

/* Counts a system call of a thread with the filter, and makes it fail; a futex call fails in a way
 * that the C library tolerates. */
static void on_system_call(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	own.system_calls += counts;
	if (info->si_syscall != SYS_futex)
		RESULT(c) = -ENOSYS;
	else
		RESULT(c) = is_wait((int)SECOND_ARGUMENT(c)) ? -EAGAIN : -EINVAL;
}

#define ALLOWS(call, behind) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, behind, 0)

/* From now on each system call of this thread raises a signal. Exit is still allowed, and so are
 * the calls of malloc(), which is counted separately, and reading the clock, which the driver model
 * does too. */
static bool forbid_system_calls(void)
{
	const struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOWS(rt_sigreturn, 5),
		ALLOWS(exit, 4),
		ALLOWS(brk, 3),
		ALLOWS(mprotect, 2),
		ALLOWS(clock_gettime, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_SIZE(rules), (struct sock_filter *)(void *)rules};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- launching */

static void launch(void *stream)
{
	int number = 1;
	void *pointer = NULL, *params[] = {&number, &pointer};

	cuLaunchKernel((void *)0x2000, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
	own.launches += counts;
}

static void launch_all(int launches, void *const *streams, size_t n)
{
	for (int i = 0; i < launches; i++)
		for (size_t k = 0; k < n; k++)
			launch(streams[k]);
}

static void add_count(unsigned *to, unsigned n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void *work(void *shared)
{
	static const struct timespec a_while = {0, 300000000};
	void *streams[] = {shared, NULL, NULL};
	unsigned contexts, events;

	cuStreamCreate(&streams[1], 1);
	launch_all(WARM_UP, streams, ARRAY_SIZE(streams));
	/* No operation ends before the last thread arrives. */
	if (pthread_barrier_wait(&launched) == PTHREAD_BARRIER_SERIAL_THREAD)
		streams_driver_hold(0);
	for (size_t k = 0; k < ARRAY_SIZE(streams); k++)
		cuStreamSynchronize(streams[k]);
	nanosleep(&a_while, NULL);
	if (!forbid_system_calls())
		__atomic_store_n(&no_filter, true, __ATOMIC_RELAXED);
	contexts = streams_driver_contexts();
	events = streams_driver_events();
	counts = true;
	launch_all(LAUNCHES, streams, ARRAY_SIZE(streams));
	counts = false;
	add_count(&all.contexts, streams_driver_contexts() - contexts);
	add_count(&all.events, streams_driver_events() - events);
	add_count(&all.launches, own.launches);
	add_count(&all.mutexes, own.mutexes);
	add_count(&all.allocations, own.allocations);
	add_count(&all.system_calls, own.system_calls);
	return NULL;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO};
	pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[THREADS];
	void *shared;

	sigaction(SIGSYS, &action, NULL);
	pthread_mutex_lock(&first);
	cuInit(0);
	cuStreamCreate(&shared, 1);
	streams_driver_hold(1);
	pthread_barrier_init(&launched, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, shared);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("launches %u mutexes %u allocations %u contexts %u events %u ", all.launches,
	       all.mutexes, all.allocations, all.contexts, all.events);
	if (no_filter)
		puts("system calls not counted");
	else
		printf("system calls %u\n", all.system_calls);
	return 0;
}
