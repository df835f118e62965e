/* SPDX-License-Identifier: Apache-2.0 */

/* Records how child processes end: a killed process cannot report its end, and gpuemu is not the
 * parent of most processes. A process that waited for a child continues no earlier than the child's
 * end. wait() may be called in signal handlers, so symbols are resolved when the library is
 * loaded. */
#include "replay/emugpu/refuse.h"
#include "replay/emugpu/threads/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int64_t (*note_end)(int32_t pid, int status); /* NULL without an emulated driver */
static __typeof__(wait4) *real_wait4;
static __typeof__(waitid) *real_waitid;

__attribute__((constructor)) static void find_functions(void)
{
	real_wait4 = (__typeof__(wait4) *)dlsym(RTLD_NEXT, "wait4");
	real_waitid = (__typeof__(waitid) *)dlsym(RTLD_NEXT, "waitid");
	note_end = (int64_t(*)(int32_t, int))dlsym(RTLD_DEFAULT, "gpuemu_process_ended");
}

static void note_child_end(pid_t pid, int status)
{
	int saved = errno;

	if (pid > 0 && note_end && (WIFEXITED(status) || WIFSIGNALED(status)))
		emu_not_before(note_end(pid, status));
	errno = saved;
}

/* Constructors of libraries loaded earlier may call wait(). */
EMU_API pid_t wait4(pid_t pid, int *ret_status, int options, struct rusage *usage)
{
	int status = 0;
	pid_t ended;

	if (!real_wait4)
		find_functions();
	ended = real_wait4(pid, &status, options, usage);
	if (ended > 0 && ret_status)
		*ret_status = status;
	note_child_end(ended, status);
	return ended;
}

EMU_API pid_t wait3(int *ret_status, int options, struct rusage *usage)
{
	return wait4(-1, ret_status, options, usage);
}

EMU_API pid_t waitpid(pid_t pid, int *ret_status, int options)
{
	return wait4(pid, ret_status, options, NULL);
}

EMU_API pid_t wait(int *ret_status)
{
	return wait4(-1, ret_status, 0, NULL);
}

EMU_API int waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options)
{
	siginfo_t own = {0}, *info = ret_info ? ret_info : &own;
	int r;

	if (!real_waitid)
		find_functions();
	r = real_waitid(type, id, info, options);
	if (r < 0 || options & WNOWAIT)
		return r;
	if (info->si_code == CLD_EXITED)
		note_child_end(info->si_pid, (info->si_status & 0xff) << 8);
	else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
		note_child_end(info->si_pid, info->si_status);
	return r;
}
