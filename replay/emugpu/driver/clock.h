/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual time, as the program's threads see it.
 *
 * Each thread has a clock in virtual nanoseconds since the run began (run.h). Its own work between
 * calls moves it by the CPU time that it took (so that more threads than cores do not slow each
 * other), divided by the host's speed; a call moves it by what such a call costs on a real machine,
 * and a call that waits moves it to the end of what it waited for. What the emulation itself burns
 * does not count, nor what is done aside. A process starts where its parent is.
 *
 * Reading the CPU clock costs half a microsecond, so intervals shorter than EMU_SHORT_NS are
 * measured by the monotonic clock, which costs a twentieth of it: a thread that loses its core does
 * so for longer. With --pace, real time passes between calls, and a call takes its virtual time in
 * real time.
 */
#pragma once

#include "base/scope.h"
#include "replay/engine/moment.h"

#include <stdint.h>

#define EMU_SHORT_NS 4000

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
	int64_t left_ns;     /* monotonic: to which its work has been counted; 0: it never was */
	int64_t settled_ns;  /* CPU clock of the thread when it was last read */
	int64_t measured_ns; /* since then, by the monotonic clock */
	int depth;	     /* of calls within calls */
	int aside;	     /* gpuemu_aside_begin() without its end */
	enum emu_call call;
	int capture_mode; /* CUstreamCaptureMode */
	int polls;	  /* queries in a row that found work of the host outstanding */
	int n_contexts;
	struct emu_context *contexts[EMU_CONTEXT_STACK]; /* the last is current */
};

/* The calling thread's; valid as long as the thread. */
struct emu_thread *emu_enter(enum emu_call call);
void emu_leave(struct emu_thread **self);

/* Stands at the top of each public function: declares `self`. */
#define EMU_ENTER(call)                                                                            \
	scoped(emu_leave) __attribute__((unused)) struct emu_thread *self = emu_enter(call)

/* The thread goes on no earlier than lag_ns after end_ns. */
static inline void emu_wait(struct emu_thread *self, int64_t end_ns, int64_t lag_ns)
{
	self->now_ns = moment_wait(self->now_ns, end_ns, lag_ns);
}

/* CPU time of the calling thread, scaled by the host's speed. */
int64_t emu_work_ns(void);

/* The latest clock of all threads, to within EMU_SHORT_NS. */
int64_t emu_horizon_ns(void);

/* The row of the calling process in its run; outside a run, memory of its own. */
struct emu_run_process *emu_clock_process(void);

/* What calls cost; set before the first that costs anything. */
void emu_clock_costs(const int64_t costs_ns[EMU_CALLS]);

/* ---- exported, for whoever else keeps a clock ---- */

/* The calling thread's clock now; in a call, when the call began or what it has waited for. About
 * 30 ns. */
uint64_t gpuemu_host_ns(void);

/* The thread's CPU time between the two does not move its clock: a recorder's own work. They nest;
 * calls made in between still cost theirs. */
void gpuemu_aside_begin(void);
void gpuemu_aside_end(void);

/* For threads/handover.c: the thread goes on no earlier than that; and what the thread starts, as a
 * process, begins no earlier than now. */
void gpuemu_thread_not_before(int64_t ns);
void gpuemu_thread_hands_on(void);
