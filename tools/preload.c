/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/preload.h"

#include "base/scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int look_at(const char *folder, const char *place, const char *file, char **ret)
{
	scoped(free_ptr) char *path = NULL, *whole = NULL;

	if (asprintf(&path, "%s/%s", folder, place) < 0 ||
	    asprintf(&whole, "%s/%s", path, file) < 0)
		return -ENOMEM;
	if (access(whole, R_OK) != 0)
		return -errno;
	*ret = realpath(path, NULL);
	return *ret ? 0 : -errno;
}

int preload_folder(const char *file, const char *built, const char *installed, char **ret)
{
	scoped(free_ptr) char *self = realpath("/proc/self/exe", NULL);

	if (!self)
		return -errno;
	*strrchr(self, '/') = 0;
	if (look_at(self, built, file, ret) == 0)
		return 0;
	return look_at(self, installed, file, ret);
}

int preload_before(const char *variable, const char *first)
{
	const char *old = getenv(variable);
	char *value;

	if (asprintf(&value, "%s%s%s", first, old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	setenv(variable, value, 1);
	free(value);
	return 0;
}
