/* SPDX-License-Identifier: Apache-2.0 */

/* Data-parallel training of a perceptron, one process for each GPU, started as by torchrun: RANK,
 * WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT in the environment. Each layer's gradients
 * are summed over the ranks on a separate stream while the backward pass of earlier layers runs.
 *
 *     ddp [--steps N] [--batch SAMPLES OF ALL RANKS] [--hidden N] [--layers N]
 *
 * Rank 0 prints a line for each step: number, loss, milliseconds between CUDA events.
 */
#include "mlp.cuh"

#include <arpa/inet.h>
#include <nccl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int from_environment(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value ? atoi(value) : otherwise;
}

/* Rank 0 sends the id to each rank that connects to MASTER_PORT. */
static void send_id(const ncclUniqueId &id, const sockaddr_in &at, int ranks)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (const sockaddr *)&at, sizeof(at)) || listen(listener, ranks)) {
		perror("MASTER_PORT");
		exit(1);
	}
	for (int i = 1; i < ranks; i++) {
		int peer = accept(listener, NULL, NULL);

		if (write(peer, &id, sizeof(id)) != sizeof(id))
			exit(1);
		close(peer);
	}
	close(listener);
}

static void receive_id(ncclUniqueId &id, const sockaddr_in &at)
{
	for (int tries = 0; tries < 600; tries++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(s, (const sockaddr *)&at, sizeof(at)) == 0 &&
		    recv(s, &id, sizeof(id), MSG_WAITALL) == sizeof(id)) {
			close(s);
			return;
		}
		close(s);
		usleep(50000);
	}
	fprintf(stderr, "nobody answers at MASTER_PORT\n");
	exit(1);
}

static ncclComm_t join_communicator(int rank, int ranks)
{
	const char *host = getenv("MASTER_ADDR");
	sockaddr_in at = {};
	ncclUniqueId id;
	ncclComm_t comm;

	at.sin_family = AF_INET;
	at.sin_port = htons(from_environment("MASTER_PORT", 29500));
	inet_pton(AF_INET, host && host[0] != 'l' ? host : "127.0.0.1", &at.sin_addr);
	if (rank == 0)
		NCCL(ncclGetUniqueId(&id));
	if (rank == 0 && ranks > 1)
		send_id(id, at, ranks);
	else if (rank > 0)
		receive_id(id, at);
	NCCL(ncclCommInitRank(&comm, ranks, id, rank));
	return comm;
}

int main(int argc, char **argv)
{
	int rank = from_environment("RANK", 0), ranks = from_environment("WORLD_SIZE", 1);
	int steps = option(argc, argv, "steps", 10), total = option(argc, argv, "batch", 256);
	int n = total / ranks;
	std::vector<int> sizes = network(argc, argv);
	std::vector<float> x, t;
	cudaEvent_t ready, reduced, before, after;
	cudaStream_t communication;

	setvbuf(stdout, NULL, _IOLBF, 0); /* prints each step at once */
	CUDA(cudaSetDevice(from_environment("LOCAL_RANK", rank)));
	ncclComm_t comm = join_communicator(rank, ranks);
	Mlp model(sizes, 0, (int)sizes.size() - 1, n);

	samples(sizes[0], sizes.back(), rank * n, n, x, t);
	float *dx = to_device(x), *dt = to_device(t), *dy = device_floats(t.size());
	float *sum = device_floats(1);

	CUDA(cudaStreamCreateWithFlags(&communication, cudaStreamNonBlocking));
	CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
	CUDA(cudaEventCreateWithFlags(&reduced, cudaEventDisableTiming));
	CUDA(cudaEventCreate(&before));
	CUDA(cudaEventCreate(&after));
	for (int step = 0; step < steps; step++) {
		mark_iteration(argc, argv);
		CUDA(cudaEventRecord(before, model.stream));
		float *y = model.forward(dx, n);

		model.loss_gradient(y, dt, n, total, dy);
		float loss = model.loss(dy, n, total), milliseconds;

		model.backward(dy, n, [&](Layer &l) {
			CUDA(cudaEventRecord(ready, model.stream));
			CUDA(cudaStreamWaitEvent(communication, ready, 0));
			NCCL(ncclAllReduce(l.dw, l.dw, l.parameters(), ncclFloat, ncclSum, comm,
					   communication));
		});
		CUDA(cudaEventRecord(reduced, communication));
		CUDA(cudaStreamWaitEvent(model.stream, reduced, 0));
		model.step(0.05f);
		CUDA(cudaEventRecord(after, model.stream));
		CUDA(cudaMemcpyAsync(sum, &loss, sizeof(loss), cudaMemcpyHostToDevice,
				     communication));
		NCCL(ncclReduce(sum, sum, 1, ncclFloat, ncclSum, 0, comm, communication));
		CUDA(cudaMemcpyAsync(&loss, sum, sizeof(loss), cudaMemcpyDeviceToHost,
				     communication));
		CUDA(cudaStreamSynchronize(communication));
		CUDA(cudaEventSynchronize(after));
		CUDA(cudaEventElapsedTime(&milliseconds, before, after));
		if (rank == 0)
			printf("%d %.6f %.4f\n", step, loss, milliseconds);
	}
	NCCL(ncclCommDestroy(comm));
	return 0;
}
