/* SPDX-License-Identifier: Apache-2.0 */

/* Data-parallel training of a perceptron in one process, a thread a GPU, as DataParallel does it:
 * every step the batch is scattered from GPU 0, the model is copied to every GPU, the outputs are
 * gathered on GPU 0, where the loss is computed, and the gradients are reduced on GPU 0, which
 * alone has an optimiser.
 *
 *     dataparallel [--gpus N] [--steps N] [--batch SAMPLES] [--hidden N] [--layers N]
 *
 * Prints a line for each step: number, loss, milliseconds between CUDA events.
 */
#include "mlp.cuh"

#include <nccl.h>
#include <thread>

struct Run {
	int gpus, steps, total, n; /* n: samples for each GPU */
	std::vector<int> sizes;
	std::vector<ncclComm_t> comms;
	bool marks;
	pthread_barrier_t *together;
};

/* No GPU works when an iteration is marked. */
static void mark(const Run &run, int gpu)
{
	pthread_barrier_wait(run.together);
	if (gpu == 0)
		gputrace_mark_iteration();
	pthread_barrier_wait(run.together);
}

/* Copies from GPU 0 to each GPU, or from each to GPU 0: block g of `whole` is the `part` of
 * GPU g. */
static void scatter(const Run &run, int gpu, float *whole, float *part, size_t count,
		    cudaStream_t stream)
{
	NCCL(ncclGroupStart());
	for (int g = 0; gpu == 0 && g < run.gpus; g++)
		NCCL(ncclSend(whole + g * count, count, ncclFloat, g, run.comms[0], stream));
	NCCL(ncclRecv(part, count, ncclFloat, 0, run.comms[gpu], stream));
	NCCL(ncclGroupEnd());
}

static void gather(const Run &run, int gpu, float *part, float *whole, size_t count,
		   cudaStream_t stream)
{
	NCCL(ncclGroupStart());
	NCCL(ncclSend(part, count, ncclFloat, 0, run.comms[gpu], stream));
	for (int g = 0; gpu == 0 && g < run.gpus; g++)
		NCCL(ncclRecv(whole + g * count, count, ncclFloat, g, run.comms[0], stream));
	NCCL(ncclGroupEnd());
}

/* Memory that only GPU 0 has: the whole batch. */
struct Whole {
	float *x, *t, *y, *dy;

	Whole(const Run &run)
	{
		std::vector<float> hx, ht;

		samples(run.sizes[0], run.sizes.back(), 0, run.total, hx, ht);
		x = to_device(hx);
		t = to_device(ht);
		y = device_floats(ht.size());
		dy = device_floats(ht.size());
	}
};

static void step(const Run &run, int gpu, Mlp &model, Whole *whole, float *x, float *dy,
		 float *loss)
{
	size_t in = (size_t)run.sizes[0] * run.n, out = (size_t)run.sizes.back() * run.n;
	ncclComm_t comm = run.comms[gpu];

	scatter(run, gpu, whole ? whole->x : NULL, x, in, model.stream);
	for (Layer &l : model.layers)
		NCCL(ncclBroadcast(l.w, l.w, l.parameters(), ncclFloat, 0, comm, model.stream));
	float *y = model.forward(x, run.n);

	gather(run, gpu, y, whole ? whole->y : NULL, out, model.stream);
	if (whole) {
		model.loss_gradient(whole->y, whole->t, run.total, run.total, whole->dy);
		*loss = model.loss(whole->dy, run.total, run.total);
	}
	scatter(run, gpu, whole ? whole->dy : NULL, dy, out, model.stream);
	model.backward(dy, run.n, [](Layer &) {});
	for (Layer &l : model.layers)
		NCCL(ncclReduce(l.dw, l.dw, l.parameters(), ncclFloat, ncclSum, 0, comm,
				model.stream));
	if (whole)
		model.step(0.05f);
}

static void train(const Run &run, int gpu)
{
	cudaEvent_t before, after;
	float milliseconds, loss;

	CUDA(cudaSetDevice(gpu));
	Mlp model(run.sizes, 0, (int)run.sizes.size() - 1, run.n);
	Whole *whole = gpu == 0 ? new Whole(run) : NULL;
	float *x = device_floats((size_t)run.sizes[0] * run.n);
	float *dy = device_floats((size_t)run.sizes.back() * run.n);

	CUDA(cudaEventCreate(&before));
	CUDA(cudaEventCreate(&after));
	for (int i = 0; i < run.steps; i++) {
		if (run.marks)
			mark(run, gpu);
		CUDA(cudaEventRecord(before, model.stream));
		step(run, gpu, model, whole, x, dy, &loss);
		CUDA(cudaEventRecord(after, model.stream));
		CUDA(cudaStreamSynchronize(model.stream));
		CUDA(cudaEventElapsedTime(&milliseconds, before, after));
		if (gpu == 0)
			printf("%d %.6f %.4f\n", i, loss, milliseconds);
	}
	delete whole;
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;
	pthread_barrier_t together;
	Run run;

	run.gpus = option(argc, argv, "gpus", device_count());
	run.steps = option(argc, argv, "steps", 10);
	run.total = option(argc, argv, "batch", 256);
	run.n = run.total / run.gpus;
	run.sizes = network(argc, argv);
	run.marks = option(argc, argv, "marks", 0);
	pthread_barrier_init(&together, NULL, run.gpus);
	run.together = &together;
	run.comms.resize(run.gpus);
	NCCL(ncclCommInitAll(run.comms.data(), run.gpus, NULL));
	for (int g = 0; g < run.gpus; g++)
		threads.emplace_back(train, std::cref(run), g);
	for (std::thread &t : threads)
		t.join();
	for (ncclComm_t comm : run.comms)
		NCCL(ncclCommDestroy(comm));
	return 0;
}
