/* SPDX-License-Identifier: Apache-2.0 */

/* Modules and libraries: loaded images with their kernels and variables. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC 0x4d6f6475u
#define FUNCTION_MAGIC 0x46756e63u

struct emu_function *emu_function_of(CUfunction f)
{
	struct emu_function *e = (struct emu_function *)f;

	/* The runtime calls this for any unknown pointer. */
	if (!e || (uintptr_t)e % _Alignof(struct emu_function))
		return NULL;
	return e->magic == FUNCTION_MAGIC ? e : NULL;
}

struct emu_module *emu_module_of(const void *handle)
{
	struct emu_module *m = (struct emu_module *)(uintptr_t)handle;

	return m && emu_is_alive(m->magic, MAGIC, "module") ? m : NULL;
}

static CUresult load_module(const void *data, struct emu_context *c, int is_library,
			    struct emu_module **ret)
{
	const struct emu_device *d = c ? c->device : &emu.devices[0];
	int arch = (int)(d->model.compute * 10 + 0.5);
	scoped(free_ptr) struct emu_module *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = emu_image_parse(data, arch, &m->image);
	if (r < 0)
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
	m->functions = calloc(m->image.n_entries + 1, sizeof(*m->functions));
	if (!m->functions) {
		emu_image_done(&m->image);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < m->image.n_entries; i++)
		m->functions[i] = (struct emu_function){.magic = FUNCTION_MAGIC,
							.module = m,
							.entry = &m->image.entries[i],
							.dynamic_shared_bytes = 49152};
	m->magic = MAGIC;
	m->is_library = is_library;
	m->context = c;
	pthread_mutex_init(&m->lock, NULL);
	*ret = take(m);
	return CUDA_SUCCESS;
}

/* Structs remain allocated to recognise stale handles. */
static void unload_module(struct emu_module *m)
{
	static struct emu_module *unloaded;
	size_t bytes;

	pthread_mutex_lock(&emu.lock);
	m->next = unloaded;
	unloaded = m;
	pthread_mutex_unlock(&emu.lock);

	m->magic = 0;
	for (size_t i = 0; i < m->image.n_entries; i++)
		m->functions[i].magic = 0;
	for (int d = 0; d < EMU_DEVICES; d++) {
		for (size_t i = 0; m->variables[d] && i < m->image.n_variables; i++)
			if (m->variables[d][i] && !m->image.variables[i].managed)
				emu_memory_free(emu.devices[d].memory, m->variables[d][i], &bytes);
		free(m->variables[d]);
	}
}

