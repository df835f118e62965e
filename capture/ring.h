/* SPDX-License-Identifier: Apache-2.0 */

/* What a traced program and its recorder share: files in a session folder on a memory file system,
 * named by $GPUCAPTURE_SESSION. The recorder makes the folder (0700) and `control`; a traced thread
 * makes its `ring-PID-NUMBER`; contents too big for a ring are files `blob-HASH` (32 hex digits).
 * Nobody but the recorder removes anything, so nothing is lost when a program is killed.
 *
 * A ring has one producer, a thread, and one consumer. `head` and `tail` count bytes ever written
 * and read; byte k of them lies at data_offset + k % data_bytes. Between them stand whole records
 * (capture/record.h), in order. The producer stores `head` with release order once a record is
 * complete; the consumer `tail` once it has copied one. A full ring: the producer sleeps in short
 * turns while the recorder's heart beats, and drops the record and counts it when it has not done
 * so for CAP_PATIENCE_NS of such turns. The consumer takes nothing here for granted: the traced
 * program may scribble.
 *
 * Pausing. A thread records calls while `paused` of its ring is 0 (a new ring begins with that of
 * the control page), and its process is inside the window of iterations. While paused these still
 * come: calls that make or end objects (record.h: CAP_CALL_ALWAYS), ranges and marks, facts, names.
 *
 * The window. Recording starts unpaused. A process that calls gputrace_mark_iteration() applies
 * first_iteration..last_iteration itself: its k-th mark (from 0) begins iteration k. One that does
 * not (NVTX, repetition) records all. Either way the recorder drops what lies outside.
 */
#pragma once

#include "formats/trace/origin.h"

#include <stdint.h>

#define CAP_SESSION_VARIABLE "GPUCAPTURE_SESSION"
#define CAP_FOLDER_BYTES 256	      /* that its value may have, with the zero byte */
#define CAP_MAGIC 0x31676e6972706163u /* "capring1" */
#define CAP_VERSION 6
#define CAP_LINE 128 /* apart enough for two cores not to take turns at it */
#define CAP_PATIENCE_NS INT64_C(10000000000)
#define CAP_MIN_RING_BYTES (64u << 10)
#define CAP_MAX_RING_BYTES (1u << 30)

enum cap_clock_kind {
	CAP_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC, ns */
	CAP_CLOCK_TSC,	     /* the processor's counter: capture/clock.h turns it into it */
	CAP_CLOCK_VIRTUAL,   /* gpuemu_host_ns() of an emulated driver, ns */
};

enum cap_digest_level { CAP_DIGEST_NONE, CAP_DIGEST_COMM, CAP_DIGEST_STEP, CAP_DIGEST_LAUNCH };

/* The file `control`: CAP_CONTROL_BYTES, mapped by all. */
#define CAP_CONTROL_BYTES 4096
struct cap_control {
	/* Set before the first program starts. */
	uint64_t magic;
	uint32_t version;
	uint32_t clock;	       /* enum cap_clock_kind: MONOTONIC or TSC; a ring may say VIRTUAL */
	uint32_t digest_level; /* enum cap_digest_level */
	uint32_t device_times; /* how many operations of a stream may wait for theirs; 0: off */
	uint32_t node_times;   /* 1: of each node of a graph, too */
	uint32_t embed_images; /* 1: every code image as a blob, also what lies in a file */
	int32_t recorder_pid;
	int64_t first_iteration, last_iteration; /* the window; -1: all */
	int64_t first_payload, last_payload;	 /* iterations whose contents are kept; -1: none */
	uint64_t ring_bytes; /* of data in a new ring, at most: a power of two, MIN to MAX_... */
	struct fmt_origin origin; /* of CLOCK_MONOTONIC, and which part of the run it is */

	/* By the recorder, while programs run. */
	_Alignas(CAP_LINE) uint32_t paused;
	_Alignas(CAP_LINE) int64_t
		heartbeat_ns; /* CLOCK_MONOTONIC, every 200 ms at least; 0: gone */

	/* By programs, atomically. */
	_Alignas(CAP_LINE) uint32_t n_rings; /* the number of the next ring; also after failures */
	uint32_t failed_rings;	/* threads that got no ring: no room, no file descriptor */
	uint64_t no_ring_calls; /* calls of such threads: not recorded */
	uint64_t forked_calls;	/* calls of forked children that went on with their parent's CUDA */
	int32_t failed_errno;	/* why the last thread got no ring */
	uint32_t n_processes;	/* that have loaded the library */
	uint32_t failed_blobs;	/* contents that could not be stored */
};

enum cap_state {
	CAP_LIVE,	    /* also: the process was killed; its pid is gone */
	CAP_THREAD_ENDED,   /* nothing more will come */
	CAP_PROCESS_EXITED, /* exit() or _exit() was called */
	CAP_PROCESS_ABORTED,
	CAP_PROCESS_EXECED, /* one of the exec functions: the pid may live on */
};

/* The head of a ring file; the data follow at data_offset. */
#define CAP_RING_HEADER_BYTES 4096
struct cap_ring {
	/* By the thread, before `magic` becomes visible. */
	uint64_t magic;
	uint32_t version;
	uint32_t number; /* unique in the session; the top bits of the ids of its calls */
	int32_t pid, tid;
	uint64_t process_start; /* field 22 of /proc/PID/stat: tells a pid from its next user */
	uint64_t data_offset, data_bytes;
	uint32_t clock; /* enum cap_clock_kind of its calls and ranges */
	uint32_t spare;
	char thread_name[16];

	/* By the thread. */
	_Alignas(CAP_LINE) uint64_t head;
	uint32_t current_api; /* 1 + index of the call that is being executed; 0: none */
	uint32_t state;	      /* enum cap_state */
	uint64_t last_call;   /* the id of the call that was begun last; 0: none */
	uint64_t lost_records, lost_bytes; /* since the ring was made; see also CAP_LOST */

	/* By the recorder. */
	_Alignas(CAP_LINE) uint64_t tail;
	_Alignas(CAP_LINE) uint32_t paused;
};

/* A call's id: the ring's number and the ordinal of the call in its thread, given at its entry. */
#define CAP_ORDINAL_BITS 40
static inline uint32_t cap_id_ring(uint64_t id)
{
	return (uint32_t)(id >> CAP_ORDINAL_BITS);
}

static inline uint64_t cap_id_ordinal(uint64_t id)
{
	return id & ((UINT64_C(1) << CAP_ORDINAL_BITS) - 1);
}
