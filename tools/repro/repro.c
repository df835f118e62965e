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

#define REPRO_PARAMETERS 256
#define REPRO_PARAMETER_BYTES 32768
#define REPRO_ITEMS 4096 /* buffers, contents, pointers */
#define REPRO_NAME_BYTES 8192
#define REPRO_FILE_BYTES 64

enum { REPRO_SAME, REPRO_DIFFERENT, REPRO_FOLDER = 3, REPRO_GPU };

/* The contents of `launch`. */
struct repro_launch {
	char image[REPRO_FILE_BYTES], kernel[REPRO_NAME_BYTES];
	struct { /* CUlaunchConfig */
		unsigned grid[3], block[3], shared_bytes;
		void *stream, *attributes;
		unsigned n_attributes;
	} size;
	unsigned cluster[3], cooperative, seeded;
	struct {
		unsigned char *bytes;
		size_t n;
	} parameters[REPRO_PARAMETERS];
	struct {
		int attribute, value;
	} attributes[16];
	struct {
		uint64_t bytes, address; /* of the device */
	} buffers[REPRO_ITEMS];
	struct {
		unsigned buffer, output;
		uint64_t offset;
		char file[REPRO_FILE_BYTES];
	} contents[REPRO_ITEMS];
	struct { /* a word of a parameter that is an address in a buffer */
		unsigned parameter, buffer;
		uint64_t offset, to;
	} pointers[REPRO_ITEMS];
	unsigned n_parameters, n_attributes, n_buffers, n_contents, n_pointers;
};

struct repro_result {
	int status;	/* exit status */
	char why[4400]; /* the failure, or the first output that differs */
	uint64_t checked_bytes, different_bytes;
	unsigned seeded; /* inputs were not recorded: outputs are not checked */
	char kernel[256];
	unsigned n_times;
	double min_us, mean_us;
};

/* Functions return 1, or 0 after a failure; only the first failure is kept. */
static int repro_fail(struct repro_result *r, int status, const char *what, const char *detail)
{
	if (!r->status)
		snprintf(r->why, sizeof(r->why), "%.4200s: %.100s", what, detail);
	r->status = r->status ? r->status : status;
	return 0;
}

/* ---- the folder */

static void repro_launch_done(struct repro_launch *l)
{
	for (unsigned i = 0; i < l->n_parameters; i++)
		free(l->parameters[i].bytes);
	l->n_parameters = 0;
}

/* A name of a file in the folder itself. */
static int repro_is_file(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static int repro_parameter(struct repro_launch *l, const char *hex)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	unsigned char *bytes;

	if (l->n_parameters == REPRO_PARAMETERS || n == 0 || n > REPRO_PARAMETER_BYTES)
		return 0;
	bytes = calloc(1, n + 8);
	if (!bytes)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

		bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	l->parameters[l->n_parameters].bytes = bytes;
	l->parameters[l->n_parameters++].n = n;
	return 1;
}

static int repro_content(struct repro_launch *l, const char *line, unsigned output)
{
	unsigned i = l->n_contents;

	if (i == REPRO_ITEMS || sscanf(line, "%*s %u %" SCNu64 " %63s", &l->contents[i].buffer,
				       &l->contents[i].offset, l->contents[i].file) != 3)
		return 0;
	l->contents[i].output = output;
	l->n_contents++;
	return l->contents[i].buffer < l->n_buffers && repro_is_file(l->contents[i].file) &&
	       l->contents[i].offset <= l->buffers[l->contents[i].buffer].bytes;
}

static int repro_pointer(struct repro_launch *l, const char *line)
{
	unsigned i = l->n_pointers;

	if (i == REPRO_ITEMS ||
	    sscanf(line, "%*s %u %" SCNu64 " %u %" SCNu64, &l->pointers[i].parameter,
		   &l->pointers[i].offset, &l->pointers[i].buffer, &l->pointers[i].to) != 4)
		return 0;
	l->n_pointers++;
	return l->pointers[i].parameter < l->n_parameters && l->pointers[i].buffer < l->n_buffers &&
	       l->pointers[i].offset + 8 >= 8 &&
	       l->pointers[i].offset + 8 <= l->parameters[l->pointers[i].parameter].n;
}

static int repro_attribute(struct repro_launch *l, const char *line)
{
	unsigned i = l->n_attributes;

	if (i == sizeof(l->attributes) / sizeof(l->attributes[0]) ||
	    sscanf(line, "%*s %d %d", &l->attributes[i].attribute, &l->attributes[i].value) != 2)
		return 0;
	l->n_attributes++;
	return 1;
}

static int repro_buffer(struct repro_launch *l, const char *line)
{
	return l->n_buffers < REPRO_ITEMS &&
	       sscanf(line, "%*s %" SCNu64, &l->buffers[l->n_buffers].bytes) == 1 &&
	       l->buffers[l->n_buffers++].bytes > 0;
}

