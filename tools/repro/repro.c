/* SPDX-License-Identifier: Apache-2.0 */

/* Runs one launch of a kernel on a GPU, checks what it wrote, and measures it. The folder holds the
 * launch, as `gputrace extract` wrote it: `launch` (text), the code image, and contents of memory.
 * Needs the driver of CUDA 11.8 or later, no toolkit:
 *
 *     gcc repro.c -ldl -o repro && ./repro [--repeat=K] [FOLDER]
 *
 * Exit status: 0 the outputs are the same, or are not known; 1 they differ; 3 the folder cannot be
 * used; 4 there is no GPU, or it failed. `gpureplay FOLDER` runs the same code.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/repro/launch.c"

/* ---- the driver */

#define REPRO_CALLS(X)                                                                             \
	X(cuInit, (unsigned))                                                                      \
	X(cuDeviceGet, (int *, int))                                                               \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                                \
	X(cuCtxSetCurrent, (void *))                                                               \
	X(cuModuleLoadData, (void **, const void *))                                               \
	X(cuModuleGetFunction, (void **, void *, const char *))                                    \
	X(cuFuncSetAttribute, (void *, int, int))                                                  \
	X(cuMemAlloc_v2, (uint64_t *, size_t))                                                     \
	X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                       \
	X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                             \
	X(cuLaunchKernelEx, (const void *, void *, void **, void **))                              \
	X(cuEventCreate, (void **, unsigned))                                                      \
	X(cuEventRecord, (void *, void *))                                                         \
	X(cuEventElapsedTime, (float *, void *, void *))                                           \
	X(cuCtxSynchronize, (void))                                                                \
	X(cuGetErrorName, (int, const char **))

#define REPRO_MEMBER(name, parameters) int(*name) parameters;
#define REPRO_ROW(name, parameters) {#name, &repro_cu.name},
static struct {
	REPRO_CALLS(REPRO_MEMBER)
} repro_cu;

static int repro_open_driver(struct repro_result *r)
{
	static const struct {
		const char *name;
		void *to;
	} all[] = {REPRO_CALLS(REPRO_ROW)};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found;

	if (!driver)
		return repro_fail(r, REPRO_GPU, "no CUDA driver", dlerror());
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		found = dlsym(driver, all[i].name);
		if (!found)
			return repro_fail(r, REPRO_GPU, "the driver has no", all[i].name);
		memcpy(all[i].to, &found, sizeof(found));
	}
	return 1;
}

/* Makes a call of the driver: 1 unless it failed. */
#define REPRO_DO(name, ...) repro_ok(r, repro_cu.name(__VA_ARGS__), #name)

/* Returns 1 if the driver's result is success. */
static int repro_ok(struct repro_result *r, int result, const char *call)
{
	const char *name = "unknown error";

	if (result == 0)
		return 1;
	repro_cu.cuGetErrorName(result, &name);
	return repro_fail(r, REPRO_GPU, call, name);
}

static int repro_begin(struct repro_result *r)
{
	void *context;
	int device;

	return repro_open_driver(r) && REPRO_DO(cuInit, 0) && REPRO_DO(cuDeviceGet, &device, 0) &&
	       REPRO_DO(cuDevicePrimaryCtxRetain, &context, device) &&
	       REPRO_DO(cuCtxSetCurrent, context);
}

static int repro_load(const char *folder, const struct repro_launch *l, void **function,
		      struct repro_result *r)
{
	size_t n;
	unsigned char *image = NULL;
	void *module;
	int ok = 1;

	image = repro_file(folder, l->image, &n, r);
	ok = image && REPRO_DO(cuModuleLoadData, &module, image) &&
	     REPRO_DO(cuModuleGetFunction, function, module, l->kernel);
	for (unsigned i = 0; i < l->n_attributes && ok; i++)
		ok = REPRO_DO(cuFuncSetAttribute, *function, l->attributes[i].attribute,
			      l->attributes[i].value);
	free(image);
	return ok;
}

/* Deterministic numbers between 0 and 1, for unknown contents. */
static int repro_seed(uint64_t address, uint64_t bytes, struct repro_result *r)
{
	float *data = malloc(bytes + 4);
	uint64_t seed = 1;
	int ok;

	if (!data)
		return repro_fail(r, REPRO_GPU, "memory", strerror(ENOMEM));
	for (uint64_t i = 0; i * 4 < bytes; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = (float)(seed >> 40) / (1 << 24);
	}
	ok = REPRO_DO(cuMemcpyHtoD_v2, address, data, bytes);
	free(data);
	return ok;
}

static void repro_point(struct repro_launch *l)
{
	for (unsigned i = 0; i < l->n_pointers; i++) {
		uint64_t to = l->buffers[l->pointers[i].buffer].address + l->pointers[i].to;

		memcpy(l->parameters[l->pointers[i].parameter].bytes + l->pointers[i].offset, &to,
		       8);
	}
}

/* Allocates the buffers. */
static int repro_allocate(struct repro_launch *l, struct repro_result *r)
{
	for (unsigned i = 0; i < l->n_buffers; i++)
		if (!REPRO_DO(cuMemAlloc_v2, &l->buffers[i].address, l->buffers[i].bytes))
			return 0;
	repro_point(l);
	return 1;
}

