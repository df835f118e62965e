/* SPDX-License-Identifier: Apache-2.0 */

/* How a process ends, noted in its rings. Nothing has to be flushed: the rings are files, and calls
 * that still come (from destructors of other libraries) are still recorded. */
#include "capture/library/chain.h"
#include "capture/library/real.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Not in a child that shares this memory until it calls exec (vfork), nor in a forked one. */
static bool is_this_process(void)
{
	return cap_process.session && cap_live.alive && getpid() == cap_process.pid;
}

static void ends(enum cap_state state)
{
	static uint32_t ended;
	int kept = errno;

	if (!is_this_process())
		return;
	/* From a signal that came within a hook: it holds what cap_chain_end() would wait for. */
	if (cap_self.hooking == 0 &&
	    __atomic_exchange_n(&ended, cap_process.generation, __ATOMIC_RELAXED) !=
		    cap_process.generation)
		cap_chain_end();
	cap_threads_mark(state);
	errno = kept;
}

__attribute__((destructor)) static void process_exits(void)
{
	ends(CAP_PROCESS_EXITED);
}

/* The C library's own, found at the first use. */
static void *next(void **function, const char *name)
{
	if (!*function)
		*function = cap_elf_next(name);
	return *function;
}

__attribute__((noreturn)) static void leave_by(const char *name, int status)
{
	void *f = NULL;

	ends(CAP_PROCESS_EXITED);
	if (next(&f, name))
		((void (*)(int))f)(status);
	__builtin_trap();
}

CAP_API void _exit(int status)
{
	leave_by("_exit", status);
}

CAP_API void _Exit(int status)
{
	leave_by("_Exit", status);
}

CAP_API void abort(void)
{
	void *f = NULL;

	if (is_this_process())
		cap_threads_mark(CAP_PROCESS_ABORTED);
	if (next(&f, "abort"))
		((void (*)(void))f)();
	__builtin_trap();
}

static void execs(void)
{
	ends(CAP_PROCESS_EXECED);
}

/* It did not: the program goes on. */
static int stays(int result)
{
	int kept = errno;

	if (is_this_process())
		cap_threads_mark(CAP_LIVE);
	errno = kept;
	return result;
}

CAP_API int execve(const char *path, char *const argv[], char *const envp[])
{
	static void *f;

	execs();
	return stays(((int (*)(const char *, char *const[], char *const[]))next(&f, "execve"))(
		path, argv, envp));
}

CAP_API int execv(const char *path, char *const argv[])
{
	static void *f;

	execs();
	return stays(((int (*)(const char *, char *const[]))next(&f, "execv"))(path, argv));
}

CAP_API int execvp(const char *file, char *const argv[])
{
	static void *f;

	execs();
	return stays(((int (*)(const char *, char *const[]))next(&f, "execvp"))(file, argv));
}

CAP_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	static void *f;

	execs();
	return stays(((int (*)(const char *, char *const[], char *const[]))next(&f, "execvpe"))(
		file, argv, envp));
}
