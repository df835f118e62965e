/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/preload.h"

#include "base/array.h"
#include "base/scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int find_in_folder(const char *folder, const char *place, const char *file, char **ret)
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
	if (find_in_folder(self, built, file, ret) == 0)
		return 0;
	return find_in_folder(self, installed, file, ret);
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

/* Returns the length of the sanitizer runtimes at the start of a list, including the colon after
 * them. */
static size_t sanitizers_length(const char *list)
{
	static const char *const runtimes[] = {"libasan.", "libtsan.", "liblsan.", "libubsan.",
					       "libclang_rt."};
	size_t len = 0;

	for (;;) {
		size_t n = strcspn(list + len, ": "), is = 0;
		const char *slash = memrchr(list + len, '/', n);
		const char *file = slash ? slash + 1 : list + len;

		for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
			is |= strncmp(file, runtimes[i], strlen(runtimes[i])) == 0;
		if (!is)
			return len;
		len += n + (list[len + n] != '\0');
	}
}

int preload_first(const char *list)
{
	const char *old = getenv("LD_PRELOAD");
	size_t n = old ? sanitizers_length(old) : 0;
	char *value;

	if (n == 0)
		return preload_before("LD_PRELOAD", list);
	if (asprintf(&value, "%.*s%s%s%s%s", (int)n, old, strchr(": ", old[n - 1]) ? "" : ":", list,
		     old[n] ? ":" : "", old + n) < 0)
		return -ENOMEM;
	setenv("LD_PRELOAD", value, 1);
	free(value);
	return 0;
}

int preload_can_name(const char *folder)
{
	return !strpbrk(folder, ": ");
}
