/* SPDX-License-Identifier: Apache-2.0 */

/* Registration of fat binaries, kernels and variables by programs compiled by nvcc, before main().
 * Kernels and variables are identified by host addresses. Images are loaded on first use. */
#include "replay/emugpu/runtime/runtime.h"

#include "base/array.h"

#include <pthread.h>

enum kind { KERNEL, VARIABLE, MANAGED };

struct image {
	const void *data; /* the fat binary's wrapper */
	CUlibrary library;
	int gone;
};

struct symbol {
	const void *host;
	const char *name; /* the program's */
	struct image *image;
	enum kind kind;
	void **pointer; /* MANAGED: the program reads its address here */
	CUkernel kernel;
};

static struct {
	pthread_mutex_t lock;
	struct symbol **slots; /* a hash table: open addressing by `host` */
	size_t n_slots, n;
} symbols = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t hash(const void *p)
{
	return (size_t)(((uintptr_t)p >> 2) * 0x9e3779b97f4a7c15u);
}

/* Returns the slot of `host`, or a free slot for it. */
static struct symbol **find_slot(struct symbol **slots, size_t n, const void *host)
{
	size_t i = hash(host) >> 8;

	while (slots[i & (n - 1)] && slots[i & (n - 1)]->host != host)
		i++;
	return &slots[i & (n - 1)];
}

static int grow_table(void)
{
	size_t n = symbols.n_slots ? symbols.n_slots * 2 : 1024;
	struct symbol **slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < symbols.n_slots; i++)
		if (symbols.slots[i])
			*find_slot(slots, n, symbols.slots[i]->host) = symbols.slots[i];
	free(symbols.slots);
	symbols.slots = slots;
	symbols.n_slots = n;
	return 0;
}

static void add_symbol(const struct symbol *s)
{
	struct symbol *kept = malloc(sizeof(*kept)), **at;

	if (!kept)
		return;
	*kept = *s;
	pthread_mutex_lock(&symbols.lock);
	if (symbols.n * 2 >= symbols.n_slots && grow_table() < 0) {
		free(kept);
	} else {
		at = find_slot(symbols.slots, symbols.n_slots, s->host);
		symbols.n += !*at;
		*at = kept; /* replaces a symbol of an unloaded library */
	}
	pthread_mutex_unlock(&symbols.lock);
}

static struct symbol *find_symbol(const void *host)
{
	struct symbol *s = NULL;

	pthread_mutex_lock(&symbols.lock);
	if (symbols.n_slots)
		s = *find_slot(symbols.slots, symbols.n_slots, host);
	pthread_mutex_unlock(&symbols.lock);
	return s && !s->image->gone ? s : NULL;
}

static cudaError_t load_image(struct image *i)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&symbols.lock);
	if (!i->library)
		r = RT_DRIVER(cuLibraryLoadData)(&i->library, i->data, NULL, NULL, 0, NULL, NULL,
						 0);
	pthread_mutex_unlock(&symbols.lock);
	return rt_result(r);
}

cudaError_t rt_kernel(const void *function, CUkernel *ret)
{
	struct symbol *s = find_symbol(function);
	cudaError_t e = rt_ready();
	const char *name;

	if (e)
		return e;
	if (!s || s->kind != KERNEL) {
		/* Kernel handles are accepted too. */
		if (!function || RT_DRIVER(cuFuncGetName)(&name, (CUfunction)(uintptr_t)function))
			return rt_error(cudaErrorInvalidDeviceFunction);
		*ret = (CUkernel)(uintptr_t)function;
		return cudaSuccess;
	}
	if (!s->kernel) {
		e = load_image(s->image);
		if (e)
			return e;
		if (RT_DRIVER(cuLibraryGetKernel)(&s->kernel, s->image->library, s->name))
			return rt_error(cudaErrorInvalidDeviceFunction);
	}
	*ret = s->kernel;
	return cudaSuccess;
}

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret, size_t *bytes)
{
	struct symbol *s = find_symbol(symbol);
	cudaError_t e = rt_ready();

	if (e)
		return e;
	if (!s || s->kind == KERNEL)
		return rt_error(cudaErrorInvalidSymbol);
	e = load_image(s->image);
	if (e)
		return e;
	if (RT_DRIVER(cuLibraryGetGlobal)(ret, bytes, s->image->library, s->name))
		return rt_error(cudaErrorInvalidSymbol);
	return cudaSuccess;
}

/* ---- called by compiler-generated code; declared in crt/host_runtime.h ---- */

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name,
			      int ext, size_t bytes, int constant, int global);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, struct uint3 *tid, struct uint3 *bid, struct dim3 *block,
			    struct dim3 *grid, int *warp);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
void __cudaRegisterUnifiedTable(void **handle, void *table);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *ret, const void *function);

EMU_API void **__cudaRegisterFatBinary(void *wrapper)
{
	struct image *i = calloc(1, sizeof(*i));

	if (i)
		i->data = wrapper;
	return (void **)i;
}

EMU_API void __cudaRegisterFatBinaryEnd(void **handle)
{
}

EMU_API void __cudaUnregisterFatBinary(void **handle)
{
	struct image *i = (struct image *)handle;

	/* The program frees its image; the loaded library is a copy. */
	if (i)
		i->gone = 1;
}

EMU_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
				    int limit, struct uint3 *tid, struct uint3 *bid,
				    struct dim3 *block, struct dim3 *grid, int *warp)
{
	add_symbol(&(struct symbol){.host = host, .name = name, .image = (struct image *)handle});
}

EMU_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
			       size_t bytes, int constant, int global)
{
	add_symbol(&(struct symbol){
		.host = host, .name = name, .image = (struct image *)handle, .kind = VARIABLE});
}

EMU_API void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name,
				      int ext, size_t bytes, int constant, int global)
{
	add_symbol(&(struct symbol){.host = pointer,
				    .name = name,
				    .image = (struct image *)handle,
				    .kind = MANAGED,
				    .pointer = pointer});
}

EMU_API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
	emu_refuse_use("libcudart.so.13", "__cudaRegisterHostVar");
}

EMU_API void __cudaRegisterUnifiedTable(void **handle, void *table)
{
	emu_refuse_use("libcudart.so.13", "__cudaRegisterUnifiedTable");
}

/* Sets the addresses of managed variables; called before their first use. As in NVIDIA's runtime,
 * no context is current then. */
EMU_API char __cudaInitModule(void **handle)
{
	struct image *image = (struct image *)handle;
	CUcontext current;
	CUdeviceptr at;
	char done = 1;

	if (rt_ready() || load_image(image))
		return 0;
	current = rt_current();
	RT_DRIVER(cuCtxSetCurrent)(NULL);
	for (size_t i = 0; i < symbols.n_slots; i++) {
		struct symbol *s = symbols.slots[i];

		if (!s || s->image != image || s->kind != MANAGED)
			continue;
		if (RT_DRIVER(cuLibraryGetManaged)(&at, NULL, image->library, s->name))
			done = 0;
		else
			*s->pointer = (void *)at;
	}
	RT_DRIVER(cuCtxSetCurrent)(current);
	return done;
}

EMU_API cudaError_t __cudaGetKernel(cudaKernel_t *ret, const void *function)
{
	return rt_kernel(function, (CUkernel *)ret);
}
