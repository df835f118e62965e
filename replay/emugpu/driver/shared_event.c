/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/shared_event.h"
#include "base/scope.h"
#include "replay/emugpu/driver/device.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In a file that both processes map. */
struct emu_shared_event {
	int fd;		       /* in the owner's process */
	uint32_t issued, done; /* records submitted; records that have happened */
	int64_t end_ns;	       /* of the last record that has happened */
};

static int is_recorded(const struct emu_shared_event *e, uint32_t number)
{
	return (int32_t)(__atomic_load_n(&e->done, __ATOMIC_ACQUIRE) - number) >= 0;
}

int emu_shared_open(int fd, struct emu_shared_event **ret)
{
	struct emu_shared_event *e = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (e == MAP_FAILED)
		return -errno;
	*ret = e;
	return 0;
}

int emu_shared_new(struct emu_shared_event **ret)
{
	scoped(close_fd) int fd = memfd_create("gpuemu-event", MFD_CLOEXEC);
	int r;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return -errno;
	r = emu_shared_open(fd, ret);
	if (r < 0)
		return r;
	(*ret)->fd = take_fd(fd);
	return 0;
}

int emu_shared_file(const struct emu_shared_event *e)
{
	return e->fd;
}

void emu_shared_free(struct emu_shared_event *e, int owner)
{
	if (owner)
		close(e->fd);
	munmap(e, 4096);
}

static int64_t shared_record_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_shared_event *e = op->shared.event;

	e->end_ns = ready_ns;
	__atomic_store_n(&e->done, op->shared.number, __ATOMIC_RELEASE);
	syscall(SYS_futex, &e->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return ready_ns;
}

static const struct emu_op_type shared_record_type = {
	.name = "record",
	.node = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
	.light = 1,
	.run = shared_record_run,
};

int64_t emu_shared_wait(struct emu_shared_event *e, uint32_t number)
{
	struct timespec a_second = {.tv_sec = 1};

	while (!is_recorded(e, number)) {
		uint32_t seen = __atomic_load_n(&e->done, __ATOMIC_ACQUIRE);

		if (!is_recorded(e, number))
			syscall(SYS_futex, &e->done, FUTEX_WAIT, seen, &a_second, NULL, 0);
	}
	return e->end_ns;
}

static int64_t shared_wait_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	return moment_wait(ready_ns, emu_shared_wait(op->shared.event, op->shared.number),
			   (int64_t)track->device->model.event_ns);
}

static int shared_wait_blocks(const struct emu_op *op)
{
	return !is_recorded(op->shared.event, op->shared.number);
}

static const struct emu_op_type shared_wait_type = {
	.name = "wait",
	.node = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	.light = 1,
	.blocks = shared_wait_blocks,
	.run = shared_wait_run,
};

uint32_t emu_shared_issued(const struct emu_shared_event *e)
{
	return __atomic_load_n(&e->issued, __ATOMIC_ACQUIRE);
}

struct emu_op emu_shared_op(struct emu_shared_event *e, int records)
{
	uint32_t number = records ? __atomic_add_fetch(&e->issued, 1, __ATOMIC_ACQ_REL)
				  : emu_shared_issued(e);

	return (struct emu_op){.type = records ? &shared_record_type : &shared_wait_type,
			       .shared = {.event = e, .number = number}};
}

int emu_shared_known(const struct emu_shared_event *e, int64_t *end_ns)
{
	if (!is_recorded(e, emu_shared_issued(e)))
		return 0;
	*end_ns = e->end_ns;
	return 1;
}
