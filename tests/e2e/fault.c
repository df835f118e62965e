/* SPDX-License-Identifier: Apache-2.0 */

/* A plug-in for gpuemu --kernels with a fault in the example's kernel `difference`: on GPU
 * $FAULT_GPU, its launch number $FAULT_LAUNCH writes one value that is wrong. */
#include <gpuemu.h>

#include <stdlib.h>

static int number_in(const char *variable)
{
	const char *value = getenv(variable);

	return value ? atoi(value) : -1;
}

static void run(struct gpuemu_launch *launch, void *const *args)
{
	static int launches[64];
	int n = *(const int *)args[0];
	const float *y = *(const float *const *)args[1], *t = *(const float *const *)args[2];
	float scale = *(const float *)args[3], *dy = *(float *const *)args[4];

	for (int i = 0; i < n; i++)
		dy[i] = (y[i] - t[i]) * scale;
	if (launch->device == number_in("FAULT_GPU") &&
	    launches[launch->device]++ == number_in("FAULT_LAUNCH"))
		dy[n - 1] += 1;
}

__attribute__((constructor)) static void add(void)
{
	static const size_t bytes[] = {4, 8, 8, 4, 8};
	static const struct gpuemu_kernel difference = {
		.name = "difference", .run = run, .arg_bytes = bytes, .n_args = 5};

	gpuemu_register(&difference);
}
