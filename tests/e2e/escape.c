/* SPDX-License-Identifier: Apache-2.0 */

/* A plug-in for gpuemu --kernels whose kernel does what code from a stranger must not be able to do
 * in gpureplay: writes the file $ESCAPE and starts a program. Prints "escape: write ERROR, start
 * ERROR". */
#include <gpuemu.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run(struct gpuemu_launch *launch, void *const *args)
{
	char *const command[] = {(char[]){"/bin/true"}, NULL};
	int fd = open(getenv("ESCAPE"), O_WRONLY | O_CREAT, 0600), write_error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	execve(command[0], command, command + 1); /* returns only if it is refused */
	fprintf(stderr, "escape: write %s, start %s\n", strerrorname_np(write_error),
		strerrorname_np(errno));
}

__attribute__((constructor)) static void add(void)
{
	static const size_t bytes[] = {4, 4, 8, 8, 4};
	static const struct gpuemu_kernel bias_relu = {
		.name = "bias_relu", .run = run, .arg_bytes = bytes, .n_args = 5};

	gpuemu_register(&bias_relu);
}
