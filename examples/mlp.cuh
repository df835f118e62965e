/* SPDX-License-Identifier: Apache-2.0 */

/* A multi-layer perceptron on one GPU: cuBLAS for the products, three kernels for the rest.
 * Matrices are column-major, a column is a sample. All device work goes to `stream`. */
#pragma once

#include "check.h"
#include <gpuemu.h>

#include <math.h>
#include <vector>

__host__ __device__ static inline void bias_relu_at(int i, int rows, const float *b, float *y,
						    int relu)
{
	float v = y[i] + b[i % rows];

	y[i] = relu && v < 0 ? 0 : v;
}

__host__ __device__ static inline void relu_back_at(int i, const float *y, float *dy)
{
	if (y[i] <= 0)
		dy[i] = 0;
}

__host__ __device__ static inline void difference_at(int i, const float *y, const float *t,
						     float scale, float *dy)
{
	dy[i] = (y[i] - t[i]) * scale;
}

/* Each kernel computes one index i in each thread; on an emulated GPU its host kernel computes
 * all. */
__global__ static void bias_relu(int n, int rows, const float *b, float *y, int relu)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		bias_relu_at(i, rows, b, y, relu);
}

static void bias_relu_host(int n, int rows, const float *b, float *y, int relu)
{
	for (int i = 0; i < n; i++)
		bias_relu_at(i, rows, b, y, relu);
}
GPUEMU_HOST_KERNEL(bias_relu, bias_relu_host)

__global__ static void relu_back(int n, const float *y, float *dy)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		relu_back_at(i, y, dy);
}

static void relu_back_host(int n, const float *y, float *dy)
{
	for (int i = 0; i < n; i++)
		relu_back_at(i, y, dy);
}
GPUEMU_HOST_KERNEL(relu_back, relu_back_host)

__global__ static void difference(int n, const float *y, const float *t, float scale, float *dy)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		difference_at(i, y, t, scale, dy);
}

static void difference_host(int n, const float *y, const float *t, float scale, float *dy)
{
	for (int i = 0; i < n; i++)
		difference_at(i, y, t, scale, dy);
}
GPUEMU_HOST_KERNEL(difference, difference_host)

/* A deterministic random number, the same on every machine and in every process. */
static inline float random_number(unsigned stream, unsigned i)
{
	unsigned x = (stream * 2654435761u) ^ (i * 2246822519u);

	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	x *= 3266489917u;
	x ^= x >> 16;
	return (float)(x >> 8) / (1 << 23) - 1;
}

static inline float *device_floats(size_t n)
{
	float *p;

	CUDA(cudaMalloc((void **)&p, n * sizeof(float)));
	return p;
}

/* Weights and bias are contiguous, and so are their gradients: one message each. */
struct Layer {
	int in, out, relu;
	float *w, *b, *dw, *db;
	float *x, *y, *dx; /* x belongs to the previous layer */

	size_t parameters() const
	{
		return (size_t)in * out + out;
	}
};

struct Mlp {
	std::vector<Layer> layers;
	int batch;
	float *ones;
	cudaStream_t stream;
	cublasHandle_t blas;

	/* Layers first .. last - 1 of the network with these layer sizes, on the current device. */
	Mlp(const std::vector<int> &sizes, int first, int last, int samples) : batch(samples)
	{
		std::vector<float> host(batch, 1);

		CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		BLAS(cublasCreate(&blas));
		BLAS(cublasSetStream(blas, stream));
		ones = device_floats(batch);
		CUDA(cudaMemcpy(ones, host.data(), batch * sizeof(float), cudaMemcpyHostToDevice));
		for (int l = first; l < last; l++)
			add(l, sizes[l], sizes[l + 1], l + 2 < (int)sizes.size());
	}

