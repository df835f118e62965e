/* SPDX-License-Identifier: Apache-2.0 */

/* Contents as files of the session, named by their hash: equal contents are stored once. */
#define XXH_INLINE_ALL
#include "capture/library/ring/process.h"
#include "capture/library/ring/put.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

static int write_all(int fd, const uint8_t *bytes, uint64_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len > (1u << 30) ? (1u << 30) : len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			bytes += n;
			len -= (uint64_t)n;
		}
	}
	return 0;
}

/* Written under another name, then renamed: readers see complete files only. */
static int write_file(const char *path, const void *bytes, uint64_t len)
{
	char part[CAP_PATH], name[64];
	int fd, r;

	snprintf(name, sizeof(name), "part-%d-%ld", cap_process.pid, (long)syscall(SYS_gettid));
	r = cap_session_file(part, name, len);
	if (r < 0)
		return r;
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, len);
	close(fd);
	if (r == 0 && rename(part, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(part);
	return r;
}

int cap_put_blob(const void *bytes, uint64_t len, uint64_t ret_hash[2])
{
	XXH128_hash_t hash = XXH3_128bits(bytes, len);
	char path[CAP_PATH], name[64];
	int kept = errno, r;

	snprintf(name, sizeof(name), "blob-%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
	r = cap_session_file(path, name, len);
	if (r == 0 && access(path, F_OK) < 0)
		r = write_file(path, bytes, len);
	if (r < 0)
		__atomic_fetch_add(&cap_process.control->failed_blobs, 1, __ATOMIC_RELAXED);
	ret_hash[0] = hash.low64;
	ret_hash[1] = hash.high64;
	errno = kept;
	return r;
}
