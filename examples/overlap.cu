/* SPDX-License-Identifier: Apache-2.0 */

/* Measures whether two GPUs compute concurrently, and whether a GPU computes while it copies: COUNT
 * products of SIZE x SIZE matrices on each GPU, and copies of the results to the host.
 *
 *     overlap [--size 4000] [--count 50]
 *
 * Prints a line for each case: its name and the seconds between CUDA events.
 */
#include "check.h"

#include <vector>

struct Gpu {
	int device, n, count;
	cudaStream_t compute, copy;
	cublasHandle_t blas;
	cudaEvent_t before, after;
	float *a, *b;
	std::vector<float *> results;
	std::vector<cudaEvent_t> computed;

	Gpu(int number, int size, int products) : device(number), n(size), count(products)
	{
		std::vector<float> host((size_t)n * n, 1.0f / size);

		CUDA(cudaSetDevice(device));
		CUDA(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
		CUDA(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
		BLAS(cublasCreate(&blas));
		BLAS(cublasSetStream(blas, compute));
		CUDA(cudaEventCreate(&before));
		CUDA(cudaEventCreate(&after));
		CUDA(cudaMalloc((void **)&a, bytes()));
		CUDA(cudaMalloc((void **)&b, bytes()));
		CUDA(cudaMemcpy(a, host.data(), bytes(), cudaMemcpyHostToDevice));
		CUDA(cudaMemcpy(b, host.data(), bytes(), cudaMemcpyHostToDevice));
		results.resize(count);
		computed.resize(count);
		for (int i = 0; i < count; i++) {
			CUDA(cudaMalloc((void **)&results[i], bytes()));
			CUDA(cudaEventCreateWithFlags(&computed[i], cudaEventDisableTiming));
		}
	}

	size_t bytes() const
	{
		return (size_t)n * n * sizeof(float);
	}

	void start()
	{
		CUDA(cudaSetDevice(device));
		CUDA(cudaDeviceSynchronize());
		CUDA(cudaEventRecord(before, compute));
	}

	void products()
	{
		const float one = 1, zero = 0;

		CUDA(cudaSetDevice(device));
		for (int i = 0; i < count; i++) {
			BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n,
					 &zero, results[i], n));
			CUDA(cudaEventRecord(computed[i], compute));
		}
	}

	/* Copies each result as soon as it is computed. */
	void copies(std::vector<float *> &to)
	{
		for (int i = 0; i < count; i++) {
			CUDA(cudaStreamWaitEvent(copy, computed[i], 0));
			CUDA(cudaMemcpyAsync(to[i], results[i], bytes(), cudaMemcpyDeviceToHost,
					     copy));
		}
	}

	void wait()
	{
		CUDA(cudaSetDevice(device));
		CUDA(cudaStreamSynchronize(compute));
		CUDA(cudaStreamSynchronize(copy));
	}

	/* Returns the seconds since start() until everything submitted so far is done, on `other`
	 * too. */
	double end(Gpu *other, cudaStream_t last)
	{
		cudaEvent_t there;
		float milliseconds;

		if (other) {
			CUDA(cudaSetDevice(other->device));
			CUDA(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
			CUDA(cudaEventRecord(there, other->compute));
		}
		CUDA(cudaSetDevice(device));
		if (other)
			CUDA(cudaStreamWaitEvent(last, there, 0));
		CUDA(cudaEventRecord(after, last));
		CUDA(cudaEventSynchronize(after));
		CUDA(cudaEventElapsedTime(&milliseconds, before, after));
		if (other)
			CUDA(cudaEventDestroy(there));
		return milliseconds / 1000;
	}
};

static double alone(Gpu &g)
{
	g.start();
	g.products();
	return g.end(NULL, g.compute);
}

static void two_gpus(Gpu &first, Gpu &second)
{
	printf("products on GPU 0: %.4f\n", alone(first));
	printf("products on GPU 1: %.4f\n", alone(second));
	first.start();
	first.products();
	first.wait();
	second.products();
	printf("on both, waiting in between: %.4f\n", first.end(&second, first.compute));
	first.start();
	first.products();
	second.products();
	printf("on both, at once: %.4f\n", first.end(&second, first.compute));
}

static void allocate(std::vector<float *> &host, size_t bytes, bool locked)
{
	for (float *&h : host) {
		if (locked)
			CUDA(cudaMallocHost((void **)&h, bytes));
		else
			h = (float *)malloc(bytes);
	}
}

static void release(std::vector<float *> &host, bool locked)
{
	for (float *h : host) {
		if (locked)
			CUDA(cudaFreeHost(h));
		else
			free(h);
	}
}

/* Copies to newly allocated memory, as y.cpu() does, or to page-locked memory. */
static void overlap_with_copies(Gpu &g, bool locked)
{
	const char *kind = locked ? "page-locked" : "pageable";
	std::vector<float *> host(g.count);
	double products, both;

	allocate(host, g.bytes(), locked);
	g.start();
	g.products();
	products = g.end(NULL, g.compute);
	g.copies(host);
	both = g.end(NULL, g.copy);
	printf("copies to %s memory after the products: %.4f + %.4f\n", kind, products,
	       both - products);
	release(host, locked);
	allocate(host, g.bytes(), locked);
	g.start();
	g.products();
	g.copies(host);
	printf("copies to %s memory while computing: %.4f\n", kind, g.end(NULL, g.copy));
	release(host, locked);
}

/* Page-locks memory for each copy, as y.to("cpu", non_blocking=True) does. */
static void copy_locking_each(Gpu &g)
{
	std::vector<float *> host(g.count);

	g.start();
	g.products();
	for (int i = 0; i < g.count; i++) {
		CUDA(cudaMallocHost((void **)&host[i], g.bytes()));
		CUDA(cudaStreamWaitEvent(g.copy, g.computed[i], 0));
		CUDA(cudaMemcpyAsync(host[i], g.results[i], g.bytes(), cudaMemcpyDeviceToHost,
				     g.copy));
	}
	printf("copies to memory page-locked for each, while computing: %.4f\n",
	       g.end(NULL, g.copy));
	for (float *h : host)
		CUDA(cudaFreeHost(h));
}

int main(int argc, char **argv)
{
	int size = option(argc, argv, "size", 4000), count = option(argc, argv, "count", 50);
	int gpus = device_count();
	Gpu first(0, size, count);

	if (gpus > 1) {
		Gpu second(1, size, count);

		two_gpus(first, second);
	} else {
		printf("products on GPU 0: %.4f\n", alone(first));
	}
	CUDA(cudaSetDevice(0));
	overlap_with_copies(first, false);
	overlap_with_copies(first, true);
	copy_locking_each(first);
	return 0;
}
