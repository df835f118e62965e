/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/find/real.h"

#include "capture/library/find/clock.h"
#include "capture/library/find/elf.h"
#include "formats/api/api.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVER "libcuda.so.1"

void *cap_reals[CAP_MAX_CALLS];

static struct cap_loader loader;
static bool loader_found; /* publishes `loader` */
static pthread_once_t loader_once = PTHREAD_ONCE_INIT, driver_once = PTHREAD_ONCE_INIT;
static void *driver;

#define MOST_PARTS 8
/* Start addresses of the driver's objects; NULL ends the list. Relaxed: publishes no other data. */
static const void *parts[MOST_PARTS];
static __thread bool is_opening CAP_THREAD_LOCAL;

static void find_loader(void)
{
	loader.dlopen = (void *(*)(const char *, int))cap_elf_find_next("dlopen");
	loader.dlsym = (void *(*)(void *, const char *))cap_elf_find_next("dlsym");
	loader.dlvsym = (void *(*)(void *, const char *, const char *))cap_elf_find_next("dlvsym");
	__atomic_store_n(&loader_found, true, __ATOMIC_RELEASE);
}

const struct cap_loader *cap_loader(void)
{
	if (unlikely(!__atomic_load_n(&loader_found, __ATOMIC_ACQUIRE)))
		pthread_once(&loader_once, find_loader);
	return &loader;
}

/* ---- the loader's cache */

#define MAGIC "glibc-ld.so.cache1.1"
#define HEAD 48
#define ENTRY 24

#if defined(__x86_64__)
#define FLAGS 0x0303 /* an ELF library of libc6, for x86-64 */
#elif defined(__aarch64__)
#define FLAGS 0x0a03
#else
#define FLAGS 0x0003
#endif

static uint32_t u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* The string at `offset`; NULL if it does not end within the file. */
static const char *string_at(const uint8_t *head, size_t len, uint32_t offset)
{
	if (offset >= len || !memchr(head + offset, 0, len - offset))
		return NULL;
	return (const char *)head + offset;
}

static int find_library(const uint8_t *file, size_t file_len, const char *library, char *ret,
			size_t ret_bytes)
{
	const uint8_t *head = memmem(file, file_len, MAGIC, strlen(MAGIC));
	size_t len = head ? file_len - (size_t)(head - file) : 0;

	if (len < HEAD || u32(head + 20) > (len - HEAD) / ENTRY)
		return -ENOENT;
	for (uint32_t i = 0; i < u32(head + 20); i++) {
		const uint8_t *entry = head + HEAD + (size_t)i * ENTRY;
		const char *name = string_at(head, len, u32(entry + 4));
		const char *path = string_at(head, len, u32(entry + 8));

		if (u32(entry) != FLAGS || !name || !path || strcmp(name, library) != 0 ||
		    strlen(path) >= ret_bytes)
			continue;
		strcpy(ret, path);
		return 0;
	}
	return -ENOENT;
}

/* Writes the path of `library` according to the cache. 0 or -ENOENT. */
static int find_in_cache(const char *library, char *ret, size_t ret_bytes)
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC), r = -ENOENT;
	struct stat st;
	void *map = MAP_FAILED;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map != MAP_FAILED) {
		r = find_library(map, (size_t)st.st_size, library, ret, ret_bytes);
		munmap(map, (size_t)st.st_size);
	}
	return r;
}

/* ---- the driver */

static void *open_path(const char *path, int traits)
{
	return cap_loader()->dlopen(path, RTLD_LAZY | traits);
}

/* Returns the object whose definition of `symbol` follows this library's in look-up order. */
static void *open_next(const char *symbol)
{
	void *found = cap_loader()->dlsym(RTLD_NEXT, symbol);
	Dl_info about;

	if (!found || !dladdr(found, &about) || !about.dli_fname)
		return NULL;
	return open_path(about.dli_fname, RTLD_NOLOAD);
}

/* Opens libcuda.so.1 in one of the colon-separated folders. */
static void *open_in_folders(const char *folders)
{
	char path[4096];

	while (folders && *folders) {
		size_t len = strcspn(folders, ":");

		if (len > 0 && len + sizeof(DRIVER) + 1 < sizeof(path)) {
			snprintf(path, sizeof(path), "%.*s/" DRIVER, (int)len, folders);
			if (access(path, R_OK) == 0) {
				void *handle = open_path(path, RTLD_GLOBAL);

				if (handle)
					return handle;
			}
		}
		folders += len + (folders[len] == ':');
	}
	return NULL;
}

static void *open_cached(void)
{
	char path[4096];

	return find_in_cache(DRIVER, path, sizeof(path)) == 0 ? open_path(path, RTLD_GLOBAL) : NULL;
}

/* Returns the handle; NULL if it is this library's. */
static void *not_ours(void *handle)
{
	return handle && cap_loader()->dlsym(handle, "gpucapture_mark_iteration") ? NULL : handle;
}

