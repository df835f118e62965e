/* SPDX-License-Identifier: Apache-2.0 */

/* Injects one fault into a run of an example. $FAULT is "KIND GPU NUMBER AT": changes operation
 * NUMBER of that kind on GPU, counted from 0.
 *
 *     kernel     a host kernel of the example writes a wrong value as element AT
 *     copy       flips byte AT that a copy or collective received
 *     swap       launches a product of a forward pass after the kernel that follows it
 *     parameter  launches a kernel with its first parameter decreased by one
 *     wait       skips a wait of a stream for an event
 *     kill       kills the process with RANK=GPU when it loads this library
 *
 * AT counts modulo the length. Appends the fault to $FAULT_LOG, if that is set: "GPU ADDRESS", the
 * address of the first wrong byte, or 0. `kernel` is a plug-in for gpuemu --kernels. The others are
 * preloaded before the capture library, which therefore records the changed calls. `copy` uses its
 * hook gpucapture_wrap_driver() instead, so no recorded call flips the byte. */
#include <gpuemu.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS 64

static struct {
	char kind[16];
	int gpu;
	long number;
	size_t at;
} fault;

static long counts[GPUS];

__attribute__((constructor(101))) static void read_fault(void)
{
	const char *text = getenv("FAULT");

	fault.gpu = -1;
	if (text &&
	    sscanf(text, "%15s %d %ld %zu", fault.kind, &fault.gpu, &fault.number, &fault.at) != 4)
		abort();
	if (strcmp(fault.kind, "kill") == 0 && getenv("RANK") && atoi(getenv("RANK")) == fault.gpu)
		raise(SIGKILL);
}

static int is_kind(const char *kind)
{
	return strcmp(fault.kind, kind) == 0;
}

/* Counts an operation on the GPU; returns whether it is the one to change. One thread for each
 * GPU. */
static int is_here(int gpu)
{
	return gpu >= 0 && gpu < GPUS && gpu == fault.gpu && counts[gpu]++ == fault.number;
}

static void note(const void *address)
{
	const char *log = getenv("FAULT_LOG");
	FILE *f;

	if (!log)
		return;
	f = fopen(log, "a");
	if (!f)
		abort();
	fprintf(f, "%d %lu\n", fault.gpu, (unsigned long)address);
	fclose(f);
}

/* The next definition of a function. */
#define NEXT(f) ((__typeof__(f) *)dlsym(RTLD_NEXT, #f))

/* ---- host kernels */

static void wrong(const struct gpuemu_launch *launch, float *values, int n)
{
	if (!is_kind("kernel") || !is_here(launch->device))
		return;
	values[fault.at % (size_t)n] += 1;
	note(&values[fault.at % (size_t)n]);
}

static void bias_relu(struct gpuemu_launch *launch, void *const *args)
{
	int n = *(const int *)args[0], rows = *(const int *)args[1], relu = *(const int *)args[4];
	const float *b = *(const float *const *)args[2];
	float *y = *(float *const *)args[3];

	for (int i = 0; i < n; i++) {
		float v = y[i] + b[i % rows];

		y[i] = relu && v < 0 ? 0 : v;
	}
	wrong(launch, y, n);
}

static void relu_back(struct gpuemu_launch *launch, void *const *args)
{
	int n = *(const int *)args[0];
	const float *y = *(const float *const *)args[1];
	float *dy = *(float *const *)args[2];

	for (int i = 0; i < n; i++)
		if (y[i] <= 0)
			dy[i] = 0;
	wrong(launch, dy, n);
}

static void difference(struct gpuemu_launch *launch, void *const *args)
{
	int n = *(const int *)args[0];
	const float *y = *(const float *const *)args[1], *t = *(const float *const *)args[2];
	float scale = *(const float *)args[3], *dy = *(float *const *)args[4];

	for (int i = 0; i < n; i++)
		dy[i] = (y[i] - t[i]) * scale;
	wrong(launch, dy, n);
}

__attribute__((constructor(102))) static void add_kernels(void)
{
	static const size_t first[] = {4, 4, 8, 8, 4}, second[] = {4, 8, 8},
			    third[] = {4, 8, 8, 4, 8};
	static const struct gpuemu_kernel all[] = {
		{.name = "bias_relu", .run = bias_relu, .arg_bytes = first, .n_args = 5},
		{.name = "relu_back", .run = relu_back, .arg_bytes = second, .n_args = 3},
		{.name = "difference", .run = difference, .arg_bytes = third, .n_args = 5},
	};

	for (size_t i = 0; is_kind("kernel") && i < sizeof(all) / sizeof(all[0]); i++)
		gpuemu_register(&all[i]);
}

/* ---- copies */

static struct {
	int (*device)(int *ret);
	int (*host_function)(void *stream, void (*f)(void *), void *data);
} cu;

/* The receive buffer of the thread's next NCCL kernel. */
static __thread struct {
	void *at;
	size_t bytes;
} received;

static void flip(void *data)
{
	*(unsigned char *)data ^= 1;
	note(data);
}

