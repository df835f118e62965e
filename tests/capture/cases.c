/* SPDX-License-Identifier: Apache-2.0 */

/* Programs that end or continue in every way that a recording must survive: `cases NAME`. Linked
 * with the driver of driver.c. The exit status is 0 if the case's own checks passed. */
#include "tests/capture/cases.h"
#include <gputrace.h>

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int some_calls(void)
{
	uint64_t at;

	return cuInit(0) || cuMemAlloc_v2(&at, 64) || cuMemFree_v2(at);
}

static void *thread_calls(void *n)
{
	for (intptr_t i = 0; i < (intptr_t)n; i++)
		cuCtxSynchronize();
	return NULL;
}

static int threads(void)
{
	pthread_t t[8];

	CHECK(some_calls() == 0);
	for (intptr_t i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, thread_calls, (void *)(100 * i)) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}

int wait_child(int pid)
{
	int status;

	waitpid(pid, &status, 0);
	return status;
}

/* The child uses its parent's CUDA context, which is an error of DataLoader workers. */
static int fork_used(void)
{
	pid_t pid;

	CHECK(some_calls() == 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			cuCtxSynchronize();
		exit(0);
	}
	CHECK(wait_child(pid) == 0);
	return cuCtxSynchronize();
}

/* The parent has only queried the driver; the child does the work. */
static int fork_fresh(void)
{
	pid_t pid = fork();

	if (pid == 0)
		exit(some_calls());
	CHECK(wait_child(pid) == 0);
	return some_calls();
}

static void leave(void *status)
{
	exit((int)(intptr_t)status);
}

static int exit_in_callback(void)
{
	some_calls();
	cuLaunchHostFunc(NULL, leave, (void *)5);
	return 1;
}

static int exit_in_thread(void)
{
	some_calls();
	cuStreamAddCallback(NULL, leave, (void *)6, 0);
	return 1;
}

static int under_exit(void)
{
	some_calls();
	_exit(8);
}

static int quick(void)
{
	some_calls();
	quick_exit(9);
}

static int aborts(void)
{
	some_calls();
	abort();
}

static int crashes(void)
{
	some_calls();
	raise(SIGSEGV);
	return 0;
}

/* Calls from a destructor that runs after the capture library's own destructor. */
static int late_calls;

__attribute__((destructor)) static void at_end(void)
{
	if (late_calls)
		cuCtxSynchronize();
}

static int late(void)
{
	late_calls = 1;
	return some_calls();
}

static int forever(void)
{
	some_calls();
	for (;;)
		cuCtxSynchronize();
	return 0;
}

static int keeps_errno(void)
{
	uint64_t at;

	errno = 123;
	CHECK(cuInit(0) == 0 && errno == 123);
	for (int i = 0; i < 100000; i++) {
		CHECK(cuMemAlloc_v2(&at, 64) == 0);
		CHECK(errno == 123);
	}
	CHECK(cuMemAlloc_v2(&at, 0) == 1 && errno == 123);
	return 0;
}

