/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual time with one thread for each GPU: the GPUs work concurrently, and a thread that waits
 * for all of them is not earlier than the last. */
#include "tests/emugpu/check.h"
#include <gpuemu.h>

#include <condition_variable>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void idle()
{
}

static void idle_host()
{
}
GPUEMU_HOST_KERNEL(idle, idle_host)

/* Returns when a kernel launched now would start, in milliseconds since `from`. */
static float since(cudaEvent_t from)
{
	cudaEvent_t now;
	float ms;

	OK(cudaEventCreate(&now));
	OK(cudaEventRecord(now));
	OK(cudaEventSynchronize(now));
	OK(cudaEventElapsedTime(&ms, from, now));
	OK(cudaEventDestroy(now));
	return ms;
}

/* Sleeps as if the host ran another program: adds no virtual time. */
static void start_late()
{
	struct timespec t = {0, 20000000};

	syscall(SYS_nanosleep, &t, NULL);
}

int main()
{
	cudaEvent_t from;
	int count;
	std::vector<std::thread> threads;

	OK(cudaGetDeviceCount(&count));
	OK(cudaEventCreate(&from));
	OK(cudaEventRecord(from));
	idle<<<1 << 20, 1024>>>();
	float one = since(from);
	float before = since(from);

	TRUE(one > 2 && one < 20 && before < one + 1);
	/* All kernels take the same time. A thread that really starts late is not late in virtual
	 * time. */
	for (int i = 0; i < count; i++)
		threads.emplace_back([i] {
			OK(cudaSetDevice(i));
			idle<<<1 << 20, 1024>>>();
			OK(cudaDeviceSynchronize());
			if (i % 2)
				start_late();
		});
	for (auto &t : threads)
		t.join();
	float all = since(from);

	TRUE(all > before + 0.8f * one && all < before + 1.5f * one + 2);

	/* Through a condition variable. */
	std::mutex lock;
	std::condition_variable changed;
	bool done = false;
	/* so that the other thread waits, however late it starts */
	std::unique_lock<std::mutex> held(lock);
	std::thread worker([&] {
		OK(cudaSetDevice(count - 1));
		idle<<<1 << 20, 1024>>>();
		OK(cudaDeviceSynchronize());
		std::lock_guard<std::mutex> mine(lock);
		done = true;
		changed.notify_one();
	});
	changed.wait(held, [&] { return done; });
	held.unlock();
	TRUE(since(from) > all + 0.8f * one);
	worker.join();
	OK(cudaEventDestroy(from));
	return 0;
}