/* Flips the byte after a copy, in the stream of the copy. */
static void flip_in(void *to, size_t bytes, void *stream)
{
	int gpu = -1;

	cu.device(&gpu);
	if (is_here(gpu) && cu.host_function(stream, flip, (char *)to + fault.at % bytes) != 0)
		abort();
}

static int (*real_from_host)(void *to, const void *from, size_t n, void *stream);
static int from_host(void *to, const void *from, size_t n, void *stream)
{
	int r = real_from_host(to, from, n, stream);

	flip_in(to, n, stream);
	return r;
}

static int (*real_from_host_now)(void *to, const void *from, size_t n);
static int from_host_now(void *to, const void *from, size_t n)
{
	int r = real_from_host_now(to, from, n), gpu = -1;

	cu.device(&gpu);
	if (is_here(gpu))
		flip((char *)to + fault.at % n);
	return r;
}

static int (*real_from_peer)(void *to, void *there, const void *from, void *here, size_t n,
			     void *stream);
static int from_peer(void *to, void *there, const void *from, void *here, size_t n, void *stream)
{
	int r = real_from_peer(to, there, from, here, n, stream);

	flip_in(to, n, stream);
	return r;
}

static int (*real_launch)(void *f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			  unsigned, void *stream, void **args, void **extra);
static int launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		  unsigned bz, unsigned shared, void *stream, void **args, void **extra)
{
	int r = real_launch(f, gx, gy, gz, bx, by, bz, shared, stream, args, extra);

	if (received.at)
		flip_in(received.at, received.bytes, stream);
	received.at = NULL;
	return r;
}

/* Called by the capture library for each function of the driver that it finds. */
void *gpucapture_wrap_driver(const char *name, void *real, void *(*find)(const char *name));

void *gpucapture_wrap_driver(const char *name, void *real, void *(*find)(const char *name))
{
	static const struct {
		const char *name;
		void *here, *real;
	} all[] = {
		{"cuMemcpyHtoDAsync_v2", from_host, &real_from_host},
		{"cuMemcpyHtoD_v2", from_host_now, &real_from_host_now},
		{"cuMemcpyPeerAsync", from_peer, &real_from_peer},
		{"cuLaunchKernel", launch, &real_launch},
	};
	void *found;

	for (size_t i = 0; is_kind("copy") && i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		memcpy(all[i].real, &real, sizeof(real));
		found = find("cuCtxGetDevice");
		memcpy(&cu.device, &found, sizeof(found));
		found = find("cuLaunchHostFunc");
		memcpy(&cu.host_function, &found, sizeof(found));
		return all[i].here;
	}
	return real;
}

static void receives(void *at, size_t floats)
{
	received.at = is_kind("copy") ? at : NULL;
	received.bytes = 4 * floats;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream)
{
	receives(to, n);
	return NEXT(ncclAllReduce)(from, to, n, type, op, comm, stream);
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
		  void *stream);
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
		  void *stream)
{
	receives(to, n);
	return NEXT(ncclBroadcast)(from, to, n, type, root, comm, stream);
}

int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream);
int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream)
{
	receives(to, n);
	return NEXT(ncclRecv)(to, n, type, peer, comm, stream);
}

/* ---- calls of the program */

static int current_gpu(void)
{
	int (*get)(int *ret) = (int (*)(int *))dlsym(RTLD_NEXT, "cudaGetDevice"), gpu = -1;

	get(&gpu);
	return gpu;
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	if (is_kind("wait") && is_here(current_gpu())) {
		note(NULL);
		return 0;
	}
	return NEXT(cudaStreamWaitEvent)(stream, event, flags);
}

/* A product whose launch is delayed. */
static __thread struct {
	int held, n[3], ld[3];
	void *handle;
	const float *alpha, *a, *b, *beta;
	float *c;
} product;

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc);
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc)
{
	if (is_kind("swap") && ta == 0 && tb == 0 && is_here(current_gpu())) {
		product = (__typeof__(product)){
			1, {m, n, k}, {lda, ldb, ldc}, handle, alpha, a, b, beta, c};
		return 0;
	}
	return NEXT(cublasSgemm_v2)(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

struct size {
	unsigned x, y, z;
};
int __cudaLaunchKernel(void *kernel, struct size grid, struct size block, void **args,
		       size_t shared, void *stream);
int __cudaLaunchKernel(void *kernel, struct size grid, struct size block, void **args,
		       size_t shared, void *stream)
{
	int r;

	if (is_kind("parameter") && is_here(current_gpu())) {
		*(int *)args[0] -= 1;
		note(NULL);
	}
	r = NEXT(__cudaLaunchKernel)(kernel, grid, block, args, shared, stream);
	if (product.held) {
		note(NULL);
		product.held = 0;
		NEXT(cublasSgemm_v2)
		(product.handle, 0, 0, product.n[0], product.n[1], product.n[2], product.alpha,
		 product.a, product.ld[0], product.b, product.ld[1], product.beta, product.c,
		 product.ld[2]);
	}
	return r;
}
