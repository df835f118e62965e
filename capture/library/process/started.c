/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/process/started.h"

#include "capture/library/find/elf.h"
#include "capture/library/process/environment.h"
#include "capture/library/ring/process.h"
#include "capture/process_notes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns why the program cannot join, as far as known before it starts; 0: no reason. */
static int find_obstacle(char *const envp[])
{
	uid_t user = geteuid();
	char path[CAP_PATH];
	struct stat st;

	if (!cap_environment_names_session(envp))
		return CAP_STARTED_ENVIRONMENT;
	if (cap_session_file(path, "control", 0) < 0 || stat(path, &st) < 0)
		return errno;
	if (user != 0 && user != st.st_uid)
		return EACCES; /* also if exec() changes the user: the file is not ours */
	return access(cap_own_path(), R_OK) < 0 ? CAP_STARTED_LIBRARY : 0;
}

static struct cap_started *find_entry(int pid)
{
	struct cap_started *all = cap_started_programs(cap_process.control);

	for (int i = 0; i < CAP_MAX_STARTED; i++)
		if (__atomic_load_n(&all[i].pid, __ATOMIC_RELAXED) == pid)
			return &all[i];
	return NULL;
}

/* If all entries are in use, the program is not noted. */
void cap_started_add(int pid, const char *path, char *const envp[])
{
	struct cap_started *s;
	int kept = errno, nobody = 0;

	if (!cap_process.session || !path)
		return;
	while ((s = find_entry(0)) &&
	       !__atomic_compare_exchange_n(&s->pid, &nobody, CAP_STARTED_WRITING, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		nobody = 0;
	if (s) {
		s->obstacle = find_obstacle(envp);
		memccpy(s->path, path, 0, sizeof(s->path) - 1);
		__atomic_store_n(&s->pid, pid, __ATOMIC_RELEASE);
	}
	errno = kept;
}

void cap_started_remove(int pid)
{
	struct cap_started *s = cap_process.session ? find_entry(pid) : NULL;

	if (s)
		__atomic_store_n(&s->pid, 0, __ATOMIC_RELEASE);
}

void cap_started_remove_self(void)
{
	struct cap_started *s = find_entry(getpid());

	if (!s)
		s = find_entry(-getppid());
	if (s)
		__atomic_store_n(&s->pid, 0, __ATOMIC_RELEASE);
}
