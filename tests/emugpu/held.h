/* SPDX-License-Identifier: Apache-2.0 */

/* A stream that is blocked until the program releases it, so that later launches stay in flight. */
#pragma once

#include "tests/emugpu/check_driver.h"

#include <sched.h>

static int held_go;

static void held_wait(void *unused)
{
	while (!__atomic_load_n(&held_go, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void hold(CUstream stream)
{
	OK(cuLaunchHostFunc(stream, held_wait, NULL));
}

/* Releases all held streams permanently. */
static inline void release_held(void)
{
	__atomic_store_n(&held_go, 1, __ATOMIC_RELEASE);
}