/* Contents of memory before the launch. */
static int repro_fill(const char *folder, const struct repro_launch *l, struct repro_result *r)
{
	int ok = 1;

	for (unsigned i = 0; i < l->n_buffers && ok; i++)
		ok = repro_seed(l->buffers[i].address, l->buffers[i].bytes, r);
	for (unsigned i = 0; i < l->n_contents && ok; i++) {
		uint64_t at = l->buffers[l->contents[i].buffer].address + l->contents[i].offset;
		uint64_t left = l->buffers[l->contents[i].buffer].bytes - l->contents[i].offset;
		unsigned char *data;
		size_t n;

		if (l->contents[i].output)
			continue;
		data = repro_file(folder, l->contents[i].file, &n, r);
		ok = data && REPRO_DO(cuMemcpyHtoD_v2, at, data, n < left ? n : left);
		free(data);
	}
	return ok;
}

static int repro_start(struct repro_launch *l, void *function, struct repro_result *r)
{
	struct { /* CUlaunchAttribute */
		unsigned id, pad, value[16];
	} attributes[2] = {{.id = 4}, {.id = 2, .value = {1}}}; /* cluster, cooperative */
	void *parameters[REPRO_PARAMETERS + 1] = {0};

	for (unsigned i = 0; i < l->n_parameters; i++)
		parameters[i] = l->parameters[i].bytes;
	memcpy(attributes[0].value, l->cluster, sizeof(l->cluster));
	l->size.attributes = &attributes[l->cluster[0] ? 0 : 1];
	l->size.n_attributes = (l->cluster[0] ? 1 : 0) + (l->cooperative ? 1 : 0);
	return REPRO_DO(cuLaunchKernelEx, &l->size, function, parameters, NULL);
}

/* ---- the check */

static int repro_check(const char *folder, const struct repro_launch *l, unsigned i,
		       struct repro_result *r)
{
	uint64_t at = l->buffers[l->contents[i].buffer].address + l->contents[i].offset;
	uint64_t left = l->buffers[l->contents[i].buffer].bytes - l->contents[i].offset;
	size_t n = 0;
	unsigned char *want = repro_file(folder, l->contents[i].file, &n, r), *have;
	int ok;

	n = n < left ? n : left;
	have = malloc(n + 1);
	ok = want && have && REPRO_DO(cuMemcpyDtoH_v2, have, at, n);
	for (size_t k = 0; ok && k < n; k++)
		if (want[k] != have[k] && r->different_bytes++ == 0)
			snprintf(r->why, sizeof(r->why), "%s differs first at byte %zu of %zu",
				 l->contents[i].file, k, n);
	r->checked_bytes += n;
	free(want);
	free(have);
	return ok;
}

/* Launches it again and again, each time with the same contents of memory. */
static int repro_measure(const char *folder, struct repro_launch *l, void *function,
			 unsigned repeat, struct repro_result *r)
{
	void *before, *after;
	double us, total = 0;
	float ms;

	if (!REPRO_DO(cuEventCreate, &before, 0) || !REPRO_DO(cuEventCreate, &after, 0))
		return 0;
	while (r->n_times < repeat) {
		if (!repro_fill(folder, l, r) || !REPRO_DO(cuEventRecord, before, NULL) ||
		    !repro_start(l, function, r) || !REPRO_DO(cuEventRecord, after, NULL) ||
		    !REPRO_DO(cuCtxSynchronize) ||
		    !REPRO_DO(cuEventElapsedTime, &ms, before, after))
			return 0;
		us = 1000.0 * (double)ms;
		total += us;
		r->min_us = r->n_times == 0 || us < r->min_us ? us : r->min_us;
		r->mean_us = total / ++r->n_times;
	}
	return 1;
}

/* Runs an open launch; r->status is the outcome. */
static void repro_run(const char *folder, struct repro_launch *l, unsigned repeat,
		      struct repro_result *r)
{
	void *function;
	int ok = repro_begin(r) && repro_load(folder, l, &function, r) && repro_allocate(l, r) &&
		 repro_fill(folder, l, r) && repro_start(l, function, r) &&
		 REPRO_DO(cuCtxSynchronize);

	for (unsigned i = 0; i < l->n_contents && ok && !l->seeded; i++)
		ok = !l->contents[i].output || repro_check(folder, l, i, r);
	if (ok && repro_measure(folder, l, function, repeat, r) && r->different_bytes > 0)
		r->status = REPRO_DIFFERENT;
}

static void repro_print(const struct repro_result *r, FILE *out)
{
	fprintf(out, "%s: ", r->kernel);
	if (r->seeded)
		fprintf(out, "inputs were not recorded: ran on other data, outputs not checked\n");
	else if (r->different_bytes)
		fprintf(out, "%" PRIu64 " of %" PRIu64 " bytes differ; %s\n", r->different_bytes,
			r->checked_bytes, r->why);
	else
		fprintf(out, "%" PRIu64 " bytes of outputs are the same\n", r->checked_bytes);
	if (r->n_times)
		fprintf(out, "%u launches: minimum %.3f us, mean %.3f us\n", r->n_times, r->min_us,
			r->mean_us);
}

#ifndef REPRO_NO_MAIN
int main(int argc, char **argv)
{
	struct repro_launch l;
	struct repro_result r;
	const char *folder = ".";
	unsigned repeat = 0;

	for (int i = 1; i < argc; i++)
		if (sscanf(argv[i], "--repeat=%u", &repeat) != 1)
			folder = argv[i];
	if (repro_open(folder, &l, &r))
		repro_run(folder, &l, repeat, &r);
	if (r.status == REPRO_SAME || r.status == REPRO_DIFFERENT)
		repro_print(&r, stdout);
	else
		fprintf(stderr, "repro: %s\n", r.why);
	repro_launch_done(&l);
	return r.status;
}
#endif
