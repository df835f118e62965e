/* SPDX-License-Identifier: Apache-2.0 */

/* A raw recording: the input is the pieces of one chunk, sealed with checksums in a file. */
#include "base/scope.h"
#include "formats/run/gpucapture/calls/processes.h"
#include "formats/trace/store/chunk.h"

#include <sys/mman.h>

#define MOST (1u << 20)
#define CHUNK_TYPE 0xf0

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

define_cleanup(processes_freep, struct rec_processes *, rec_processes_free);

static void write_chunk(int fd, const uint8_t *data, size_t len)
{
	scoped(text_done) struct text frame = {0}, file = {0};
	struct fmt_chunk c = {.type = CHUNK_TYPE, .raw_bytes = len};

	if (fmt_frame_pack(&frame, (const char *)data, &len, 1, 1) < 0)
		abort();
	c.frame_bytes = frame.len;
	c.hash = fmt_hash(frame.data, frame.len);
	fmt_chunk_header_put(&file, &c);
	text_bytes(&file, frame.data, frame.len);
	if (file.error ||
	    pwrite(fd, file.data, file.len, sizeof(struct rec_raw_header)) != (ssize_t)file.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(processes_freep) struct rec_processes *p = NULL;
	struct rec_raw s = {.fd = memfd_create("raw", MFD_CLOEXEC)};
	struct cap_clock clock = {0};
	const struct rec_source source = {.ticks = &clock};
	struct rec_process_list list = {0};

	if (fmt_names_new(&names) < 0)
		abort();
	list.names = names;
	if (s.fd < 0 || rec_processes_new(&source, &list, &p) < 0)
		abort();
	if (len > 0 && len <= MOST) {
		write_chunk(s.fd, data, len);
		if (rec_raw_read(&s, rec_processes_add_piece, p) == 0)
			rec_processes_end_round(p, true);
		rec_raw_skip_damaged(&s);
	}
	free(list.all);
	rec_raw_done(&s);
	return 0;
}
