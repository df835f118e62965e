/* SPDX-License-Identifier: Apache-2.0 */

#include "replay/emugpu/threads/timeouts.h"
#include "base/host.h"
#include "replay/emugpu/refuse.h"
#include "replay/emugpu/threads/clock.h"
#include "replay/emugpu/threads/real.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define MILLISECOND INT64_C(1000000)
#define SECOND INT64_C(1000000000)

/* A wait as short as Python's for the interpreter lock (5 ms) is not a deadline: on a busy host,
 * the thread that holds the lock may take longer to run. */
#define SHORT (5 * MILLISECOND)

/* After this time without progress, no other thread runs: real time-outs guard against hangs. */
#define STUCK SECOND

/* The latest virtual time of the run. */
static int64_t horizon_ns(void)
{
	static void *found;
	int64_t (*horizon)(void) =
		(int64_t(*)(void))emu_driver_function(&found, "gpuemu_horizon_ns");

	return horizon ? horizon() : 0;
}

struct emu_timeout emu_timeout_begin(int64_t ns, int is_virtual)
{
	struct emu_timeout t = {.ns = is_virtual ? ns : -1};

	if (t.ns < 0)
		return t;
	t.began_ns = emu_now_ns();
	if (emu_clock_paced()) { /* real time counts by itself */
		t.ns = -1;
		return t;
	}
	t.real_ns = host_clock_ns(CLOCK_MONOTONIC);
	t.cpu_ns = host_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	t.horizon_ns = horizon_ns();
	return t;
}

/* Returns 1 if `horizon` has not changed for a while. */
static int is_stuck(int64_t horizon)
{
	static int64_t last, since_ns;
	int64_t now = host_clock_ns(CLOCK_MONOTONIC);

	if (__atomic_exchange_n(&last, horizon, __ATOMIC_RELAXED) != horizon ||
	    __atomic_load_n(&since_ns, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&since_ns, now, __ATOMIC_RELAXED);
	return now - __atomic_load_n(&since_ns, __ATOMIC_RELAXED) > STUCK;
}

void emu_timeout_end(const struct emu_timeout *t)
{
	int64_t took = host_clock_ns(CLOCK_MONOTONIC) - t->real_ns, horizon, end;
	int saved = errno;

	if (t->ns < 0)
		return;
	horizon = horizon_ns();
	end = t->began_ns + t->ns;
	if (end > horizon && !is_stuck(horizon) &&
	    (t->ns <= SHORT || horizon != t->horizon_ns ||
	     host_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - t->cpu_ns > took / 10))
		end = horizon;
	emu_not_before(end);
	errno = saved;
}

/* Ends a sleep. If other threads and processes are slower than in real time, it ends when the first
 * of them reaches the time, or nothing progresses any more. */
static void end_sleep(const struct emu_timeout *t)
{
	int64_t end = t->began_ns + t->ns, quiet = 0, seen = t->horizon_ns, waited = 0;
	int64_t enough = t->ns / 2 < 50 * MILLISECOND ? t->ns / 2 : 50 * MILLISECOND;
	int64_t slice = enough < 5 * MILLISECOND ? enough : 5 * MILLISECOND, now;
	int saved = errno;

	if (t->ns < 0)
		return;
	while ((now = horizon_ns()) < end && now && quiet < enough && waited < STUCK) {
		quiet = now == seen ? quiet + slice : 0;
		seen = now;
		waited += slice;
		syscall(SYS_nanosleep, &(struct timespec){0, slice}, NULL);
	}
	emu_not_before(end);
	errno = saved;
}

/* ---- sleeps ---- */

EMU_API int nanosleep(const struct timespec *time, struct timespec *rest)
{
	REAL(nanosleep, NULL);
	struct emu_timeout t = emu_timeout_begin(time ? emu_timespec_ns(time) : -1, EMU_VIRTUAL());
	int r = real(time, rest);

	if (r == 0)
		end_sleep(&t);
	return r;
}

EMU_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			    struct timespec *rest)
{
	REAL(clock_nanosleep, NULL);
	struct emu_timeout t;
	struct timespec wait;
	int64_t ns;
	int r;

	if (!time || !emu_clock_shows_time(clock) || !EMU_VIRTUAL())
		return real(clock, flags, time, rest);
	ns = emu_timespec_ns(time) - (flags & TIMER_ABSTIME ? emu_clock_ns(clock) : 0);
	if (ns <= 0)
		return 0;
	t = emu_timeout_begin(ns, 1);
	wait = emu_timespec(ns);
	r = real(clock, 0, &wait, flags & TIMER_ABSTIME ? NULL : rest);
	if (r == 0)
		end_sleep(&t);
	return r;
}

EMU_API int usleep(useconds_t us)
{
	REAL(usleep, NULL);
	struct emu_timeout t = emu_timeout_begin((int64_t)us * 1000, EMU_VIRTUAL());
	int r = real(us);

	if (r == 0)
		end_sleep(&t);
	return r;
}

EMU_API unsigned sleep(unsigned seconds)
{
	REAL(sleep, NULL);
	struct emu_timeout t = emu_timeout_begin(seconds * SECOND, EMU_VIRTUAL());
	unsigned rest = real(seconds);

	if (rest == 0)
		end_sleep(&t);
	return rest;
}

/* ---- files: a result of 0 means timed out ---- */

static int end_poll(int r, const struct emu_timeout *t)
{
	if (r == 0)
		emu_timeout_end(t);
	return r;
}

EMU_API int poll(struct pollfd *files_, nfds_t n, int ms)
{
	REAL(poll, NULL);
	struct emu_timeout t = emu_timeout_begin(ms * MILLISECOND, EMU_VIRTUAL());

	return end_poll(real(files_, n, ms), &t);
}

EMU_API int ppoll(struct pollfd *files_, nfds_t n, const struct timespec *most,
		  const sigset_t *mask)
{
	REAL(ppoll, NULL);
	struct emu_timeout t = emu_timeout_begin(most ? emu_timespec_ns(most) : -1, EMU_VIRTUAL());

	return end_poll(real(files_, n, most, mask), &t);
}

EMU_API int select(int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *most)
{
	REAL(select, NULL);
	struct emu_timeout t = emu_timeout_begin(
		most ? most->tv_sec * SECOND + most->tv_usec * 1000 : -1, EMU_VIRTUAL());

	return end_poll(real(n, in, out, other, most), &t);
}

EMU_API int pselect(int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *most,
		    const sigset_t *mask)
{
	REAL(pselect, NULL);
	struct emu_timeout t = emu_timeout_begin(most ? emu_timespec_ns(most) : -1, EMU_VIRTUAL());

	return end_poll(real(n, in, out, other, most, mask), &t);
}

EMU_API int epoll_wait(int epoll, struct epoll_event *ret, int n, int ms)
{
	REAL(epoll_wait, NULL);
	struct emu_timeout t = emu_timeout_begin(ms * MILLISECOND, EMU_VIRTUAL());

	return end_poll(real(epoll, ret, n, ms), &t);
}

EMU_API int epoll_pwait(int epoll, struct epoll_event *ret, int n, int ms, const sigset_t *mask)
{
	REAL(epoll_pwait, NULL);
	struct emu_timeout t = emu_timeout_begin(ms * MILLISECOND, EMU_VIRTUAL());

	return end_poll(real(epoll, ret, n, ms, mask), &t);
}
