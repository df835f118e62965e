/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual time, as the program's threads see it.
 *
 * Each thread has a clock in virtual nanoseconds since the driver was initialised. Its own work
 * between calls moves it by the CPU time that it took (so that more threads than cores do not slow
 * each other), divided by the host's speed; a call moves it by what such a call costs on a real
 * machine, and a call that waits moves it to the end of what it waited for. What the emulation
 * itself burns does not count.
 *
 * Reading the CPU clock costs half a microsecond, so intervals shorter than EMU_SHORT_NS are
 * measured by the monotonic clock, which costs a twentieth of it: a thread that loses its core does
 * so for longer. With --pace, real time passes between calls, and a call takes its virtual time in
 * real time.
 */
#pragma once

#include "base/scope.h"

#include <stdint.h>

#define EMU_SHORT_NS 20000

/* What a call costs the host; by the model of the GPU. */
enum emu_call {
	EMU_CALL_FREE, /* takes no time worth counting */
	EMU_CALL_QUERY,
	EMU_CALL_EVENT,
	EMU_CALL_LAUNCH,
	EMU_CALL_COPY,
	EMU_CALL_MALLOC,
	EMU_CALLS,
};

struct emu_context;

#define EMU_CONTEXT_STACK 64

struct emu_thread {
	int64_t now_ns;	     /* the thread's clock */
	int64_t before_ns;   /* its clock when that call began */
	int64_t entered_ns;  /* monotonic: the call that is being served */
	int64_t left_ns;     /* monotonic: end of the last call; 0 before the first */
	int64_t settled_ns;  /* CPU clock of the thread when it was last read */
	int64_t measured_ns; /* since then, by the monotonic clock */
	int started;	     /* another thread has handed it a clock */
	int depth;	     /* of calls within calls */
	enum emu_call call;
	int capture_mode; /* CUstreamCaptureMode */
	int n_contexts;
	struct emu_context *contexts[EMU_CONTEXT_STACK]; /* the last is current */
};

/* The calling thread's; valid as long as the thread. */
struct emu_thread *emu_enter(enum emu_call call);
void emu_leave(struct emu_thread **self);

/* Stands at the top of each public function: declares `self`. */
#define EMU_ENTER(call)                                                                            \
	scoped(emu_leave) __attribute__((unused)) struct emu_thread *self = emu_enter(call)

static inline void emu_advance_to(struct emu_thread *self, int64_t ns)
{
	if (ns > self->now_ns)
		self->now_ns = ns;
}

/* CPU time of the calling thread, scaled by the host's speed. */
int64_t emu_work_ns(void);

/* The latest clock of all threads, to within EMU_SHORT_NS. */
int64_t emu_horizon_ns(void);

/* Set before the first call: $GPUEMU_HOST_SPEED, $GPUEMU_PACE, and the costs of calls. */
void emu_clock_init(double host_speed, int pace, const int64_t costs_ns[EMU_CALLS]);

/* For threads/handover.c, exported: the calling thread's clock, and moving it. */
int64_t gpuemu_thread_clock(void);
void gpuemu_thread_not_before(int64_t ns);
