/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that traced programs share with the recorder: files in a session folder on a memory file
 * system, named by $GPUCAPTURE_SESSION. The recorder creates the folder (0700) and `control`; each
 * traced thread creates a file `ring-PID-NUMBER`; contents too big for a ring are files `blob-HASH`
 * (32 hex digits). Only the recorder removes files, so no data is lost if a program is killed.
 *
 * A ring has one producer, a thread, and one consumer. `head` and `tail` are the numbers of bytes
 * ever written and read; byte k is at data_offset + k % data_bytes. Between tail and head are
 * complete records (formats/raw/record.h), in order. The producer stores `head` with release order
 * when a record is complete, the consumer `tail` when it has copied one. If the ring is full, the
 * producer sleeps for short times while the recorder's heartbeat changes; after CAP_PATIENCE_NS
 * without a change it drops the record and counts it. The consumer validates everything it reads:
 * the traced program may overwrite any byte.
 *
 * Pausing. A thread records calls while `paused` of its ring is 0 (a new ring copies `paused` of
 * the control page) and its process is inside the window of iterations. While paused it still
 * records calls that create or destroy objects (record.h: CAP_CALL_ALWAYS), ranges and instants,
 * facts, names.
 *
 * The window. Recording starts unpaused. A process that calls gputrace_mark_iteration() applies
 * first_iteration..last_iteration itself: its k-th marker (from 0) begins iteration k. Other
 * processes (NVTX, repetition) record everything. In both cases the recorder drops data outside of
 * the window. */
#pragma once

#include "formats/trace/origin.h"

#include <stdint.h>

#define CAP_SESSION_VARIABLE "GPUCAPTURE_SESSION"
#define CAP_FOLDER_BYTES 256	      /* maximum length of its value, including the NUL */
#define CAP_MAGIC 0x31676e6972706163u /* "capring1" */
#define CAP_VERSION 11
#define CAP_LINE 128 /* distance of two cache lines that cores may fetch together */
#define CAP_PATIENCE_NS INT64_C(10000000000)
#define CAP_MIN_RING_BYTES (64u << 10)
#define CAP_MAX_RING_BYTES (1u << 30)

enum cap_clock_kind {
	CAP_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC, ns */
	CAP_CLOCK_TSC,	     /* the time stamp counter; formats/raw/clock.h converts it */
	CAP_CLOCK_VIRTUAL,   /* gpuemu_host_ns() of an emulated driver, ns */
};

enum cap_digest_level { CAP_DIGEST_NONE, CAP_DIGEST_COMM, CAP_DIGEST_STEP, CAP_DIGEST_LAUNCH };

/* The file `control`: CAP_CONTROL_BYTES, mapped by all processes. */
#define CAP_CONTROL_BYTES 4096
struct cap_control {
	/* Set before the first program starts. */
	uint64_t magic;
	uint32_t version;
	uint32_t clock;	       /* enum cap_clock_kind: MONOTONIC or TSC; a ring may say VIRTUAL */
	uint32_t digest_level; /* enum cap_digest_level */
	uint32_t device_times; /* maximum number of operations of a stream with outstanding times;
				  0: off */
	uint32_t embed_images; /* 1: code images are stored as blobs, even those in files */
	int32_t recorder_pid;
	int64_t first_iteration, last_iteration; /* the window; -1: all */
	int64_t first_payload, last_payload; /* iterations whose contents are stored; -1: none */
	uint32_t external_only; /* 1: only contents that come from the host or from other GPUs */
	uint32_t spare;
	int64_t keyframe_every; /* all live memory is stored every N iterations; 0: at the first and
				   last */
	uint64_t ring_bytes; /* maximum data bytes of a new ring: a power of two, CAP_MIN_RING_BYTES
				to CAP_MAX_RING_BYTES */
	struct fmt_origin origin; /* of CLOCK_MONOTONIC, and the part of the run */

	/* Set by the recorder, while programs run. */
	_Alignas(CAP_LINE) uint32_t paused;
	_Alignas(CAP_LINE) int64_t
		heartbeat_ns; /* CLOCK_MONOTONIC, every 200 ms at least; 0: gone */

	/* Set by programs, atomically. */
	_Alignas(CAP_LINE) uint32_t n_rings; /* number of the next ring; also counts failures */
	uint32_t failed_rings;	/* threads without a ring: no space, no file descriptor */
	uint64_t no_ring_calls; /* calls of such threads: not recorded */
	uint64_t forked_calls;	/* calls of forked children whose parent had used CUDA: not recorded
				 */
	int32_t failed_errno;	/* reason why the last thread has no ring */
	uint32_t n_processes;	/* that loaded the library */
	uint32_t failed_blobs;	/* contents that could not be stored */
};

enum cap_state {
	CAP_LIVE,	    /* also: the process was killed, and its pid no longer exists */
	CAP_THREAD_ENDED,   /* no record will follow */
	CAP_PROCESS_EXITED, /* exit() or _exit() was called */
	CAP_PROCESS_ABORTED,
	CAP_PROCESS_EXECED, /* exec was called: the process with this pid may continue */
};

/* The header of a ring file; the data follows at data_offset. */
#define CAP_RING_HEADER_BYTES 4096
struct cap_ring {
	/* Set by the thread, before `magic` becomes visible. */
	uint64_t magic;
	uint32_t version;
	uint32_t number; /* unique in the session; the upper bits of the ids of its calls */
	int32_t pid, tid;
	uint64_t process_start; /* field 22 of /proc/PID/stat: distinguishes reused pids */
	uint64_t data_offset, data_bytes;
	uint32_t clock; /* enum cap_clock_kind of its calls and ranges */
	uint32_t spare;
	char thread_name[16];

	/* Set by the thread. */
	_Alignas(CAP_LINE) uint64_t head;
	uint32_t current_api;		   /* 1 + index of the current call; 0: none */
	uint32_t state;			   /* enum cap_state */
	uint64_t last_call;		   /* id of the last call that began; 0: none */
	uint64_t lost_records, lost_bytes; /* since the ring was created; see also CAP_LOST */

	/* Set by the recorder. */
	_Alignas(CAP_LINE) uint64_t tail;
	_Alignas(CAP_LINE) uint32_t paused;
};

/* The id of a call: the ring's number and the ordinal of the call in its thread, in order of
 * entry. */
#define CAP_ORDINAL_BITS 40
static inline uint32_t cap_id_ring(uint64_t id)
{
	return (uint32_t)(id >> CAP_ORDINAL_BITS);
}

static inline uint64_t cap_id_ordinal(uint64_t id)
{
	return id & ((UINT64_C(1) << CAP_ORDINAL_BITS) - 1);
}

/* The header of a ring, as stored in a raw recording. */
struct cap_ring_info {
	uint32_t number;
	int32_t pid, tid;
	uint64_t process_start;
	enum cap_clock_kind clock;
	char thread_name[17];
};

/* Status written by the thread; only the types are checked. */
struct cap_ring_status {
	uint32_t current_api; /* 1 + index; 0: none */
	uint64_t last_call;   /* id; 0: none */
	enum cap_state state;
	uint64_t lost_records, lost_bytes;
	uint64_t waiting_bytes;	 /* written and not yet read */
	uint64_t capacity_bytes; /* capacity of the ring */
};
