/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual time of the program's threads.
 *
 * Each thread has a clock in virtual nanoseconds since the run began (run.h). The thread's own work
 * between calls advances it by the CPU time used (so that threads which share a core do not slow
 * each other), divided by the host's speed. A call advances it by the duration of such a call on a
 * real machine; a call that waits, to the end of the wait. Time that the emulation itself uses does
 * not count, nor does time in a clock pause. A process starts at the clock of its parent.
 *
 * Reading the CPU clock takes half a microsecond, the monotonic clock a twentieth of that. So
 * intervals shorter than EMU_SHORT_NS are measured by the monotonic clock: a thread that loses its
 * core loses it for longer. With --pace, real time passes between calls, and a call takes its
 * virtual time in real time.
 */
#pragma once

#include "base/scope.h"
#include "replay/engine/moment.h"

#include <stdint.h>

#define EMU_SHORT_NS 4000

/* Classes of calls by the host time they take, which the GPU model sets. */
enum emu_call {
	EMU_CALL_FREE, /* negligible time */
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
	int64_t before_ns;   /* the thread's clock when the current call began */
	int64_t entered_ns;  /* monotonic clock when the current call began */
	int64_t left_ns;     /* monotonic clock up to which own work is counted; 0: not started */
	int64_t cpu_ns;	     /* CPU clock of the thread when it was last read */
	int64_t measured_ns; /* counted since then by the monotonic clock */
	int depth;	     /* of nested calls */
	int paused;	     /* clock pauses in progress (they nest) */
	enum emu_call call;
	int capture_mode; /* CUstreamCaptureMode */
	int polls;	  /* consecutive queries that found host work outstanding */
	int n_contexts;
	struct emu_context *contexts[EMU_CONTEXT_STACK]; /* the last is current */
};

/* Begin and end a call. The result is the calling thread's state, valid as long as the thread. */
struct emu_thread *emu_enter(enum emu_call call);
void emu_leave(struct emu_thread **self);

/* First line of each public function: begins the call and declares `self`. */
#define EMU_ENTER(call)                                                                            \
	scoped(emu_leave) __attribute__((unused)) struct emu_thread *self = emu_enter(call)

/* Advances the thread's clock to lag_ns after end_ns, unless it is later already. */
static inline void emu_wait(struct emu_thread *self, int64_t end_ns, int64_t lag_ns)
{
	self->now_ns = moment_wait(self->now_ns, end_ns, lag_ns);
}

/* The latest clock of all threads, to within EMU_SHORT_NS. */
int64_t emu_horizon_ns(void);

/* The row of the calling process in the run; without gpuemu, private memory. */
struct emu_run_process *emu_clock_process(void);

/* Sets the host time of each class of calls, in cuInit. */
void emu_clock_costs(const int64_t costs_ns[EMU_CALLS]);

/* ---- exported, for recorders ---- */

/* The calling thread's clock now. Within a call: at its begin, or the end of its last wait. About
 * 30 ns. */
uint64_t gpuemu_host_ns(void);

/* A clock pause: the thread's own work between the two does not advance its clock. For a recorder's
 * own work. Pauses nest; calls made during a pause still take their time. */
void gpuemu_clock_pause(void);
void gpuemu_clock_resume(void);

/* For threads/. The first advances the thread's clock to `ns`, unless it is later
 * already. The second makes processes that the thread starts begin no earlier than now. */
void gpuemu_thread_not_before(int64_t ns);
void gpuemu_thread_hands_on(void);

/* The latest clock of the run's processes that use GPUs; 0 if not found. */
int64_t gpuemu_horizon_ns(void);

/* CLOCK_MONOTONIC at the zero of virtual time: when gpuemu started the program. */
int64_t gpuemu_zero_ns(void);