static CUresult find_function(struct emu_module *m, const char *name, struct emu_function **ret)
{
	for (size_t i = 0; i < m->image.n_entries; i++)
		if (strcmp(m->image.entries[i].name, name) == 0) {
			*ret = &m->functions[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

/* Returns the address of a managed variable, the same for all devices. */
static CUdeviceptr managed_new(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct emu_region r = {.base = (uintptr_t)at, .bytes = bytes, .kind = EMU_MANAGED};

	if (at == MAP_FAILED || emu_region_add(&r) < 0)
		return 0;
	return (CUdeviceptr)at;
}

static CUdeviceptr variable_new(struct emu_module *m, const struct emu_variable *v,
				struct emu_device *d)
{
	uintptr_t at = 0;

	if (v->managed) {
		for (int k = 0; k < EMU_DEVICES; k++)
			if (m->variables[k] && m->variables[k][v - m->image.variables])
				return m->variables[k][v - m->image.variables];
		at = managed_new(v->bytes);
	} else if (emu_memory_alloc(d->memory, v->bytes, &at) < 0) {
		return 0;
	}
	if (at && v->init)
		memcpy((void *)at, v->init, v->bytes);
	else if (at)
		memset((void *)at, 0, v->bytes);
	return at;
}

static CUresult find_variable(struct emu_module *m, struct emu_device *d, const char *name,
			      CUdeviceptr *ret, size_t *bytes, int managed)
{
	CUresult r = CUDA_ERROR_NOT_FOUND;

	pthread_mutex_lock(&m->lock);
	CUdeviceptr **all = &m->variables[d->ordinal];

	if (!*all)
		*all = calloc(m->image.n_variables + 1, sizeof(**all));
	for (size_t i = 0; *all && i < m->image.n_variables; i++) {
		const struct emu_variable *v = &m->image.variables[i];

		if (strcmp(v->name, name) != 0 || (managed && !v->managed))
			continue;
		if (!(*all)[i])
			(*all)[i] = variable_new(m, v, d);
		if (ret)
			*ret = (*all)[i];
		if (bytes)
			*bytes = v->bytes;
		r = (*all)[i] ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		break;
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

CUresult emu_image_read(const char *path, char **ret, size_t *bytes)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	scoped(free_ptr) char *data = calloc(1, (size_t)st.st_size + 64);
	ssize_t n;

	if (!data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (off_t at = 0; at < st.st_size; at += n) {
		n = pread(fd, data + at, (size_t)(st.st_size - at), at);
		if (n <= 0)
			return CUDA_ERROR_FILE_NOT_FOUND;
	}
	*ret = take(data);
	*bytes = (size_t)st.st_size;
	return CUDA_SUCCESS;
}

/* ---- modules ---- */

EMU_API CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (!r)
		r = emu_capture_check(self);
	if (r)
		return r;
	if (!ret || !image)
		return CUDA_ERROR_INVALID_VALUE;
	return load_module(image, c, 0, (struct emu_module **)ret);
}

EMU_API CUresult cuModuleLoad(CUmodule *ret, const char *path)
{
	scoped(free_ptr) char *data = NULL;
	size_t bytes;
	CUresult r = emu_image_read(path, &data, &bytes);

	return r ? r : cuModuleLoadData(ret, data);
}

EMU_API CUresult cuModuleUnload(CUmodule handle)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_module *m = emu_module_of(handle);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	emu_context_wait(self, m->context);
	unload_module(m);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuModuleGetFunction(CUfunction *ret, CUmodule handle, const char *name)
{
	struct emu_module *m = emu_module_of(handle);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	return ret && name ? find_function(m, name, (struct emu_function **)ret)
			   : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuModuleEnumerateFunctions(CUfunction *ret, unsigned n, CUmodule handle)
{
	struct emu_module *m = emu_module_of(handle);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < n && i < m->image.n_entries; i++)
		ret[i] = (CUfunction)&m->functions[i];
	return CUDA_SUCCESS;
}

EMU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret, size_t *bytes, CUmodule handle,
				      const char *name)
{
	EMU_ENTER(EMU_CALL_FREE);
	struct emu_module *m = emu_module_of(handle);
	struct emu_context *c = NULL;
	CUresult r = CUDA_SUCCESS;

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (m->is_library)
		r = emu_current(self, &c);
	if (r)
		return r;
	return find_variable(m, c ? c->device : m->context->device, name, ret, bytes, 0);
}

/* ---- libraries ---- */

EMU_API CUresult cuLibraryLoadData(CUlibrary *ret, const void *code, CUjit_option *jit,
				   void **jit_values, unsigned n_jit, CUlibraryOption *options,
				   void **values, unsigned n)
{
	EMU_ENTER(EMU_CALL_MALLOC);

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret || !code)
		return CUDA_ERROR_INVALID_VALUE;
	return load_module(code, NULL, 1, (struct emu_module **)ret);
}

EMU_API CUresult cuLibraryLoadFromFile(CUlibrary *ret, const char *path, CUjit_option *jit,
				       void **jit_values, unsigned n_jit, CUlibraryOption *options,
				       void **values, unsigned n)
{
	scoped(free_ptr) char *data = NULL;
	size_t bytes;
	CUresult r = emu_image_read(path, &data, &bytes);

	return r ? r : cuLibraryLoadData(ret, data, jit, jit_values, n_jit, options, values, n);
}

EMU_API CUresult cuLibraryUnload(CUlibrary handle)
{
	struct emu_module *m = emu_module_of(handle);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	unload_module(m);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuLibraryGetGlobal(CUdeviceptr *ret, size_t *bytes, CUlibrary handle,
				    const char *name)
{
	EMU_ENTER(EMU_CALL_FREE);
	struct emu_module *m = emu_module_of(handle);
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	return r ? r : find_variable(m, c->device, name, ret, bytes, 0);
}

EMU_API CUresult cuLibraryGetManaged(CUdeviceptr *ret, size_t *bytes, CUlibrary handle,
				     const char *name)
{
	struct emu_module *m = emu_module_of(handle);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	return find_variable(m, &emu.devices[0], name, ret, bytes, 1);
}
