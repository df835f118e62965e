/* SPDX-License-Identifier: Apache-2.0 */

/* streams ROUNDS [forked]: threads launch on shared streams and on streams of their own. Meanwhile
 * they create and destroy streams, modules and contexts; threads start and end, and children are
 * forked. Prints the number of operations that the process put on streams. "forked": a child does
 * all this, and its parent never initialises CUDA. Linked with streams_driver.c. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define GENERATIONS 3 /* generations of threads */
#define N_SHARED 2    /* one synchronises with the legacy stream, one does not */
#define NON_BLOCKING 1
#define PER_THREAD_STREAM ((void *)2)

int cuInit(unsigned flags);
int cuDriverGetVersion(int *ret);
int cuCtxCreate_v2(void **ret, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuStreamCreate(void **ret, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuModuleLoadData(void **ret, const void *image);
int cuModuleGetFunction(void **ret, void *module, const char *name);
int cuModuleUnload(void *module);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream);
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra);

static void *shared[N_SHARED];
static pthread_barrier_t begin;
static unsigned rounds, operations, failed;

static void expect(int result)
{
	if (result)
		__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
}

/* Counts a call that puts an operation on a stream if `result` is 0. */
static void count(int result)
{
	expect(result);
	__atomic_fetch_add(&operations, 1, __ATOMIC_RELAXED);
}

static void launch(void *function, void *stream)
{
	int number = 1;
	void *pointer = NULL, *params[] = {&number, &pointer};

	count(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static void *new_stream(unsigned flags)
{
	void *stream = NULL;

	expect(cuStreamCreate(&stream, flags));
	return stream;
}

static void use_context(void)
{
	void *context, *stream;

	expect(cuCtxCreate_v2(&context, 0, 0));
	stream = new_stream(NON_BLOCKING);
	for (int i = 0; i < 20; i++) {
		launch((void *)0x2000, stream);
		launch((void *)0x2000, NULL);
	}
	expect(cuStreamDestroy_v2(stream));
	expect(cuCtxDestroy_v2(context));
}

static void use_module(void)
{
	void *module, *function;

	expect(cuModuleLoadData(&module, ".version 8.0\n"));
	expect(cuModuleGetFunction(&function, module, "f"));
	launch(function, NULL);
	expect(cuModuleUnload(module));
}

/* The child uses its parent's driver, which is an error of worker processes. */
static void fork_one(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		launch((void *)0x2000, NULL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	expect(status);
}

static void *work(void *number)
{
	void *own;
	int version;

	pthread_barrier_wait(&begin);
	/* Hooks start when the first thread initialises the driver. */
	for (unsigned i = 0; i < rounds; i++)
		expect(cuDriverGetVersion(&version));
	expect(cuInit(0));
	own = new_stream(NON_BLOCKING);
	for (unsigned i = 0; i < rounds; i++) {
		launch((void *)0x2000, shared[i % N_SHARED]);
		launch((void *)0x3000, own);
		launch((void *)0x2000, NULL);
		launch((void *)0x2000, PER_THREAD_STREAM);
		count(cuMemsetD8Async(4096, 0, 64, own));
		if (i % 8 == 1)
			count(cuMemcpyDtoD_v2(4096, 8192, 64));
		if (i % 16 == 2)
			expect(cuStreamWaitEvent(shared[0], NULL, 0));
		if (i % 16 == 3) {
			expect(cuStreamDestroy_v2(own));
			own = new_stream(NON_BLOCKING);
		}
		if (i % 64 == 4)
			use_module();
		if (i % 64 == 5)
			use_context();
		if (i % 64 == 6 && number == shared)
			fork_one();
	}
	expect(cuStreamSynchronize(own));
	expect(cuStreamDestroy_v2(own));
	return NULL;
}

static int run_threads(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&begin, NULL, THREADS);
	for (int g = 0; g < GENERATIONS; g++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work, i == 0 ? shared : NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		for (int i = 0; i < N_SHARED && g == 0; i++)
			shared[i] = new_stream(i ? NON_BLOCKING : 0);
	}
	printf("operations %u\n", operations);
	fflush(stdout);
	return failed != 0;
}

int main(int argc, char **argv)
{
	int version, status = 1;
	pid_t pid;

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 64;
	if (argc < 3)
		return run_threads();
	expect(cuDriverGetVersion(&version));
	pid = fork();
	if (pid == 0)
		exit(run_threads());
	waitpid(pid, &status, 0);
	return failed || status;
}
