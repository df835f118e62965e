/* SPDX-License-Identifier: Apache-2.0 */

/* Records the signal that ended a child, when the parent waits for it: a killed process cannot
 * record this itself. May run in a signal handler: uses no locks and no heap, and keeps errno. */
#include "capture/library/attributes.h"
#include "capture/library/find/elf.h"
#include "capture/library/ring/process.h"
#include "capture/process_notes.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum function { WAIT4, WAITID, FUNCTIONS };
static void *functions[FUNCTIONS];

static void *c_function(enum function which)
{
	static const char *const names[FUNCTIONS] = {[WAIT4] = "wait4", [WAITID] = "waitid"};

	if (!functions[which])
		functions[which] = cap_elf_find_next(names[which]);
	return functions[which];
}

/* Before main(): signal handlers must not call the loader. */
__attribute__((constructor)) static void find_functions(void)
{
	for (enum function f = 0; f < FUNCTIONS; f++)
		c_function(f);
}

static void add_killed(pid_t pid, int signal)
{
	if (cap_process.session && pid > 0)
		cap_killed_add(cap_process.control, pid, signal);
}

CAP_API pid_t wait4(pid_t pid, int *status, int flags, struct rusage *usage)
{
	int own = 0;
	pid_t ended = ((pid_t(*)(pid_t, int *, int, struct rusage *))c_function(WAIT4))(
		pid, &own, flags, usage);

	if (ended > 0 && WIFSIGNALED(own))
		add_killed(ended, WTERMSIG(own));
	if (status && ended > 0)
		*status = own;
	return ended;
}

CAP_API pid_t wait3(int *status, int flags, struct rusage *usage)
{
	return wait4(-1, status, flags, usage);
}

CAP_API pid_t waitpid(pid_t pid, int *status, int flags)
{
	return wait4(pid, status, flags, NULL);
}

CAP_API pid_t wait(int *status)
{
	return wait4(-1, status, 0, NULL);
}

CAP_API int waitid(idtype_t type, id_t id, siginfo_t *info, int flags)
{
	siginfo_t own = {0}, *to = info ? info : &own;
	int r = ((int (*)(idtype_t, id_t, siginfo_t *, int))c_function(WAITID))(type, id, to,
										flags);

	if (r == 0 && !(flags & WNOWAIT) &&
	    (to->si_code == CLD_KILLED || to->si_code == CLD_DUMPED))
		add_killed(to->si_pid, to->si_status);
	return r;
}
