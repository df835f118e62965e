/* SPDX-License-Identifier: Apache-2.0 */

/* Checks results of CUDA, cuBLAS and NCCL calls: a failure ends the program with a line that names
 * the call. */
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call)                                                                                 \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(e_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define BLAS(call)                                                                                 \
	do {                                                                                       \
		cublasStatus_t e_ = (call);                                                        \
		if (e_ != CUBLAS_STATUS_SUCCESS) {                                                 \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cublasGetStatusString(e_));                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define NCCL(call)                                                                                 \
	do {                                                                                       \
		ncclResult_t e_ = (call);                                                          \
		if (e_ != ncclSuccess) {                                                           \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				ncclGetErrorString(e_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Returns the number after --name on the command line, or `otherwise`. */
static inline int option(int argc, char **argv, const char *name, int otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
			return atoi(argv[i + 1]);
	return otherwise;
}

/* With --marks 1: marks an iteration for gpucapture, whose keyframes need it. */
static inline void mark_iteration(int argc, char **argv)
{
	if (option(argc, argv, "marks", 0))
		gputrace_mark_iteration();
}

static inline int device_count()
{
	int n = 0;

	CUDA(cudaGetDeviceCount(&n));
	return n;
}
