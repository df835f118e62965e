/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/process/environment.h"

#include "capture/library/find/elf.h"
#include "capture/library/ring/process.h"

#include <string.h>

#define PRELOAD "LD_PRELOAD="
#define SESSION CAP_SESSION_VARIABLE "="
#define MOST_BYTES (256u << 10)

/* Returns the value of a variable, whose name is passed with `=`, or NULL. */
static const char *value_of(char *const envp[], const char *variable)
{
	size_t n = strlen(variable);

	for (; *envp; envp++)
		if (strncmp(*envp, variable, n) == 0)
			return *envp + n;
	return NULL;
}

static size_t count_entries(char *const envp[])
{
	size_t n = 0;

	while (envp[n])
		n++;
	return n;
}

bool cap_environment_names_session(char *const envp[])
{
	const char *session = envp ? value_of(envp, SESSION) : NULL;

	return session && strcmp(session, cap_process.folder) == 0;
}

size_t cap_environment_bytes(char *const envp[])
{
	const char *preload;
	size_t bytes;

	if (!cap_process.session || !cap_environment_names_session(envp))
		return 0;
	preload = value_of(envp, PRELOAD);
	if (preload && strstr(preload, cap_own_path()))
		return 0;
	bytes = (count_entries(envp) + 2) * sizeof(*envp) + sizeof(PRELOAD) +
		strlen(cap_own_path()) + 1 + (preload ? strlen(preload) : 0);
	return bytes <= MOST_BYTES ? bytes : 0;
}

char *const *cap_environment_put(char *const envp[], void *space)
{
	const char *old = value_of(envp, PRELOAD);
	size_t n = count_entries(envp), to = 1;
	char **result = space, *text = (char *)(result + n + 2);

	result[0] = text;
	text = stpcpy(stpcpy(text, PRELOAD), cap_own_path());
	if (old && *old)
		stpcpy(stpcpy(text, ":"), old);
	for (; *envp; envp++)
		if (strncmp(*envp, PRELOAD, strlen(PRELOAD)) != 0)
			result[to++] = *envp;
	result[to] = NULL;
	return result;
}