static int parameters(void)
{
	int a = 0x11223344;
	void *b = (void *)0x5566778899;
	void *params[] = {&a, &b};
	char packed[16] = "pack";
	size_t bytes = sizeof(packed);
	void *extra[] = {(void *)1, packed, (void *)2, &bytes, NULL};
	char ptx[] = ".version 7.0\n";
	void *module;

	some_calls();
	CHECK(cuModuleLoadData(&module, ".version 8.0\n") == 0);
	CHECK(cuModuleLoadData(&module, ptx) == 0);
	cuLaunchKernel((void *)0x2000, 1, 2, 3, 4, 5, 6, 7, NULL, params, NULL);
	cuLaunchKernel((void *)0x2000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, extra);
	bytes--; /* too few for the parameters, which are not recorded then */
	cuLaunchKernel((void *)0x2000, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, extra);
	return cuLaunchKernel((void *)0x3000, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

/* CUlaunchConfig points to attributes: none, one, and more than the library copies. */
static int launch_config(void)
{
	struct {
		unsigned id, spare, value[16];
	} attribute = {4, 0, {2, 1, 1}};
	struct {
		unsigned grid[3], block[3], shared, spare;
		void *stream, *attributes;
		unsigned n, spare_too;
	} config = {{1, 2, 3}, {4, 5, 6}, 7, 0, (void *)0x2222, NULL, 0, 0};
	int a = 0x11223344;
	void *b = (void *)0x5566778899;
	void *params[] = {&a, &b};

	some_calls();
	CHECK(cuLaunchKernelEx(&config, (void *)0x2000, params, NULL) == 0);
	config.attributes = &attribute;
	config.n = 1;
	CHECK(cuLaunchKernelEx(&config, (void *)0x2000, params, NULL) == 0);
	config.n = 0x7fffffff;
	return cuLaunchKernelEx(&config, (void *)0x2000, NULL, NULL);
}

/* Results of 4 or 8 bytes, in the first argument or another; of a failed call; and with a NULL
 * pointer. */
static int outputs(void)
{
	struct {
		int version;
		unsigned behind;
	} four = {0, 0xdeadbeef};
	void *context;
	uint64_t at;

	CHECK(cuDriverGetVersion(&four.version) == 0 && four.behind == 0xdeadbeef);
	CHECK(cuStreamGetCtx((void *)0x55, &context) == 0);
	CHECK(cuMemAlloc_v2(&at, 0x1122) == 0);
	CHECK(cuMemAlloc_v2(&at, 0) == 1);
	return cuStreamGetCtx((void *)0x66, NULL);
}

/* The part of NVTX's injection interface that registers strings. */
static const char *(*register_string)(const char *domain, const char *text);

static int nvtx_functions(int module, void ****ret, unsigned *ret_n)
{
	static void *none, **table[20];

	for (size_t i = 0; i < 20; i++)
		table[i] = &none;
	table[10] = module == 5 ? (void **)&register_string : &none;
	*ret = table;
	*ret_n = 20;
	return 1;
}

static const void *nvtx_exports(uint32_t id)
{
	static const struct {
		size_t bytes;
		int (*functions)(int, void ****, unsigned *);
	} callbacks = {sizeof(callbacks), nvtx_functions};

	return id == 1 ? &callbacks : NULL;
}

static void *opened;
static int stop;

/* Makes calls for which the library takes its locks. */
static void *make_calls(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		dlsym(opened, "cuNewThing");
		register_string(NULL, "a");
	}
	return unused;
}

static int passes(struct dl_phdr_info *info, size_t size, void *arg)
{
	return 0;
}

/* Holds the loader's lock nearly all the time. */
static void *hold_loader_lock(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		dl_iterate_phdr(passes, NULL);
	return unused;
}

/* Forks while other threads are inside the library and the loader; the children can still make
 * calls and exit. */
static int fork_busy(void)
{
	int (*inject)(const void *(*)(uint32_t));
	void *(*const busy[])(void *) = {make_calls, make_calls, hold_loader_lock};
	pthread_t t[3];
	int wrong = 0;

	opened = dlopen("libcuda.so.1", RTLD_NOW);
	*(void **)&inject = dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2");
	CHECK(opened && inject && inject(nvtx_exports) && register_string);
	CHECK(some_calls() == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, busy[i], NULL) == 0);
	for (int i = 0; i < 300 && !wrong; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(60); /* ends a child that deadlocks */
			_exit(!dlsym(opened, "cuNewThing") || !register_string(NULL, "b"));
		}
		wrong = wait_child(pid);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return wrong != 0;
}

typedef long new_thing(int, double, long, float, void *, long, long, long, double, long, long);
struct two {
	double x, y;
};

/* A call without description passes its arguments and its result unchanged. */
static int unknown(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *again;
	new_thing *thing;
	struct two (*pair)(double, double);

	CHECK(driver && dlopen("libcuda.so", RTLD_NOW) == driver);
	*(void **)&thing = dlsym(driver, "cuNewThing");
	*(void **)&pair = dlsym(driver, "cuNewPair");
	CHECK(thing && pair && !dlsym(driver, "cuNeverWas") && dlerror());
	for (int i = 0; i < 3; i++) {
		CHECK(thing(1, 2, 4, 8, (void *)16, 32, 64, 128, 256, 512, 1024) ==
		      1 + 2 + 4 + 8 + 16 + 32 + 128 + 384 + 256 + 2048 + 5120);
		CHECK(pair(1.5, 2.5).x == 2.5 && pair(1.5, 2.5).y == 1.5);
	}
	CHECK(cuGetProcAddress_v2("cuNewThing", &again, 14000, 0, NULL) == 0);
	return again != (void *)thing;
}

