/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/sandbox.h"

#include "base/array.h"
#include "base/scope.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define TRUNCATE_VERSION 3 /* of landlock: it can refuse to truncate files */

/* All changes of a file system except truncation. */
#define WRITES                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                           \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                               \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                             \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static void allow_folder(int rules, uint64_t accesses, const char *folder)
{
	scoped(close_fd) int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr below = {.allowed_access = accesses, .parent_fd = fd};

	if (fd >= 0)
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
}

int rex_sandbox_files(const char *const *writable)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = WRITES};
	scoped(close_fd) int rules = -1;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (!writable)
		return 0;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >=
	    TRUNCATE_VERSION)
		attr.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	for (; *writable; writable++)
		allow_folder(rules, attr.handled_access_fs, *writable);
	return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}

#define REFUSED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define REFUSE(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), REFUSED

/* Blocks system calls that a driver and NCCL do not need. */
int rex_sandbox_calls(void)
{
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		REFUSED, /* 32-bit calls have other numbers */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(execve),
		REFUSE(execveat),
		REFUSE(ptrace),
		REFUSE(process_vm_writev),
		REFUSE(mount),
		REFUSE(umount2),
		REFUSE(pivot_root),
		REFUSE(chroot),
		REFUSE(setuid),
		REFUSE(setgid),
		REFUSE(setreuid),
		REFUSE(setresuid),
		REFUSE(unshare),
		REFUSE(setns),
		REFUSE(bpf),
		REFUSE(kexec_load),
		REFUSE(init_module),
		REFUSE(finit_module),
		REFUSE(reboot),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_SIZE(filter), (struct sock_filter *)filter};

	/* A positive number is a thread that has another filter. */
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);

	if (r >= 0)
		return r == 0 ? 0 : -EBUSY;
	return errno == ENOSYS || errno == EINVAL ? 0 : -errno;
}
