/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/functions.h"

#include "replay/device/placement.h"

#include <dlfcn.h>
#include <string.h>

#define STUB_LIBRARY 34 /* CUDA_ERROR_STUB_LIBRARY: of a capture library without a driver */

static void *handles[API_N_LIBRARIES];
static void (*mark)(int64_t number); /* of a capture library */

void rex_functions_open(void)
{
	static const char *const files[API_N_LIBRARIES][2] = {
		[API_LIBRARY_CUDA] = {"libcuda.so.1", NULL},
		[API_LIBRARY_NCCL] = {"libnccl.so.2", NULL},
		[API_LIBRARY_CUBLAS] = {"libcublas.so.13", "libcublas.so.12"},
		[API_LIBRARY_CUBLASLT] = {"libcublasLt.so.13", "libcublasLt.so.12"},
	};
	void *found = dlsym(RTLD_DEFAULT, "gpucapture_mark_numbered");

	memcpy(&mark, &found, sizeof(mark));
	for (int i = 0; i < API_N_LIBRARIES; i++)
		for (int k = 0; k < 2 && files[i][k] && !handles[i]; k++)
			handles[i] = dlopen(files[i][k], RTLD_NOW | RTLD_GLOBAL);
}

static void *find_driver(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found && handles[API_LIBRARY_CUDA])
		found = dlsym(handles[API_LIBRARY_CUDA], name);
	return found;
}

void *rex_function(const char *name, enum api_library library)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found && handles[library])
		found = dlsym(handles[library], name);
	/* A capture library queries the replacement of a driver function. */
	return mark || library != API_LIBRARY_CUDA ? found
						   : rex_placement_wrap(name, found, find_driver);
}

const char *rex_error_name(int32_t error)
{
	void *found = rex_function("cuGetErrorName", API_LIBRARY_CUDA);
	int (*get_name)(int, const char **);
	const char *name = NULL;

	memcpy(&get_name, &found, sizeof(get_name));
	if (found && get_name(error, &name) == 0 && name)
		return name;
	return error == STUB_LIBRARY ? "CUDA_ERROR_STUB_LIBRARY" : "unknown error";
}

/* Called by a capture library for each driver function that it finds. */
__attribute__((visibility("default"))) void *
gpucapture_wrap_driver(const char *name, void *real, void *(*find)(const char *name));

void *gpucapture_wrap_driver(const char *name, void *real, void *(*find)(const char *name))
{
	return rex_placement_wrap(name, real, find);
}

#define REGISTERS 6
#define STACK_WORDS 40

typedef uint64_t function_type(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			       uint64_t, uint64_t, uint64_t, uint64_t);

/* The System V ABI of x86-64: integers and pointers are passed in six registers, then on the stack;
 * structs of more than 16 bytes on the stack. A function ignores extra words. */
uint64_t rex_invoke(void *function, const struct api_call *call, const uint64_t *words)
{
	uint64_t r[REGISTERS] = {0}, s[STACK_WORDS] = {0};
	unsigned n = 0, m = 0;
	function_type *f;

	memcpy(&f, &function, sizeof(f));
	for (unsigned i = 0; i < call->n_args; i++) {
		const struct api_arg *a = &call->args[i];
		unsigned count = a->bytes > 8 ? (a->bytes + 7u) / 8 : 1;
		bool in_registers = count <= 2 && n + count <= REGISTERS;

		for (unsigned k = 0; k < count; k++) {
			if (in_registers)
				r[n++] = words[a->word + k];
			else if (m < STACK_WORDS)
				s[m++] = words[a->word + k];
		}
	}
	return f(r[0], r[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7],
		 s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17], s[18], s[19],
		 s[20], s[21], s[22], s[23], s[24], s[25], s[26], s[27], s[28], s[29], s[30], s[31],
		 s[32], s[33], s[34], s[35], s[36], s[37], s[38], s[39]);
}

void rex_mark_iteration(int64_t number)
{
	if (mark)
		mark(number);
}

int rex_device(int recorded, int instead)
{
	void *found = instead > 0 ? rex_function("cuDeviceGetCount", API_LIBRARY_CUDA) : NULL;
	int (*get_count)(int *ret);
	int n = 0;

	memcpy(&get_count, &found, sizeof(found));
	if (instead < 0)
		return recorded;
	return get_count && get_count(&n) == 0 && n > 0 ? instead % n : instead;
}