/* cuGetProcAddress: name, version, the per-thread flag, and the returned function. */
static int procs(void)
{
	int (*get)(const char *, void **, int, uint64_t, int *);
	int (*alloc)(uint64_t *, uint64_t);
	int (*copy)(uint64_t, uint64_t, uint64_t, void *);
	int (*unload)(void *), (*unmake)(uint64_t);
	void *thread_copy, *none;
	uint64_t at;

	CHECK(cuGetProcAddress_v2("cuGetProcAddress", (void **)&get, 12000, 0, NULL) == 0);
	CHECK((void *)get == (void *)cuGetProcAddress_v2);
	CHECK(get("cuMemAlloc", (void **)&alloc, 13000, 0, NULL) == 0);
	CHECK((void *)alloc == (void *)cuMemAlloc_v2 && alloc(&at, 8) == 0);
	CHECK(get("cuMemcpyDtoDAsync", (void **)&copy, 13000, 1, NULL) == 0);
	CHECK(get("cuMemcpyDtoDAsync", &thread_copy, 13000, 2, NULL) == 0);
	CHECK(thread_copy != (void *)copy && copy(1, 2, 3, NULL) == 0);
	CHECK(((int (*)(uint64_t, uint64_t, uint64_t, void *))thread_copy)(4, 5, 6, NULL) == 0);
	CHECK(get("cuMemcpyDtoDAsync", &none, 3000, 2, NULL) == 0 && !none);
	/* A function that the driver does not export, and one with a single form. */
	CHECK(get("cuFuncGetParamInfo", &none, 13000, 0, NULL) == 0 && !none);
	CHECK(get("cuModuleUnload", (void **)&unload, 13000, 0, NULL) == 0);
	CHECK(unload(NULL) == 0);
	CHECK(get("cuMemFree", (void **)&unmake, 13000, 0, NULL) == 0 && unmake(at) == 0);
	return 0;
}

/* A stream is captured by a function that a newer driver might have. */
static int captures(void)
{
	int (*begin)(void *);

	CHECK(cuCtxSynchronize() == 0);
	CHECK(cuGetProcAddress_v2("cuStreamBeginNewCapture", (void **)&begin, 14000, 0, NULL) == 0);
	CHECK(begin(NULL) == 0);
	return cuCtxSynchronize();
}

/* The driver is closed and opened again; its functions remain callable. */
static int closes(void)
{
	for (int i = 0; i < 10; i++) {
		void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
		int (*sync)(void);

		CHECK(driver);
		*(void **)&sync = dlsym(driver, "cuCtxSynchronize");
		CHECK(sync && sync() == 0);
		CHECK(dlclose(driver) == 0);
	}
	return cuCtxSynchronize();
}

/* RTLD_NEXT searches after the caller's library, not after the capture library. */
static int next(void)
{
	CHECK(dlsym(RTLD_NEXT, "cuInit"));
	CHECK(dlsym(RTLD_NEXT, "some_name_of_nobody") == NULL);
	CHECK(dlsym(RTLD_DEFAULT, "malloc") == dlsym(RTLD_NEXT, "malloc"));
	CHECK(dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_0") == NULL);
	return 0;
}

static unsigned handled;
static void on_signal(int number)
{
	if (cuCtxSynchronize() == 0 && handled++ < 1000)
		raise(number);
}

/* A signal handler makes calls during calls. Prints the number of calls. */
static int signals(void)
{
	CHECK(some_calls() == 0 && signal(SIGUSR1, on_signal) != SIG_ERR);
	cuLaunchHostFunc(NULL, (void (*)(void *))(void *)raise, (void *)SIGUSR1);
	printf("made %u\n", 3 + 1 + handled);
	return 0;
}

static int marks(void)
{
	some_calls();
	for (int i = 0; i < 6; i++) {
		uint64_t at;

		gputrace_mark_iteration();
		cuCtxSynchronize();
		cuMemAlloc_v2(&at, (uint64_t)i + 1);
		cuCtxSynchronize();
	}
	return 0;
}

static int nothing(void)
{
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"calls", some_calls},
	{"threads", threads},
	{"fork_used", fork_used},
	{"fork_fresh", fork_fresh},
	{"fork_busy", fork_busy},
	{"exec", exec_again},
	{"exec_fails", exec_fails},
	{"exec_listed", exec_listed},
	{"spawn", spawn},
	{"callback", exit_in_callback},
	{"callback_thread", exit_in_thread},
	{"_exit", under_exit},
	{"quick_exit", quick},
	{"stripped", stripped},
	{"abort", aborts},
	{"crash", crashes},
	{"late", late},
	{"forever", forever},
	{"errno", keeps_errno},
	{"params", parameters},
	{"config", launch_config},
	{"outputs", outputs},
	{"unknown", unknown},
	{"procs", procs},
	{"captures", captures},
	{"dlclose", closes},
	{"next", next},
	{"signals", signals},
	{"marks", marks},
	{"nothing", nothing},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run();
	return 98;
}
