/* SPDX-License-Identifier: Apache-2.0 */

/* The calls of driver.c, and the checks of the programs that use it: a case ends with status 1 if a
 * check fails. */
#pragma once

#include <stdint.h>
#include <stdio.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuStreamGetCtx(void *stream, void **context);
int cuMemAlloc_v2(uint64_t *ret, uint64_t bytes);
int cuMemFree_v2(uint64_t at);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **ret, const void *image);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuLaunchKernelEx(const void *config, void *f, void **params, void **extra);
int cuLaunchHostFunc(void *stream, void (*f)(void *), void *data);
int cuStreamAddCallback(void *stream, void (*f)(void *), void *data, unsigned flags);
int cuGetProcAddress_v2(const char *symbol, void **ret, int version, uint64_t flags, int *status);

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%d: %s\n", __LINE__, #what);                              \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* cases.c: makes three calls, returns 0 if they succeed; waits for a child and returns its
 * status. */
int some_calls(void);
int wait_child(int pid);

/* cases_exec.c: programs that start others. */
int exec_again(void);
int exec_fails(void);
int exec_listed(void);
int spawn(void);
int stripped(void);
