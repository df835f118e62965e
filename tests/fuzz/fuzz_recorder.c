/* SPDX-License-Identifier: Apache-2.0 */

/* What a traced thread wrote, scribbled over: the input is the records of one ring. All of the
 * recorder reads it, and what it makes of it is written as a trace. */
#include "base/scope.h"
#include "capture/recorder/feed.h"
#include "capture/recorder/run.h"

#include <stdio.h>
#include <unistd.h>

#define SIZE (CAP_RING_HEADER_BYTES + CAP_MIN_RING_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

define_cleanup(feed_freep, struct rec_feed *, rec_feed_free);

static void write_trace(struct rec_process *p, struct fmt_names *names)
{
	char folder[] = "/tmp/fuzz-recorder-XXXXXX", path[64], command[96];
	const struct rec_window all = {-1, -1, 0, INT64_MAX, folder};
	struct rec_result result;

	if (!mkdtemp(folder))
		return;
	snprintf(path, sizeof(path), "%s/trace", folder);
	rec_run_write(&p, 1, names, &all, path, &result, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(free_ptr) struct cap_ring *ring = aligned_alloc(CAP_LINE, SIZE);
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(rec_process_freep) struct rec_process *p = NULL;
	scoped(feed_freep) struct rec_feed *feed = NULL;
	struct cap_drain *drain;

	len = len < CAP_MIN_RING_BYTES ? len & ~(size_t)7 : CAP_MIN_RING_BYTES;
	memset(ring, 0, SIZE);
	*ring = (struct cap_ring){.magic = CAP_MAGIC,
				  .version = CAP_VERSION,
				  .data_offset = CAP_RING_HEADER_BYTES,
				  .data_bytes = CAP_MIN_RING_BYTES,
				  .head = len};
	memcpy((uint8_t *)ring + CAP_RING_HEADER_BYTES, data, len);
	if (fmt_names_new(&names) < 0 || rec_process_new(names, 1, 1, &p) < 0 ||
	    cap_drain_of(ring, SIZE, &drain) < 0 || rec_feed_new(drain, p, NULL, &feed) < 0)
		abort();
	if (rec_feed_take(feed) >= 0 && rec_feeds_look(&feed, 1, true) == 0)
		write_trace(p, names);
	return 0;
}
