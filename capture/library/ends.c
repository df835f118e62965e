/* SPDX-License-Identifier: Apache-2.0 */

/* How a process ends, noted in its rings. Nothing has to be flushed: the rings are files, and calls
 * that still come (from destructors of other libraries) are still recorded. */
#include "capture/library/device/chain.h"
#include "capture/library/device/collector.h"
#include "capture/library/environment.h"
#include "capture/library/find/real.h"
#include "capture/library/started.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* Not in a child that shares this memory until it calls exec (vfork), nor in a forked one. */
static bool is_this_process(void)
{
	return cap_process.session && cap_is_alive() && getpid() == cap_process.pid;
}

static uint32_t ended; /* the generation whose chain was */

static void end_chain(void)
{
	/* From a signal that came within a hook: it holds what cap_chain_end() would wait for. */
	if (cap_self.hooking == 0 &&
	    __atomic_exchange_n(&ended, cap_process.generation, __ATOMIC_RELAXED) !=
		    cap_process.generation)
		cap_chain_end();
}

static void ends(enum cap_state state)
{
	int kept = errno;

	if (!is_this_process())
		return;
	end_chain();
	cap_threads_mark(state);
	errno = kept;
}

static void driver_ends(void)
{
	if (!is_this_process())
		return;
	end_chain();
	cap_collector_stop();
}

void cap_ends_driver_began(void)
{
	atexit(driver_ends);
}

__attribute__((destructor)) static void process_exits(void)
{
	ends(CAP_PROCESS_EXITED);
}

/* The C library's own. Found before main(): to look for one takes the loader's lock, which in a
 * forked child may be that of a thread that is not there. */
enum function { EXIT, EXIT_C, ABORT, EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP, FUNCTIONS };
static void *functions[FUNCTIONS];

static void *next(enum function which)
{
	static const char *const names[FUNCTIONS] = {
		[EXIT] = "_exit",	 [EXIT_C] = "_Exit",	  [ABORT] = "abort",
		[EXECVE] = "execve",	 [EXECVPE] = "execvpe",	  [FEXECVE] = "fexecve",
		[EXECVEAT] = "execveat", [SPAWN] = "posix_spawn", [SPAWNP] = "posix_spawnp",
	};

	if (!functions[which])
		functions[which] = cap_elf_next(names[which]);
	return functions[which];
}

/* quick_exit() calls no destructors; what was to be called first is called last. */
__attribute__((constructor)) static void find_functions(void)
{
	for (enum function f = 0; f < FUNCTIONS; f++)
		next(f);
	cap_own_path(); /* the same holds for that */
	at_quick_exit(process_exits);
}

__attribute__((noreturn)) static void leave_by(enum function which, int status)
{
	ends(CAP_PROCESS_EXITED);
	if (next(which))
		((void (*)(int))next(which))(status);
	__builtin_trap();
}

CAP_API void _exit(int status)
{
	leave_by(EXIT, status);
}

CAP_API void _Exit(int status)
{
	leave_by(EXIT_C, status);
}

CAP_API void abort(void)
{
	if (is_this_process())
		cap_threads_mark(CAP_PROCESS_ABORTED);
	if (next(ABORT))
		((void (*)(void))next(ABORT))();
	__builtin_trap();
}

static void execs(const char *path, char *const envp[])
{
	cap_started(getpid(), path, envp);
	ends(CAP_PROCESS_EXECED);
}

/* It did not: the program goes on, and ends another time. */
static int stays(int result)
{
	int kept = errno;

	cap_not_started(getpid());
	if (is_this_process()) {
		__atomic_store_n(&ended, 0, __ATOMIC_RELAXED);
		cap_threads_mark(CAP_LIVE);
	}
	errno = kept;
	return result;
}

/* `envp` as it shall be. */
#define TOLD(envp, told)                                                                           \
	size_t room = cap_environment_room(envp);                                                  \
	char *const *told = room ? cap_environment_put(envp, __builtin_alloca(room)) : envp

CAP_API int execve(const char *path, char *const argv[], char *const envp[])
{
	TOLD(envp, told);

	execs(path, envp);
	return stays(((int (*)(const char *, char *const[], char *const[]))next(EXECVE))(path, argv,
											 told));
}

CAP_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

CAP_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	TOLD(envp, told);

	execs(file, envp);
	return stays(((int (*)(const char *, char *const[], char *const[]))next(EXECVPE))(
		file, argv, told));
}

CAP_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

CAP_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	TOLD(envp, told);

	execs(NULL, envp);
	return stays(((int (*)(int, char *const[], char *const[]))next(FEXECVE))(fd, argv, told));
}

CAP_API int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	TOLD(envp, told);

	execs(path, envp);
	return stays(((int (*)(int, const char *, char *const[], char *const[], int))next(
		EXECVEAT))(dir, path, argv, told, flags));
}

typedef int spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
		  const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);

/* What has not begun is noted no longer. */
static int spawned(int result)
{
	if (result != 0)
		cap_not_started(-getpid());
	return result;
}

CAP_API int posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	TOLD(envp, told);

	cap_started(-getpid(), path, envp);
	return spawned(((spawn *)next(SPAWN))(ret, path, actions, attributes, argv, told));
}

CAP_API int posix_spawnp(pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attributes, char *const argv[],
			 char *const envp[])
{
	TOLD(envp, told);

	cap_started(-getpid(), file, envp);
	return spawned(((spawn *)next(SPAWNP))(ret, file, actions, attributes, argv, told));
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
