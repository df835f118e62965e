/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual time of the program's threads.
 *
 * Each thread has a clock in virtual nanoseconds since the start of the run (run.h). Work between
 * calls advances the clock by the CPU time used, divided by the host's speed; with CPU time,
 * threads that share a core do not slow each other down. A call advances the clock by its duration
 * on a real machine; a waiting call, to the end of the wait. Time used by the emulation itself, and
 * time in a clock pause, does not count. A process starts at the clock of its parent.
 *
 * Reading the CPU clock takes half a microsecond, the monotonic clock a twentieth of that. So
 * intervals shorter than EMU_SHORT_NS are measured by the monotonic clock: a thread that is
 * preempted pauses for longer. With --pace, real time passes between calls, and a call takes its
 * virtual duration in real time. */
#pragma once

#include "base/scope.h"
#include "replay/clock/moment.h"

#include <stdint.h>

#define EMU_SHORT_NS 4000

/* Classes of calls by host duration, which the GPU model defines. */
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
	int64_t left_ns;     /* monotonic clock up to which work is counted; 0: not started */
	int64_t cpu_ns;	     /* CPU clock of the thread when it was last read */
	int64_t measured_ns; /* time counted since then by the monotonic clock */
	int depth;	     /* of nested calls */
	int paused;	     /* clock pauses in progress (they nest) */
	enum emu_call call;
	int capture_mode; /* CUstreamCaptureMode */
	int polls;	  /* consecutive queries that found host work outstanding */
	int polled;	  /* the last call was such a query, and the clock was not read since */
	int64_t polls_from_ns; /* clock at the first of consecutive queries; 0: none */
	int64_t polled_ns;     /* clock at the last query */
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

/* For queries: returns 1 if the thread's clock has reached end_ns. A thread that only polls would
 * use CPU time to get there, so each of its queries advances the clock by an eighth of the time
 * that it has been polling, to end_ns at most. In a clock pause, a query does not advance the
 * clock. */
int emu_poll(struct emu_thread *self, int64_t end_ns);

/* Returns the latest clock of all threads, accurate to EMU_SHORT_NS. */
int64_t emu_horizon_ns(void);

/* Returns the calling process's row in the run; without gpuemu, private memory. */
struct emu_run_process *emu_clock_process(void);

/* Sets the host duration of each class of calls, in cuInit. */
void emu_clock_costs(const int64_t costs_ns[EMU_CALLS]);

/* ---- exported, for recorders ---- */

/* Returns the calling thread's clock. Within a call: its start, or the end of its last wait. Takes
 * about 30 ns. */
uint64_t gpuemu_host_ns(void);

/* Start and end a clock pause, for a recorder's own work: the thread's work in between does not
 * advance its clock. Pauses nest; calls made during a pause still advance the clock. */
void gpuemu_clock_pause(void);
void gpuemu_clock_resume(void);

/* For threads/. gpuemu_thread_not_before() advances the thread's clock to `ns`, unless it is
 * already later. gpuemu_thread_hands_on() makes processes that the thread starts begin no earlier
 * than now. */
void gpuemu_thread_not_before(int64_t ns);
void gpuemu_thread_hands_on(void);

/* Begin and end a collective call of MPI, in which virtual time does not pass: at its end, the
 * thread's clock is the latest of those that have entered the call with this number. Processes
 * number their calls. */
uint64_t gpuemu_collective_enter(void);
void gpuemu_collective_leave(uint64_t number);

/* Returns the latest clock of the run's processes that use GPUs; 0 if not found. */
int64_t gpuemu_horizon_ns(void);

/* Returns CLOCK_MONOTONIC at the zero of virtual time: when gpuemu started the program. */
int64_t gpuemu_zero_ns(void);
