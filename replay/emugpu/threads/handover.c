/* SPDX-License-Identifier: Apache-2.0 */

/* Passes emulated clocks from thread to thread. `gpuemu` preloads these versions of libpthread's
 * functions: a new thread starts at its creator's clock; a thread that waits for a thread,
 * condition, barrier or semaphore continues no earlier than the clock of the thread that released
 * it. Uncontended locks pass no clock. */
#include "replay/emugpu/refuse.h"
#include "replay/emugpu/threads/clock.h"
#include "replay/emugpu/threads/real.h"
#include "replay/emugpu/threads/timeouts.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void hands_on(void)
{
	static void *found;
	void (*publish)(void) =
		(void (*)(void))emu_driver_function(&found, "gpuemu_thread_hands_on");

	if (publish)
		publish();
}

#if defined(__x86_64__)
#define CONDITIONS "GLIBC_2.3.2"
#define SPAWN "GLIBC_2.15"
#else
#define CONDITIONS NULL
#define SPAWN NULL
#endif

/* ---- last release by address: the latest of all addresses in a slot ---- */

#define SLOTS 4096

static int64_t slots[SLOTS];

static int64_t *slot_of(const void *p)
{
	return &slots[((uintptr_t)p * 0x9e3779b97f4a7c15u) >> 52];
}

static void release_waiters(const void *p)
{
	__atomic_store_n(slot_of(p), emu_now_ns(), __ATOMIC_RELEASE);
}

static void resume_waiter(const void *p)
{
	emu_not_before(__atomic_load_n(slot_of(p), __ATOMIC_ACQUIRE));
}

/* ---- threads ---- */

struct start {
	void *(*run)(void *);
	void *arg;
	int64_t now_ns;
};

static void release_joiners(void *unused)
{
	release_waiters((const void *)(uintptr_t)pthread_self());
}

static void *begin_thread(void *arg)
{
	struct start s = *(struct start *)arg;
	void *r;

	free(arg);
	emu_not_before(s.now_ns);
	pthread_cleanup_push(release_joiners, NULL);
	r = s.run(s.arg);
	pthread_cleanup_pop(1);
	return r;
}

EMU_API int pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
			   void *arg)
{
	REAL(pthread_create, NULL);
	struct start *s = malloc(sizeof(*s));
	int r;

	if (!s)
		return EAGAIN;
	*s = (struct start){run, arg, emu_now_ns()};
	r = real(ret, attributes, begin_thread, s);
	if (r != 0)
		free(s);
	return r;
}

EMU_API int pthread_join(pthread_t thread, void **ret)
{
	REAL(pthread_join, NULL);
	int r = real(thread, ret);

	if (r == 0)
		resume_waiter((const void *)(uintptr_t)thread);
	return r;
}

/* ---- processes: the driver notices fork(), but not these ---- */

EMU_API int posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[],
			char *const environment[])
{
	REAL(posix_spawn, SPAWN);
	hands_on();
	return real(ret, path, actions, attributes, argv, environment);
}

EMU_API int posix_spawnp(pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attributes, char *const argv[],
			 char *const environment[])
{
	REAL(posix_spawnp, SPAWN);
	hands_on();
	return real(ret, file, actions, attributes, argv, environment);
}

EMU_API int system(const char *command)
{
	REAL(system, NULL);
	hands_on();
	return real(command);
}

EMU_API FILE *popen(const char *command, const char *mode)
{
	REAL(popen, NULL);
	hands_on();
	return real(command, mode);
}

#if defined(__x86_64__)
/* The child of vfork() returns through its caller's frame, so this function may not have a frame:
 * it jumps to the real vfork(). */
__attribute__((used)) static void *real_vfork(void)
{
	static void *found;

	hands_on();
	return emu_resolve_once(&found, emu_next_symbol, "vfork", NULL);
}

__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	call real_vfork\n"
	"	addq $8, %rsp\n"
	"	jmp *%rax\n"
	".size vfork, .-vfork\n");