/* Parses one line of `launch`. Returns 1, or 0 if it is invalid. */
static int repro_line(struct repro_launch *l, const char *line)
{
	const struct {
		const char *key;
		unsigned *to, n;
	} numbers[] = {{"grid", l->size.grid, 3},	    {"block", l->size.block, 3},
		       {"cluster", l->cluster, 3},	    {"shared", &l->size.shared_bytes, 1},
		       {"cooperative", &l->cooperative, 1}, {"seeded", &l->seeded, 1}};
	char key[16] = "";

	sscanf(line, "%15s", key);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		unsigned *to = numbers[i].to;

		if (strcmp(key, numbers[i].key) == 0)
			return numbers[i].n == 1
				       ? sscanf(line, "%*s %u", to) == 1
				       : sscanf(line, "%*s %u %u %u", to, to + 1, to + 2) == 3;
	}
	if (strcmp(key, "image") == 0)
		return sscanf(line, "%*s %63s", l->image) == 1 && repro_is_file(l->image);
	if (strcmp(key, "kernel") == 0)
		return sscanf(line, "%*s %8191s", l->kernel) == 1;
	if (strcmp(key, "attribute") == 0)
		return repro_attribute(l, line);
	if (strcmp(key, "parameter") == 0)
		return repro_parameter(l, line + 9 + strspn(line + 9, " "));
	if (strcmp(key, "buffer") == 0)
		return repro_buffer(l, line);
	if (strcmp(key, "input") == 0 || strcmp(key, "output") == 0)
		return repro_content(l, line, key[0] == 'o');
	return strcmp(key, "pointer") == 0 && repro_pointer(l, line);
}

/* Reads the text of `launch`. */
static int repro_read(FILE *f, struct repro_launch *l, struct repro_result *r)
{
	char *line = NULL;
	size_t cap = 0;
	int ok = getline(&line, &cap, f) > 0 && strcmp(line, "gputrace launch 1\n") == 0;

	while (ok && getline(&line, &cap, f) > 0)
		ok = repro_line(l, line);
	ok = ok && l->image[0] && l->kernel[0];
	if (!ok)
		repro_fail(r, REPRO_FOLDER, "`launch` is not of this version, or invalid at",
			   line ? line : "its begin");
	free(line);
	return ok;
}

/* A file of the folder; NULL. It ends with a zero byte, as PTX must. */
static unsigned char *repro_file(const char *folder, const char *name, size_t *n,
				 struct repro_result *r)
{
	char path[4096];
	unsigned char *data = NULL;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (f && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode))
		data = malloc((size_t)st.st_size + 1);
	if (data) {
		*n = fread(data, 1, (size_t)st.st_size, f);
		data[*n] = 0;
	} else {
		repro_fail(r, REPRO_FOLDER, path, f ? "cannot be read" : strerror(errno));
	}
	if (f)
		fclose(f);
	return data;
}

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

static int repro_load(const char *folder, const struct repro_launch *l, void **function,
		      struct repro_result *r)
{
	size_t n;
	unsigned char *image = repro_file(folder, l->image, &n, r);
	void *context, *module;
	int device, ok;

	ok = image && repro_open_driver(r) && REPRO_DO(cuInit, 0) &&
	     REPRO_DO(cuDeviceGet, &device, 0) &&
	     REPRO_DO(cuDevicePrimaryCtxRetain, &context, device) &&
	     REPRO_DO(cuCtxSetCurrent, context) && REPRO_DO(cuModuleLoadData, &module, image) &&
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

static int repro_allocate(struct repro_launch *l, struct repro_result *r)
{
	for (unsigned i = 0; i < l->n_buffers; i++)
		if (!REPRO_DO(cuMemAlloc_v2, &l->buffers[i].address, l->buffers[i].bytes))
			return 0;
	for (unsigned i = 0; i < l->n_pointers; i++) {
		uint64_t to = l->buffers[l->pointers[i].buffer].address + l->pointers[i].to;

		memcpy(l->parameters[l->pointers[i].parameter].bytes + l->pointers[i].offset, &to,
		       8);
	}
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

static int repro_open(const char *folder, struct repro_launch *l, struct repro_result *r)
{
	char path[4096];
	FILE *f;
	int ok;

	memset(l, 0, sizeof(*l));
	memset(r, 0, sizeof(*r));
	snprintf(path, sizeof(path), "%s/launch", folder);
	f = fopen(path, "r");
	if (!f)
		return repro_fail(r, REPRO_FOLDER, path, strerror(errno));
	ok = repro_read(f, l, r);
	fclose(f);
	r->seeded = l->seeded;
	snprintf(r->kernel, sizeof(r->kernel), "%.255s", l->kernel);
	return ok;
}

/* Runs an open launch; r->status is the outcome. */
static void repro_run(const char *folder, struct repro_launch *l, unsigned repeat,
		      struct repro_result *r)
{
	void *function;
	int ok = repro_load(folder, l, &function, r) && repro_allocate(l, r) &&
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