static void add_driver_part(const void *address)
{
	const void *none = NULL;
	Dl_info about;

	if (!address || !dladdr(address, &about))
		return;
	for (unsigned i = 0; i < MOST_PARTS; i++, none = NULL)
		if (__atomic_compare_exchange_n(&parts[i], &none, (const void *)about.dli_fbase,
						false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
}

bool cap_real_is_driver(const void *address)
{
	const void *part = __atomic_load_n(&parts[0], __ATOMIC_RELAXED);
	Dl_info about;

	if (is_opening)
		return true;
	if (!part || !dladdr(address, &about))
		return false;
	for (unsigned i = 1; part && part != about.dli_fbase; i++)
		part = i < MOST_PARTS ? __atomic_load_n(&parts[i], __ATOMIC_RELAXED) : NULL;
	return part != NULL;
}

void *cap_real_open_part(const char *file, int mode)
{
	void *handle = open_path(file, mode);

	if (handle)
		add_driver_part(cap_loader()->dlsym(handle, "cuInit"));
	return handle;
}

static void find_driver(void)
{
	const char *named = getenv("GPUCAPTURE_DRIVER");

	if (named && *named)
		driver = not_ours(open_path(named, RTLD_GLOBAL));
	else if (!(driver = not_ours(open_next("cuInit"))) &&
		 !(driver = not_ours(open_in_folders(getenv("LD_LIBRARY_PATH")))) &&
		 !(driver = not_ours(open_cached())))
		driver = not_ours(
			open_in_folders("/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
					"/usr/lib64:/usr/lib:/usr/local/nvidia/lib64:"
					"/usr/local/nvidia/lib:/usr/lib/wsl/lib:"
					"/run/opengl-driver/lib"));
}

static void open_driver(void)
{
	is_opening = true;
	find_driver();
	is_opening = false;
	add_driver_part(driver ? cap_loader()->dlsym(driver, "cuInit") : NULL);
}

void *cap_real_driver(void)
{
	int kept = errno;

	pthread_once(&driver_once, open_driver);
	errno = kept;
	return driver;
}

/* Finds a function of a library that the program has loaded: linked, opened with RTLD_LOCAL, or
 * linked statically into another library. */
static void *find_loaded(enum api_library library, const char *name)
{
	static const char *const files[API_N_LIBRARIES] = {
		[API_LIBRARY_NCCL] = "libnccl.so",
		[API_LIBRARY_CUBLAS] = "libcublas.so",
		[API_LIBRARY_CUBLASLT] = "libcublasLt.so",
	};
	void *found = cap_loader()->dlsym(RTLD_NEXT, name);

	if (!found)
		found = cap_elf_find_in(files[library], name);
	return found ? found : cap_elf_find_in("", name);
}

static void *find_in_driver(const char *name)
{
	return cap_real_driver() ? cap_loader()->dlsym(driver, name) : NULL;
}

void *cap_real_wrapped(const char *name, void *real)
{
	void *(*wrap)(const char *name, void *real, void *(*find)(const char *name));
	void *defined = cap_loader()->dlsym(RTLD_DEFAULT, "gpucapture_wrap_driver");

	memcpy(&wrap, &defined, sizeof(wrap));
	return wrap && real ? wrap(name, real, find_in_driver) : real;
}

static void *find_real(enum api_library library, const char *name)
{
	int kept = errno;
	void *found = library == API_LIBRARY_CUDA ? cap_real_wrapped(name, find_in_driver(name))
						  : find_loaded(library, name);

	errno = kept;
	return found;
}

void *cap_real(enum cap_library library, const char *name)
{
	static const enum api_library libraries[CAP_LIBRARIES] = {
		[CAP_DRIVER] = API_LIBRARY_CUDA,
		[CAP_NCCL] = API_LIBRARY_NCCL,
		[CAP_CUBLAS] = API_LIBRARY_CUBLAS,
		[CAP_CUBLASLT] = API_LIBRARY_CUBLASLT,
	};

	char uncounted[128];
	void *found = NULL;

	/* Emulated libraries count calls of public functions, but not of emu_*. */
	snprintf(uncounted, sizeof(uncounted), "emu_%s", name);
	if (cap_is_emulated())
		found = find_real(libraries[library], uncounted);
	return found ? found : find_real(libraries[library], name);
}

/* Replacements for missing functions of a library: each returns the library's error status. */
static int no_driver(void)
{
	return 34; /* CUDA_ERROR_STUB_LIBRARY */
}

static int not_in_driver(void)
{
	return 500; /* CUDA_ERROR_NOT_FOUND */
}

static int not_in_nccl(void)
{
	return 5; /* ncclInvalidUsage */
}

static int not_in_cublas(void)
{
	return 15; /* CUBLAS_STATUS_NOT_SUPPORTED */
}

static void *return_null(void)
{
	return NULL;
}

static void *stand_in(const struct api_call *call)
{
	if (call->result.meaning != API_MEANING_STATUS)
		return (void *)return_null;
	switch ((enum api_library)call->library) {
	case API_LIBRARY_CUDA:
		return driver ? (void *)not_in_driver : (void *)no_driver;
	case API_LIBRARY_NCCL:
		return (void *)not_in_nccl;
	default:
		return (void *)not_in_cublas;
	}
}

void *cap_real_resolve(unsigned api)
{
	const struct api_call *call = api_call(api);
	void *real = find_real(call->library, call->name);

	/* Not stored: the program may load the library later. */
	if (!real)
		return stand_in(call);
	__atomic_store_n(&cap_reals[api], real, __ATOMIC_RELEASE);
	return real;
}