#endif

/* ---- conditions ---- */

EMU_API int pthread_cond_signal(pthread_cond_t *c)
{
	REAL(pthread_cond_signal, CONDITIONS);
	release_waiters(c);
	return real(c);
}

EMU_API int pthread_cond_broadcast(pthread_cond_t *c)
{
	REAL(pthread_cond_broadcast, CONDITIONS);
	release_waiters(c);
	return real(c);
}

EMU_API int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	REAL(pthread_cond_wait, CONDITIONS);
	int r = real(c, m);

	resume_waiter(c);
	return r;
}

/* A wait until a time given by the program. */
struct timed {
	struct emu_timeout timeout;
	struct timespec until; /* in real time */
};

/* Returns the time until then, by the nearer clock: a condition does not reveal its clock, and the
 * zeros of the clocks are decades apart. 0 if it has passed. */
static int64_t time_until(const struct timespec *until)
{
	int64_t t = emu_timespec_ns(until);
	int64_t boot = t - emu_clock_ns(CLOCK_MONOTONIC), day = t - emu_clock_ns(CLOCK_REALTIME);
	int64_t nearer = llabs(boot) < llabs(day) ? boot : day;

	return nearer > 0 ? nearer : 0;
}

static struct timed begin_timed(const struct timespec *until, int is_virtual)
{
	if (!is_virtual)
		return (struct timed){emu_timeout_begin(-1, 0), *until};
	return (struct timed){emu_timeout_begin(time_until(until), 1), emu_clock_real(until)};
}

static void end_timed(const struct timed *t, const void *p, int timed_out)
{
	if (timed_out)
		emu_timeout_end(&t->timeout);
	else
		resume_waiter(p);
}

EMU_API int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				   const struct timespec *until)
{
	REAL(pthread_cond_timedwait, CONDITIONS);
	struct timed t = begin_timed(until, EMU_VIRTUAL());
	int r = real(c, m, &t.until);

	end_timed(&t, c, r == ETIMEDOUT);
	return r;
}

EMU_API int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				   const struct timespec *until)
{
	REAL(pthread_cond_clockwait, NULL);
	struct timed t = begin_timed(until, EMU_VIRTUAL());
	int r = real(c, m, clock, &t.until);

	end_timed(&t, c, r == ETIMEDOUT);
	return r;
}

EMU_API int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	REAL(pthread_mutex_timedlock, NULL);
	struct timed t = begin_timed(until, EMU_VIRTUAL());
	int r = real(m, &t.until);

	if (r == ETIMEDOUT)
		end_timed(&t, m, 1);
	return r;
}

/* ---- barriers and semaphores ---- */

EMU_API int pthread_barrier_wait(pthread_barrier_t *b)
{
	REAL(pthread_barrier_wait, NULL);
	int64_t *at = slot_of(b), now = emu_now_ns(), seen = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	while (seen < now &&
	       !__atomic_compare_exchange_n(at, &seen, now, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	int r = real(b);

	resume_waiter(b);
	return r;
}

EMU_API int sem_post(sem_t *s)
{
	REAL(sem_post, NULL);
	release_waiters(s);
	return real(s);
}

EMU_API int sem_wait(sem_t *s)
{
	REAL(sem_wait, NULL);
	int r = real(s);

	if (r == 0)
		resume_waiter(s);
	return r;
}

EMU_API int sem_timedwait(sem_t *s, const struct timespec *until)
{
	REAL(sem_timedwait, NULL);
	struct timed t = begin_timed(until, EMU_VIRTUAL());
	int r = real(s, &t.until);

	if (r == 0 || errno == ETIMEDOUT)
		end_timed(&t, s, r != 0);
	return r;
}

EMU_API int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
	REAL(sem_clockwait, NULL);
	struct timed t = begin_timed(until, EMU_VIRTUAL());
	int r = real(s, clock, &t.until);

	if (r == 0 || errno == ETIMEDOUT)
		end_timed(&t, s, r != 0);
	return r;
}
