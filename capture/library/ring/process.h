/* SPDX-License-Identifier: Apache-2.0 */

/* The process, and its session. */
#pragma once

#include "formats/raw/ring.h"

#include <stdbool.h>

/* A separate page, which the kernel zeroes in a forked child. */
#ifdef __x86_64__
#define CAP_PAGE 4096
#else
#define CAP_PAGE 65536 /* the largest page size */
#endif
struct cap_live {
	/* Calls are recorded. Any thread changes it; relaxed: publishes no other data. */
	_Alignas(CAP_PAGE) uint32_t is_recording;
	/* Set by this process. Publishes the data of cap_process_begin(): see cap_is_alive(). */
	uint32_t alive;
	uint8_t page[CAP_PAGE - 8];
};

/* Which hooks handle launches; entry/launch.h handles CAP_LAUNCH_TIMED without the chain. */
enum cap_launch_hooks {
	CAP_LAUNCH_TIMED = 1,	/* the hook `times` */
	CAP_LAUNCH_CHAINED = 2, /* another hook */
	CAP_LAUNCH_CAPTURED = 4 /* a hook that acts on launches into a capture only */
};

struct cap_process {
	/* Set by the constructor, before main(). */
	struct cap_control *control;   /* never NULL: without a session, a page with `paused` set */
	bool session;		       /* there is a session of this version */
	char folder[CAP_FOLDER_BYTES]; /* of the session */

	/* Set by cap_process_begin(), before cap_live.alive: by the constructor, and again in a
	   forked child. */
	int pid;
	uint32_t generation; /* 1 + forks since the constructor */
	uint64_t start;	     /* as in struct cap_ring: process_start */

	/* Written by any thread, atomically; relaxed unless stated otherwise. */
	uint64_t hooked; /* bit enum api_class: a hook handles it. Stored with release, read by
			    cap_is_hooked(): publishes data of the hook's start() */
	uint32_t launch_hooks; /* bits enum cap_launch_hooks; publishes the same */
	uint32_t capturing;    /* number of streams in capture: their calls are also recorded while
				  paused */
	int64_t iteration;     /* iterations marked so far, minus 1 */
	bool driver_used;      /* cuInit was called: forked children cannot use the driver */
};

extern struct cap_process cap_process;
extern struct cap_live cap_live;

/* False in a forked child until it has called cap_process_begin(). */
static inline bool cap_is_alive(void)
{
	return __atomic_load_n(&cap_live.alive, __ATOMIC_ACQUIRE);
}

/* Returns the control page; never NULL. */
const struct cap_control *cap_control(void);

/* Starts recording in the calling process, as in a new process. */
void cap_process_begin(void);

#define CAP_PATH 320

/* Makes the path of a file of the session, which will have `bytes` bytes. Returns 0; or a negative
 * errno, also stored in errno: -ENAMETOOLONG, or -EFBIG, since writing beyond RLIMIT_FSIZE would
 * raise a signal that ends the program. */
int cap_session_file(char path[CAP_PATH], const char *name, uint64_t bytes);
