/* SPDX-License-Identifier: Apache-2.0 */

/* Pipeline-parallel training of a perceptron on two GPUs: the first half of its layers on GPU 0,
 * the second half on GPU 1. A batch is split into PARTS, so that both GPUs work concurrently; the
 * gradients of the parts are summed. With one GPU, or --gpus 1, both halves are on GPU 0.
 *
 *     pipeline [--gpus N] [--steps N] [--batch SAMPLES] [--parts N] [--hidden N] [--layers N]
 *              [--poll 1]
 *
 * Prints a line for each step: number, loss, milliseconds between CUDA events.
 */
#include "mlp.cuh"

/* One half of the network, and the memory it keeps for each part of the batch. */
struct Stage {
	int device;
	Mlp *model; /* of the current part; activations are recomputed for the backward pass */
	std::vector<float *> x;
	std::vector<cudaEvent_t> arrived;

	Stage(int number, const std::vector<int> &sizes, int first, int last, int n, int parts)
	    : device(number)
	{
		CUDA(cudaSetDevice(device));
		model = new Mlp(sizes, first, last, n);
		x.resize(parts);
		arrived.resize(parts);
		for (int p = 0; p < parts; p++) {
			x[p] = device_floats((size_t)sizes[first] * n);
			CUDA(cudaEventCreateWithFlags(&arrived[p], cudaEventDisableTiming));
		}
	}
};

/* Copies from a stage's stream to the other stage's memory; `event` marks the end. */
static void send(Stage &from, const float *data, Stage &to, float *there, size_t bytes,
		 cudaEvent_t event)
{
	CUDA(cudaSetDevice(from.device));
	CUDA(cudaMemcpyPeerAsync(there, to.device, data, from.device, bytes, from.model->stream));
	CUDA(cudaEventRecord(event, from.model->stream));
}

static void await(Stage &stage, cudaEvent_t event)
{
	CUDA(cudaSetDevice(stage.device));
	CUDA(cudaStreamWaitEvent(stage.model->stream, event, 0));
}

struct Pipeline {
	Stage first, second;
	int n, parts, total;
	size_t middle_bytes;
	std::vector<float *> t, dy, dmiddle;
	std::vector<cudaEvent_t> returned;

	Pipeline(const std::vector<int> &sizes, int gpus, int samples_of_all, int pieces)
	    : first(0, sizes, 0, (int)sizes.size() / 2, samples_of_all / pieces, pieces),
	      second(gpus > 1, sizes, (int)sizes.size() / 2, (int)sizes.size() - 1,
		     samples_of_all / pieces, pieces),
	      n(samples_of_all / pieces), parts(pieces), total(samples_of_all)
	{
		middle_bytes = (size_t)sizes[sizes.size() / 2] * n * sizeof(float);
		for (int p = 0; p < parts; p++) {
			std::vector<float> hx, ht;
			cudaEvent_t event;

			samples(sizes[0], sizes.back(), p * n, n, hx, ht);
			CUDA(cudaSetDevice(first.device));
			CUDA(cudaMemcpy(first.x[p], hx.data(), hx.size() * sizeof(float),
					cudaMemcpyHostToDevice));
			dmiddle.push_back(device_floats(middle_bytes / sizeof(float)));
			CUDA(cudaSetDevice(second.device));
			t.push_back(to_device(ht));
			CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
			returned.push_back(event);
			dy.push_back(device_floats(ht.size()));
		}
	}

	float step(float rate)
	{
		float loss = 0;

		for (int p = 0; p < parts; p++) {
			CUDA(cudaSetDevice(first.device));
			float *middle = first.model->forward(first.x[p], n);

			send(first, middle, second, second.x[p], middle_bytes, first.arrived[p]);
			await(second, first.arrived[p]);
			float *y = second.model->forward(second.x[p], n);

			second.model->loss_gradient(y, t[p], n, total, dy[p]);
			float *dx = second.model->backward(
				dy[p], n, [](Layer &) {}, p > 0);

			send(second, dx, first, dmiddle[p], middle_bytes, returned[p]);
			if (p > 0)
				back(p - 1);
		}
		back(parts - 1);
		CUDA(cudaSetDevice(second.device));
		second.model->step(rate);
		for (float *d : dy)
			loss += second.model->loss(d, n, total);
		CUDA(cudaSetDevice(first.device));
		first.model->step(rate);
		return loss;
	}

	/* The backward pass of the first half; its activations of that part are recomputed. */
	void back(int p)
	{
		await(first, returned[p]);
		first.model->forward(first.x[p], n);
		first.model->backward(
			dmiddle[p], n, [](Layer &) {}, p > 0);
	}
};

int main(int argc, char **argv)
{
	int steps = option(argc, argv, "steps", 10), total = option(argc, argv, "batch", 256);
	int parts = option(argc, argv, "parts", 4),
	    gpus = option(argc, argv, "gpus", device_count()),
	    poll = option(argc, argv, "poll", 0);
	Pipeline pipeline(network(argc, argv), gpus, total, parts);
	cudaEvent_t before, after;
	float milliseconds;

	CUDA(cudaSetDevice(0));
	CUDA(cudaEventCreate(&before));
	CUDA(cudaEventCreate(&after));
	for (int i = 0; i < steps; i++) {
		mark_iteration(argc, argv);
		CUDA(cudaSetDevice(0));
		CUDA(cudaEventRecord(before, pipeline.first.model->stream));
		float loss = pipeline.step(0.05f);

		CUDA(cudaEventRecord(after, pipeline.first.model->stream));
		while (poll && cudaEventQuery(after) == cudaErrorNotReady)
			;
		CUDA(cudaEventSynchronize(after));
		CUDA(cudaEventElapsedTime(&milliseconds, before, after));
		printf("%d %.6f %.4f\n", i, loss, milliseconds);
	}
	return 0;
}
