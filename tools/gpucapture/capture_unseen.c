/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpucapture/capture_unseen.h"

#include "base/scope.h"
#include "tools/cli.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MOST_SCRIPTS 4 /* maximum nesting of scripts that execute scripts */

/* Finds the file that a shell would execute. */
static bool find_command(const char *command, char ret[PATH_MAX])
{
	const char *at = getenv("PATH");

	if (strchr(command, '/') || !at)
		return snprintf(ret, PATH_MAX, "%s", command) < PATH_MAX;
	for (size_t n; *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, at, command) < PATH_MAX &&
		    access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

/* Returns true if the loader ignores the environment for that file: its privileges exceed those of
 * the user. */
static bool is_privileged(int fd)
{
	struct stat st;

	if (fgetxattr(fd, "security.capability", NULL, 0) > 0 && geteuid() != 0)
		return true;
	return fstat(fd, &st) == 0 && (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
				       ((st.st_mode & S_ISGID) && st.st_gid != getegid()));
}

static bool is_for_this_machine(const Elf64_Ehdr *e)
{
	scoped(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr own;

	return read(fd, &own, sizeof(own)) != sizeof(own) ||
	       (e->e_ident[EI_CLASS] == own.e_ident[EI_CLASS] && e->e_machine == own.e_machine);
}

static bool has_loader(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < e->e_phnum; i++)
		if (pread(fd, &p, sizeof(p), (off_t)(e->e_phoff + i * sizeof(p))) == sizeof(p) &&
		    p.p_type == PT_INTERP)
			return true;
	return false;
}

/* Returns the interpreter of a script, from the rest of its first line after "#!". */
static const char *interpreter(char *line)
{
	line += strspn(line, " \t");
	line[strcspn(line, " \t\n")] = '\0';
	return line;
}

/* Returns why a library cannot be preloaded into `command`; NULL: it can, or unknown. */
static const char *why_not(const char *command, int scripts)
{
	char path[PATH_MAX], head[PATH_MAX] = "";
	scoped(close_fd) int fd =
		find_command(command, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	Elf64_Ehdr e;

	if (fd < 0 || read(fd, head, sizeof(head) - 1) < 0)
		return NULL;
	memcpy(&e, head, sizeof(e));
	if (head[0] == '#' && head[1] == '!')
		return scripts > 0 ? why_not(interpreter(head + 2), scripts - 1) : NULL;
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (is_privileged(fd))
		return "it is setuid, or has capabilities";
	if (!is_for_this_machine(&e))
		return "it is built for another architecture";
	return has_loader(fd, &e) ? NULL : "it is statically linked";
}

/* Returns why a started program did not join the session; NULL: unknown. */
static const char *why_unjoined(const struct cap_started *s)
{
	switch (s->obstacle) {
	case CAP_STARTED_ENVIRONMENT:
		return "its environment does not contain GPUCAPTURE_SESSION";
	case CAP_STARTED_LIBRARY:
		return "libgpucapture.so does not exist in its file system";
	case EACCES:
		return "it runs as another user without access to the ring buffers";
	case ENOENT:
		return "it has another /dev/shm or root directory";
	default:
		return why_not(s->path, MOST_SCRIPTS);
	}
}

void capture_unseen_print(const struct rec_recorder *recorder, const char *program)
{
	const char *why = why_not(program, MOST_SCRIPTS);
	struct cap_started s;

	if (rec_recorder_unrecorded(recorder).processes == 0) {
		cli_error("%s cannot be recorded: %s", program,
			  why ? why : "it did not load the capture library");
		return;
	}
	for (unsigned i = 0; rec_recorder_unjoined(recorder, i, &s); i++) {
		why = why_unjoined(&s);
		if (why) {
			cli_error("%s made no CUDA call: nothing was recorded; %s, which it "
				  "started, cannot be recorded: %s",
				  program, s.path, why);
			return;
		}
	}
	cli_error("%s made no CUDA call: nothing was recorded", program);
}