	void add(int number_of, int in, int out, int relu)
	{
		Layer l = {in, out, relu, 0, 0, 0, 0, 0, 0, 0};
		std::vector<float> host(l.parameters(), 0);

		for (int i = 0; i < in * out; i++)
			host[i] = random_number(number_of, i) * sqrtf(3.0f / in);
		l.w = device_floats(l.parameters());
		l.b = l.w + in * out;
		l.dw = device_floats(l.parameters());
		l.db = l.dw + in * out;
		l.y = device_floats((size_t)out * batch);
		l.dx = device_floats((size_t)in * batch);
		CUDA(cudaMemcpy(l.w, host.data(), host.size() * sizeof(float),
				cudaMemcpyHostToDevice));
		layers.push_back(l);
	}

	/* Computes the first n samples. Returns the outputs. */
	float *forward(float *x, int n)
	{
		const float one = 1, zero = 0;

		for (Layer &l : layers) {
			l.x = x;
			BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, l.out, n, l.in, &one, l.w,
					 l.out, x, l.in, &zero, l.y, l.out));
			bias_relu<<<(l.out * n + 255) / 256, 256, 0, stream>>>(l.out * n, l.out,
									       l.b, l.y, l.relu);
			x = l.y;
		}
		return x;
	}

	/* Calls done(layer) after the gradients of each layer were submitted. Overwrites dy;
	 * returns the gradient of the inputs. Adds to the existing gradients if `add` is
	 * nonzero. */
	template <typename F> float *backward(float *dy, int n, F done, int add = 0)
	{
		const float one = 1, zero = 0, keep = add;

		for (size_t i = layers.size(); i-- > 0;) {
			Layer &l = layers[i];

			if (l.relu)
				relu_back<<<(l.out * n + 255) / 256, 256, 0, stream>>>(l.out * n,
										       l.y, dy);
			BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, l.out, l.in, n, &one, dy,
					 l.out, l.x, l.in, &keep, l.dw, l.out));
			BLAS(cublasSgemv(blas, CUBLAS_OP_N, l.out, n, &one, dy, l.out, ones, 1,
					 &keep, l.db, 1));
			BLAS(cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, l.in, n, l.out, &one, l.w,
					 l.out, dy, l.out, &zero, l.dx, l.in));
			done(l);
			dy = l.dx;
		}
		return dy;
	}

	/* dy = (y - t) / total: the gradient of the mean over `total` samples of half the squared
	 * distance. */
	void loss_gradient(const float *y, const float *t, int n, int total, float *dy)
	{
		int values = n * layers.back().out;

		difference<<<(values + 255) / 256, 256, 0, stream>>>(values, y, t, 1.0f / total,
								     dy);
	}

	/* Returns the part of that mean that these n samples contribute; waits for it. */
	float loss(const float *dy, int n, int total)
	{
		float sum;

		BLAS(cublasSdot(blas, n * layers.back().out, dy, 1, dy, 1, &sum));
		return sum * total / 2;
	}

	void step(float rate)
	{
		const float minus = -rate;

		for (Layer &l : layers)
			BLAS(cublasSaxpy(blas, (int)l.parameters(), &minus, l.dw, 1, l.w, 1));
	}
};

/* Inputs and targets of samples first .. first + n - 1, the same in every process. */
static inline void samples(int in, int out, int first, int n, std::vector<float> &x,
			   std::vector<float> &t)
{
	x.resize((size_t)in * n);
	t.resize((size_t)out * n);
	for (int s = 0; s < n; s++) {
		float sum = 0;

		for (int i = 0; i < in; i++) {
			x[(size_t)s * in + i] = random_number(1000 + first + s, i);
			sum += i < 8 ? x[(size_t)s * in + i] : 0;
		}
		for (int i = 0; i < out; i++)
			t[(size_t)s * out + i] = sinf(sum + i);
	}
}

static inline float *to_device(const std::vector<float> &host)
{
	float *p = device_floats(host.size());

	CUDA(cudaMemcpy(p, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
	return p;
}

/* Sizes of the input, `layers` hidden layers, and the output. */
static inline std::vector<int> network(int argc, char **argv)
{
	int hidden = option(argc, argv, "hidden", 256), layers = option(argc, argv, "layers", 3);
	std::vector<int> sizes(1, 64);

	for (int i = 0; i < layers; i++)
		sizes.push_back(hidden);
	sizes.push_back(8);
	return sizes;
}
