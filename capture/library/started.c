/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/started.h"

#include "capture/library/environment.h"
#include "capture/library/find/real.h"
#include "capture/library/session.h"
#include "capture/library/state.h"
#include "capture/noted.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why a program that is started from here cannot join, as far as can be told before. */
static int obstacle(char *const envp[])
{
	uid_t user = geteuid();
	char path[CAP_PATH];
	struct stat st;

	if (!cap_environment_names_session(envp))
		return CAP_START_ENVIRONMENT;
	if (cap_session_file(path, "control", 0) < 0 || stat(path, &st) < 0)
		return errno;
	if (user != 0 && user != st.st_uid)
		return EACCES; /* also where exec() takes the rights that it still has */
	return access(cap_own_path(), R_OK) < 0 ? CAP_START_LIBRARY : 0;
}

static struct cap_start *find(int pid)
{
	struct cap_start *all = cap_starts(cap_process.control);

	for (int i = 0; i < CAP_STARTS; i++)
		if (__atomic_load_n(&all[i].pid, __ATOMIC_RELAXED) == pid)
			return &all[i];
	return NULL;
}

/* Those that come first are kept. */
void cap_started(int pid, const char *path, char *const envp[])
{
	struct cap_start *s;
	int kept = errno, nobody = 0;

	if (!cap_process.session || !path)
		return;
	while ((s = find(0)) &&
	       !__atomic_compare_exchange_n(&s->pid, &nobody, CAP_START_WRITING, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		nobody = 0;
	if (s) {
		s->obstacle = obstacle(envp);
		memccpy(s->path, path, 0, sizeof(s->path) - 1);
		__atomic_store_n(&s->pid, pid, __ATOMIC_RELEASE);
	}
	errno = kept;
}

void cap_not_started(int pid)
{
	struct cap_start *s = cap_process.session ? find(pid) : NULL;

	if (s)
		__atomic_store_n(&s->pid, 0, __ATOMIC_RELEASE);
}

void cap_started_joined(void)
{
	struct cap_start *s = find(getpid());

	if (!s)
		s = find(-getppid());
	if (s)
		__atomic_store_n(&s->pid, 0, __ATOMIC_RELEASE);
}
