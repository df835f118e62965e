/* SPDX-License-Identifier: Apache-2.0 */

/* A trace with correct checksums and arbitrary contents (rows of tests/fuzz/chunks.h): rendered,
 * emulated. */
#include "tests/fuzz/chunks.h"

#include "base/scope.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/render.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int seal(const uint8_t *data, size_t len)
{
	scoped(text_done) struct text t = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd < 0 || chunks_seal(data, len, &t) < 0 || write(fd, t.data, t.len) != (ssize_t)t.len)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(close_fd) int fd = seal(data, len);
	scoped(folder_done) struct folder f = folder_make();
	char path[64], emulated[128];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	render_all(path);
	render_emulated(path, folder_in(&f, "emulated", emulated));
	return 0;
}
