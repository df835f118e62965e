/* SPDX-License-Identifier: Apache-2.0 */

/* NVIDIA's driver names its threads through /proc/self/task/THREAD/comm, and cuInit() fails if it
 * cannot write there. The workers of a run share one set of rules about files
 * (replay/device/sandbox.h), made before their process numbers are known, so no rule can allow
 * these files alone. The driver calls fopen(): this one, exported by the program, opens another
 * file in their place. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef FILE *open_file(const char *path, const char *mode);

static FILE *open_real(const char *function, const char *path, const char *mode)
{
	open_file *real = (open_file *)dlsym(RTLD_NEXT, function);
	const char *name = strrchr(path, '/');

	if (name && strcmp(name, "/comm") == 0 && strncmp(path, "/proc/self/task/", 16) == 0)
		path = "/dev/null";
	return real(path, mode);
}

#define EXPORTED __attribute__((visibility("default")))
EXPORTED open_file named_fopen __asm__("fopen");
EXPORTED open_file named_fopen64 __asm__("fopen64");

FILE *named_fopen(const char *path, const char *mode)
{
	return open_real("fopen", path, mode);
}

FILE *named_fopen64(const char *path, const char *mode)
{
	return open_real("fopen64", path, mode);
}
