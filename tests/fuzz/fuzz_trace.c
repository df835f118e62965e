/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/trace.h"

#include "base/scope.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/verify.h"

#include <stdio.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_contents(struct fmt_trace *t, uint32_t rank)
{
	scoped(free_ptr) struct fmt_digest *list = NULL;
	size_t n = 0;

	if (fmt_contents_read(t, rank, &list, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n && i < 8; i++) {
		uint8_t *data = NULL;
		size_t len;

		if (fmt_blob_read(t, list[i].digest, &data, &len, NULL) == 0)
			free(data);
	}
}

/* An arbitrary packed file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	scoped(close_fd) int fd = memfd_create("trace", MFD_CLOEXEC);
	struct fmt_verified v;
	struct fmt_error err;
	char path[64];

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fmt_trace_open(path, &t, &err) < 0)
		return 0;
	fmt_trace_id(t);
	for (uint32_t r = 0; r < fmt_trace_n_ranks(t); r++)
		for (uint32_t k = 0; k < fmt_trace_rank(t, r)->n_slices; k++) {
			struct fmt_slice *s;

			if (fmt_slice_load(t, r, k, FMT_WANT_ALL, &s, &err) == 0)
				fmt_slice_free(s);
		}
	for (uint32_t r = 0; r < fmt_trace_n_ranks(t); r++)
		read_contents(t, r);
	fmt_verify(path, NULL, NULL, &v, &err);
	return 0;
}
