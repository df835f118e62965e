/* SPDX-License-Identifier: Apache-2.0 */

/* Records in the rings how the process ends: exit, abort, exec. No data must be flushed: rings are
 * files, and later calls (from destructors of other libraries) are still recorded. */
#include "capture/library/process/exit.h"

#include "capture/library/call/chain.h"
#include "capture/library/device/collector.h"
#include "capture/library/find/elf.h"
#include "capture/library/process/environment.h"
#include "capture/library/process/started.h"
#include "capture/library/ring/ring.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns false in a forked child, and in a child that shares this memory until it calls exec
 * (vfork). */
static bool is_this_process(void)
{
	return cap_process.session && cap_is_alive() && getpid() == cap_process.pid;
}

static uint32_t ended; /* the generation whose chain has ended */

static void finish_hooks(void)
{
	cap_chain_end();
	cap_collector_finish();
	cap_chain_ended();
}

static void end_chain(void)
{
	/* Not from a signal handler that interrupted a hook: the hook may hold locks. */
	if (cap_self.hooking == 0 &&
	    __atomic_exchange_n(&ended, cap_process.generation, __ATOMIC_RELAXED) !=
		    cap_process.generation)
		finish_hooks();
}

static void mark_end(enum cap_state state)
{
	int kept = errno;

	if (!is_this_process())
		return;
	end_chain();
	cap_rings_set_state(state);
	errno = kept;
}

static void before_driver_ends(void)
{
	if (!is_this_process())
		return;
	end_chain();
	cap_collector_stop();
}

void cap_exit_register(void)
{
	atexit(before_driver_ends);
}

__attribute__((destructor)) static void process_exits(void)
{
	mark_end(CAP_PROCESS_EXITED);
}

/* The C library's functions. Looked up before main(): a look-up takes the loader's lock, which in a
 * forked child may be held by a thread that does not exist. */
enum function { EXIT, EXIT_C, ABORT, EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP, FUNCTIONS };
static void *functions[FUNCTIONS];

static void *c_function(enum function which)
{
	static const char *const names[FUNCTIONS] = {
		[EXIT] = "_exit",	 [EXIT_C] = "_Exit",	  [ABORT] = "abort",
		[EXECVE] = "execve",	 [EXECVPE] = "execvpe",	  [FEXECVE] = "fexecve",
		[EXECVEAT] = "execveat", [SPAWN] = "posix_spawn", [SPAWNP] = "posix_spawnp",
	};

	if (!functions[which])
		functions[which] = cap_elf_find_next(names[which]);
	return functions[which];
}

/* quick_exit() calls no destructors. Registered first, called last. */
__attribute__((constructor)) static void find_functions(void)
{
	for (enum function f = 0; f < FUNCTIONS; f++)
		c_function(f);
	cap_own_path(); /* looks up its result for the same reason */
	at_quick_exit(process_exits);
}

__attribute__((noreturn)) static void leave_by(enum function which, int status)
{
	mark_end(CAP_PROCESS_EXITED);
	if (c_function(which))
		((void (*)(int))c_function(which))(status);
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
		cap_rings_set_state(CAP_PROCESS_ABORTED);
	if (c_function(ABORT))
		((void (*)(void))c_function(ABORT))();
	__builtin_trap();
}

static void before_exec(const char *path, char *const envp[])
{
	cap_started_add(getpid(), path, envp);
	mark_end(CAP_PROCESS_EXECED);
}

/* exec has failed: the program continues. */
static int exec_failed(int result)
{
	int kept = errno;

	cap_started_remove(getpid());
	if (is_this_process()) {
		__atomic_store_n(&ended, 0, __ATOMIC_RELAXED);
		cap_rings_set_state(CAP_LIVE);
	}
	errno = kept;
	return result;
}

/* Declares `env`: the environment for the new program, on the stack. */
#define COMPLETED(envp, env)                                                                       \
	size_t env_bytes = cap_environment_bytes(envp);                                            \
	char *const *env = env_bytes ? cap_environment_put(envp, __builtin_alloca(env_bytes)) : envp

CAP_API int execve(const char *path, char *const argv[], char *const envp[])
{
	COMPLETED(envp, env);

	before_exec(path, envp);
	return exec_failed(((int (*)(const char *, char *const[], char *const[]))c_function(
		EXECVE))(path, argv, env));
}

CAP_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

CAP_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	COMPLETED(envp, env);

	before_exec(file, envp);
	return exec_failed(((int (*)(const char *, char *const[], char *const[]))c_function(
		EXECVPE))(file, argv, env));
}

CAP_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

CAP_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	COMPLETED(envp, env);

	before_exec(NULL, envp);
	return exec_failed(
		((int (*)(int, char *const[], char *const[]))c_function(FEXECVE))(fd, argv, env));
}

CAP_API int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	COMPLETED(envp, env);

	before_exec(path, envp);
	return exec_failed(((int (*)(int, const char *, char *const[], char *const[],
				     int))c_function(EXECVEAT))(dir, path, argv, env, flags));
}

typedef int spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
		  const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);

/* Removes the note if the program was not started. */
static int spawned(int result)
{
	if (result != 0)
		cap_started_remove(-getpid());
	return result;
}

CAP_API int posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	COMPLETED(envp, env);

	cap_started_add(-getpid(), path, envp);
	return spawned(((spawn *)c_function(SPAWN))(ret, path, actions, attributes, argv, env));
}

CAP_API int posix_spawnp(pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attributes, char *const argv[],
			 char *const envp[])
{
	COMPLETED(envp, env);

	cap_started_add(-getpid(), file, envp);
	return spawned(((spawn *)c_function(SPAWNP))(ret, file, actions, attributes, argv, env));
}

/* Counts variable arguments up to and including a NULL. */
static size_t count_arguments(const char *first, va_list *list)
{
	size_t n = 1;

	if (first)
		for (n = 2; va_arg(*list, char *); n++)
			;
	return n;
}

static void collect_arguments(char **argv, size_t n, const char *first, va_list *list)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(*list, char *);
}

/* Declares `argv`: the arguments from `first` on, on the stack, since this may be a forked child.
 */
#define ARGUMENTS(first, list, argv)                                                               \
	size_t n_##argv;                                                                           \
	va_list list;                                                                              \
                                                                                                   \
	va_start(list, first);                                                                     \
	n_##argv = count_arguments(first, &list);                                                  \
	va_end(list);                                                                              \
	char **argv = __builtin_alloca(n_##argv * sizeof(*argv));                                  \
	va_start(list, first);                                                                     \
	collect_arguments(argv, n_##argv, first, &list)

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
