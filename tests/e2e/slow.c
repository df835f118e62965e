/* SPDX-License-Identifier: Apache-2.0 */

/* Preloaded: delays a program by two seconds when it begins to write a trace. */
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((visibility("default"))) int mkdir(const char *path, mode_t mode)
{
	int (*next)(const char *, mode_t) =
		(int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
	const char *name = strrchr(path, '/');

	if (name && strcmp(name, "/trace") == 0)
		sleep(2);
	return next(path, mode);
}
