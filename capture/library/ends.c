/* SPDX-License-Identifier: Apache-2.0 */

/* How a process ends, noted in its rings. Nothing has to be flushed: the rings are files, and calls
 * that still come (from destructors of other libraries) are still recorded. */
#include "capture/library/chain.h"
#include "capture/library/real.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* Not in a child that shares this memory until it calls exec (vfork), nor in a forked one. */
static bool is_this_process(void)
{
	return cap_process.session && cap_live.alive && getpid() == cap_process.pid;
}

static uint32_t ended; /* the generation whose chain was */

static void ends(enum cap_state state)
{
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

/* It did not: the program goes on, and ends another time. */
static int stays(int result)
{
	int kept = errno;

	if (is_this_process()) {
		__atomic_store_n(&ended, 0, __ATOMIC_RELAXED);
		cap_threads_mark(CAP_LIVE);
	}
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

CAP_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	static void *f;

	execs();
	return stays(
		((int (*)(int, char *const[], char *const[]))next(&f, "fexecve"))(fd, argv, envp));
}

CAP_API int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	static void *f;

	execs();
	return stays(((int (*)(int, const char *, char *const[], char *const[], int))next(
		&f, "execveat"))(dir, path, argv, envp, flags));
}

/* Those that take their arguments one by one, as far as a NULL: how many, with that one. */
static size_t count(const char *first, va_list *list)
{
	size_t n = 1;

	if (first)
		for (n = 2; va_arg(*list, char *); n++)
			;
	return n;
}

static void collect(char **argv, size_t n, const char *first, va_list *list)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(*list, char *);
}

/* The arguments from `first` on, as `argv` on the stack of the caller: it may be a forked child. */
#define ARGUMENTS(first, list, argv)                                                               \
	size_t n_##argv;                                                                           \
	va_list list;                                                                              \
                                                                                                   \
	va_start(list, first);                                                                     \
	n_##argv = count(first, &list);                                                            \
	va_end(list);                                                                              \
	char **argv = __builtin_alloca(n_##argv * sizeof(*argv));                                  \
	va_start(list, first);                                                                     \
	collect(argv, n_##argv, first, &list)

CAP_API int execl(const char *path, const char *arg, ...)
{
	ARGUMENTS(arg, list, argv);
	va_end(list);
	return execv(path, argv);
}

CAP_API int execlp(const char *file, const char *arg, ...)
{
	ARGUMENTS(arg, list, argv);
	va_end(list);
	return execvp(file, argv);
}

CAP_API int execle(const char *path, const char *arg, ...)
{
	ARGUMENTS(arg, list, argv);
	char *const *envp = va_arg(list, char *const *);

	va_end(list);
	return execve(path, argv, envp);
}
