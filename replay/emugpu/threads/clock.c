/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/threads/clock.h"

#include "replay/emugpu/refuse.h"
#include "replay/emugpu/threads/real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { CLOCKS = 12 };

static struct {
	int is_virtual, is_paced;
	int64_t zero_ns; /* CLOCK_MONOTONIC at the zero of virtual time */
	char folder[4096];
	struct {
		uintptr_t from, to;
	} own[16]; /* address ranges of emulated libraries and recorders */
	int n_own;
	int64_t apart_ns[CLOCKS]; /* from CLOCK_MONOTONIC; 0: unknown */
} state;

static int64_t real_ns(clockid_t clock)
{
	REAL(clock_gettime, NULL);
	struct timespec t = {0};

	real(clock, &t);
	return emu_timespec_ns(&t);
}

/* Libraries in this library's folder, and the capture library. */
static int note_own_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *name = strrchr(info->dlpi_name, '/');
	size_t folder = name ? (size_t)(name - info->dlpi_name) : 0;
	int n = state.n_own;

	if (!name || n == sizeof(state.own) / sizeof(state.own[0]) ||
	    (strncmp(name, "/libgpucapture.so", 17) != 0 &&
	     (folder != strlen(state.folder) ||
	      strncmp(state.folder, info->dlpi_name, folder) != 0)))
		return 0;
	state.own[n].from = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		if (from < state.own[n].from)
			state.own[n].from = from;
		if (from + info->dlpi_phdr[i].p_memsz > state.own[n].to)
			state.own[n].to = from + info->dlpi_phdr[i].p_memsz;
	}
	state.n_own++;
	return 0;
}

/* Runs before main(); until then, time is real. All own libraries are preloaded. Time stays real if
 * another library interposes before this one, as sanitizers do, because it hides the caller. */
__attribute__((constructor)) static void start_clock(void)
{
	static void *found;
	int64_t (*zero)(void) = (int64_t(*)(void))emu_driver_function(&found, "gpuemu_zero_ns");
	const char *want = getenv("GPUEMU_CLOCK"), *paced = getenv("GPUEMU_PACE"), *end;
	Dl_info about, first;

	if (!zero || (want && strcmp(want, "real") == 0) || !dladdr((void *)start_clock, &about) ||
	    !dladdr(dlsym(RTLD_DEFAULT, "clock_gettime"), &first) ||
	    first.dli_fbase != about.dli_fbase || !(end = strrchr(about.dli_fname, '/')) ||
	    (size_t)(end - about.dli_fname) >= sizeof(state.folder))
		return;
	memcpy(state.folder, about.dli_fname, (size_t)(end - about.dli_fname));
	dl_iterate_phdr(note_own_library, NULL);
	state.zero_ns = zero();
	state.is_paced = paced && strcmp(paced, "1") == 0;
	__atomic_store_n(&state.is_virtual, 1, __ATOMIC_RELEASE);
}

int emu_clock_virtual(const void *caller)
{
	if (!__atomic_load_n(&state.is_virtual, __ATOMIC_ACQUIRE))
		return 0;
	for (int i = 0; i < state.n_own; i++)
		if ((uintptr_t)caller >= state.own[i].from && (uintptr_t)caller < state.own[i].to)
			return 0;
	return 1;
}

int emu_clock_paced(void)
{
	return state.is_paced;
}

int emu_clock_shows_time(clockid_t clock)
{
	return clock == CLOCK_REALTIME || (clock >= CLOCK_MONOTONIC_RAW && clock < CLOCKS) ||
	       clock == CLOCK_MONOTONIC;
}

int64_t emu_clock_ns(clockid_t clock)
{
	int64_t apart = 0;

	if (clock != CLOCK_MONOTONIC) {
		apart = __atomic_load_n(&state.apart_ns[clock], __ATOMIC_RELAXED);
		if (apart == 0) {
			apart = real_ns(clock) - real_ns(CLOCK_MONOTONIC);
			__atomic_store_n(&state.apart_ns[clock], apart, __ATOMIC_RELAXED);
		}
	}
	return apart + state.zero_ns + emu_now_ns();
}

struct timespec emu_clock_real(const struct timespec *until)
{
	int64_t ahead = state.zero_ns + emu_now_ns() - real_ns(CLOCK_MONOTONIC);

	return emu_timespec(emu_timespec_ns(until) - ahead);
}

/* ---- the functions of libc ---- */

EMU_API int clock_gettime(clockid_t clock, struct timespec *ret)
{
	REAL(clock_gettime, NULL);

	if (!emu_clock_shows_time(clock) || !EMU_VIRTUAL())
		return real(clock, ret);
	*ret = emu_timespec(emu_clock_ns(clock));
	return 0;
}

EMU_API int timespec_get(struct timespec *ret, int base)
{
	REAL(timespec_get, NULL);

	if (base != TIME_UTC || !EMU_VIRTUAL())
		return real(ret, base);
	*ret = emu_timespec(emu_clock_ns(CLOCK_REALTIME));
	return base;
}

EMU_API int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	REAL(gettimeofday, NULL);
	int64_t us;

	if (!EMU_VIRTUAL())
		return real(ret, zone);
	us = emu_clock_ns(CLOCK_REALTIME) / 1000;
	*ret = (struct timeval){us / 1000000, us % 1000000};
	return 0;
}

EMU_API time_t time(time_t *ret)
{
	REAL(time, NULL);
	time_t t = EMU_VIRTUAL() ? (time_t)(emu_clock_ns(CLOCK_REALTIME) / 1000000000) : real(NULL);

	if (ret)
		*ret = t;
	return t;
}
