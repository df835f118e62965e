/* SPDX-License-Identifier: Apache-2.0 */

/* A recorder without a trace: runs a program under the capture library and prints the records of
 * its rings, one a line, ring by ring.
 *
 *     run LIBRARY [-r RING_BYTES] [-i FIRST-LAST] [-p] [-d] [-s FOLDER] [-k MS] [-b CALLS]
 *         [-g DIGEST_LEVEL] [-t | -o MOST] [-c FIRST-LAST] -- COMMAND...
 *
 *     LIBRARY       path of the capture library; "-": it is linked into the program
 *     -p            start paused
 *     -d            act as a recorder that died
 *     -n            act as a recorder that lives but reads nothing
 *     -T            take times from the processor's counter
 *     -k MS         kill the program MS milliseconds after it made a ring ...
 *     -b CALLS      ... or after it began that many calls
 *     -t            record device times
 *     -o MOST       record device times, of at most MOST operations in flight
 *     -c            keep the contents of these iterations
 *     -s FOLDER     keep the session there instead of a new folder in /dev/shm or $TMPDIR
 *
 * The last line says how the program ended. */
#include "base/array.h"
#include "base/host.h"
#include "base/scope.h"
#include "capture/consumer.h"
#include "formats/api/api.h"
#include "formats/raw/layouts.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

struct ring {
	char name[256];
	struct cap_consumer *drain;
	uint8_t *kept;
	size_t len, cap;
};

static struct {
	const char *library;
	uint64_t ring_bytes;
	int64_t first, last;
	int64_t first_payload, last_payload;
	int paused, dead, idle, ticks, kill_ms, calls, level, times;
	char folder[200];
	char **command;
} options = {
	.ring_bytes = 1 << 20, .first = -1, .last = -1, .first_payload = -1, .last_payload = -1};

static struct ring rings[4096];
static size_t n_rings;
static struct cap_control *control;

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static void make_session(void)
{
	char path[256];
	int fd;

	if (!options.folder[0]) {
		snprintf(options.folder, sizeof(options.folder), "%s/capture-test.XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm"
			 : getenv("TMPDIR")	       ? getenv("TMPDIR")
						       : "/tmp");
		if (!mkdtemp(options.folder))
			fail(options.folder);
	}
	snprintf(path, sizeof(path), "%s/control", options.folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, CAP_CONTROL_BYTES) < 0)
		fail(path);
	control = mmap(NULL, CAP_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		fail("mmap");
	close(fd);
	control->version = CAP_VERSION;
	control->clock = options.ticks ? CAP_CLOCK_TSC : CAP_CLOCK_MONOTONIC;
	control->recorder_pid = getpid();
	control->first_iteration = options.first;
	control->last_iteration = options.last;
	control->first_payload = options.first_payload;
	control->last_payload = options.last_payload;
	control->digest_level = (uint32_t)options.level;
	control->device_times = (uint32_t)options.times;
	control->ring_bytes = options.ring_bytes;
	control->paused = (uint32_t)options.paused;
	control->magic = CAP_MAGIC;
}

static void beat(void)
{
	control->heartbeat_ns = options.dead ? 0 : host_clock_ns(CLOCK_MONOTONIC);
}

static void keep_ring(struct ring *r)
{
	struct fmt_cursor c;
	int taken;

	while ((taken = cap_consumer_read(r->drain, &c)) == 1) {
		if (array_reserve(&r->kept, r->len + fmt_left(&c), &r->cap) < 0)
			fail("memory");
		memcpy(r->kept + r->len, c.at, fmt_left(&c));
		r->len += fmt_left(&c);
		cap_consumer_release(r->drain);
	}
	if (taken < 0)
		printf("damage %s\n", r->name);
}

static void find_rings(void)
{
	int dir = open(options.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(dir);
	struct dirent *e;

	while ((e = readdir(d))) {
		size_t i = 0;

		if (strncmp(e->d_name, "ring-", 5) != 0)
			continue;
		while (i < n_rings && strcmp(rings[i].name, e->d_name) != 0)
			i++;
		if (i == n_rings && n_rings < ARRAY_SIZE(rings) &&
		    cap_consumer_open(dir, e->d_name, &rings[i].drain) == 0) {
			snprintf(rings[i].name, sizeof(rings[i].name), "%s", e->d_name);
			n_rings++;
		}
	}
	closedir(d);
}

static void drain(void)
{
	find_rings();
	for (size_t i = 0; i < n_rings; i++)
		keep_ring(&rings[i]);
}

/* Returns true when the program has reached the moment from which -k counts. */
static bool has_begun(void)
{
	find_rings();
	for (size_t i = 0; i < n_rings; i++)
		if (cap_id_ordinal(cap_consumer_status(rings[i].drain).last_call) >=
		    (uint64_t)options.calls)
			return true;
	return false;
}

static const char *name_of(const struct ring *r, uint32_t api)
{
	struct fmt_cursor c = fmt_cursor(r->kept, r->len);
	const struct cap_record *record;
	static char name[128];

	if (api_call(api))
		return api_call(api)->name;
	while (cap_record_next(&c, &record) == 1) {
		const struct cap_text_record *t = (const void *)record;

		if (record->kind == CAP_NAME && t->number == api) {
			snprintf(name, sizeof(name), "%.*s?", (int)t->key_len, t->data);
			return name;
		}
	}
	return "?";
}

static void print_bytes(const char *data, uint32_t len)
{
	for (uint32_t i = 0; i < len && i < 200; i++) {
		unsigned char b = (unsigned char)data[i];

		if (b > ' ' && b < 0x7f && b != '\\')
			putchar(b);
		else
			printf("\\%02x", b);
	}
}

static void print_call(const struct ring *r, const struct cap_call_record *call)
{
	printf("call %" PRIu64 " %s depth %u result %d flags %u", cap_id_ordinal(call->id),
	       name_of(r, call->api), call->head.depth, call->result, call->head.flags);
	for (uint32_t i = 0; i < cap_call_words(call); i++)
		printf(" %" PRIx64, call->words[i]);
	if (call->end < call->start)
		printf(" ENDS BEFORE IT STARTS");
}

/* Prints the times, digests or contents of an operation, which follow its own record. */
static void print_contents(const struct cap_record *record)
{
	const struct cap_times_record *times = (const void *)record;
	const struct cap_digest_record *digest = (const void *)record;
	const struct cap_payload_record *payload = (const void *)record;
	const struct cap_announced_record *announced = (const void *)record;

	switch ((enum cap_record_kind)record->kind) {
	case CAP_TIMES:
		printf("times %" PRIu64 " %" PRId64 " +%" PRId64, cap_id_ordinal(times->id),
		       times->start_ns, times->end_ns - times->start_ns);
		break;
	case CAP_DIGEST:
		printf("digest %" PRIu64 " %s %" PRIu64 "+%" PRIu64 " of %" PRIu64 " %016" PRIx64
		       "%016" PRIx64,
		       cap_id_ordinal(digest->id), record->flags & CAP_DIGEST_OUTPUT ? "out" : "in",
		       digest->offset_bytes, digest->length_bytes, digest->allocation,
		       digest->digest[0], digest->digest[1]);
		for (uint32_t i = 0; i < digest->n_pages && i < 8; i++)
			printf(" %016" PRIx64, digest->pages[2 * i]);
		break;
	case CAP_PAYLOAD:
		printf("payload %" PRIu64 " %s %" PRIu64 "+%" PRIu64 " of %" PRIu64,
		       cap_id_ordinal(payload->id),
		       record->flags & CAP_DIGEST_OUTPUT ? "out" : "in", payload->offset_bytes,
		       payload->length_bytes, payload->allocation);
		break;
	case CAP_ANNOUNCED:
		printf("announced %" PRIu64 " %u", cap_id_ordinal(announced->id), announced->n);
		break;
	default:
		printf("record of kind %u", record->kind);
	}
}

static void print_blob(const struct cap_blob_record *blob)
{
	printf("blob %" PRIu64 " arg %u what %u of %" PRIu64 " ", cap_id_ordinal(blob->id),
	       blob->arg, blob->head.flags, blob->whole_len);
	print_bytes((const char *)blob->data, blob->len);
}

/* Kernel parameters and their layout, as one blob. */
static void print_params(const struct cap_layouts *layouts, const struct cap_params_record *params)
{
	uint32_t bytes = cap_layouts_blob_bytes(layouts, params);
	scoped(free_ptr) struct cap_blob_record *blob = calloc(1, bytes + 1);

	if (bytes == 0 || !blob) {
		puts("damage: parameters without a layout");
		return;
	}
	cap_layouts_make_blob(layouts, params, blob);
	print_blob(blob);
	putchar('\n');
}

static void print_record(const struct ring *r, const struct cap_record *record)
{
	const struct cap_image_record *image = (const void *)record;
	const struct cap_range_record *range = (const void *)record;
	const struct cap_text_record *text = (const void *)record;
	const struct cap_lost_record *lost = (const void *)record;

	switch ((enum cap_record_kind)record->kind) {
	case CAP_CALL:
		print_call(r, (const void *)record);
		break;
	case CAP_BLOB:
		print_blob((const void *)record);
		break;
	case CAP_IMAGE:
		printf("image %" PRIu64 " arg %u kind %u size %" PRIu64 " blob %u at %" PRIu64
		       " id %u ",
		       cap_id_ordinal(image->id), image->arg, CAP_IMAGE_KIND(record->flags),
		       image->size, record->flags & CAP_IMAGE_STORED, image->offset,
		       image->build_id_len);
		print_bytes(image->data, image->path_len);
		break;
	case CAP_RANGE:
		printf("range what %u key %" PRIu64 " before %" PRIu64 " ",
		       record->flags & ~(unsigned)CAP_RANGE_STEP, range->key,
		       cap_id_ordinal(range->id));
		print_bytes(range->data, range->text_len);
		printf(" in ");
		print_bytes(range->data + range->text_len, range->domain_len);
		break;
	case CAP_FACT:
		printf("fact %.*s ", (int)text->key_len, text->data);
		print_bytes(text->data + text->key_len, text->value_len);
		break;
	case CAP_NAME:
		printf("name %.*s", (int)text->key_len, text->data);
		break;
	case CAP_LOST:
		printf("lost %" PRIu64 " %" PRIu64, lost->records, lost->bytes);
		break;
	default:
		print_contents(record);
	}
	putchar('\n');
}

static void print_ring(const struct ring *r)
{
	static const char *const states[] = {"live", "thread-ended", "exited", "aborted", "execed"};
	const struct cap_ring_info *about = cap_consumer_info(r->drain);
	struct cap_ring_status s = cap_consumer_status(r->drain);
	scoped(cap_layouts_done) struct cap_layouts layouts = {0};
	struct fmt_cursor c = fmt_cursor(r->kept, r->len);
	const struct cap_record *record;
	int got;

	printf("ring %u pid %d thread %s state %s lost %" PRIu64
	       " clock %u inside %s begun %" PRIu64 "\n",
	       about->number, about->pid, about->tid == about->pid ? "main" : "other",
	       states[s.state], s.lost_records, about->clock,
	       s.current_api ? name_of(r, s.current_api - 1) : "-", cap_id_ordinal(s.last_call));
	while ((got = cap_record_next(&c, &record)) == 1)
		if (record->kind == CAP_LAYOUT)
			cap_layouts_add(&layouts, (const void *)record);
		else if (record->kind == CAP_PARAMS)
			print_params(&layouts, (const void *)record);
		else
			print_record(r, record);
	if (got < 0)
		printf("damage %s\n", r->name);
}

static pid_t start_program(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		const char *old = getenv("LD_PRELOAD");
		char list[4096];

		if (strcmp(options.library, "-") != 0) {
			snprintf(list, sizeof(list), "%s%s%s", options.library,
				 old && *old ? ":" : "", old ? old : "");
			setenv("LD_PRELOAD", list, 1);
			setenv("NVTX_INJECTION64_PATH", options.library, 1);
		}
		setenv(CAP_SESSION_VARIABLE, options.folder, 1);
		execvp(options.command[0], options.command);
		perror(options.command[0]);
		_exit(127);
	}
	return pid;
}

static int wait_for_program(pid_t pid)
{
	static const struct timespec nap = {0, 2000000};
	int64_t begun = 0;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		beat();
		if (!options.idle)
			drain();
		if (!begun && options.kill_ms && has_begun())
			begun = host_clock_ns(CLOCK_MONOTONIC);
		if (options.kill_ms && begun &&
		    host_clock_ns(CLOCK_MONOTONIC) - begun > options.kill_ms * INT64_C(1000000))
			kill(pid, SIGKILL);
		nanosleep(&nap, NULL);
	}
	drain();
	return status;
}

static void clean_up(void)
{
	DIR *d = opendir(options.folder);
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", options.folder, e->d_name);
		if (strncmp(e->d_name, "blob-", 5) == 0)
			printf("%s\n", e->d_name);
		unlink(path);
	}
	closedir(d);
	rmdir(options.folder);
}

static void parse(int argc, char **argv)
{
	int c;

	options.library = argv[1];
	argv++, argc--;
	while ((c = getopt(argc, argv, "+r:i:pdnTk:b:s:g:to:c:")) != -1) {
		if (c == 'r')
			options.ring_bytes = strtoull(optarg, NULL, 0);
		else if (c == 'i' &&
			 sscanf(optarg, "%" SCNd64 "-%" SCNd64, &options.first, &options.last) != 2)
			exit(98);
		else if (c == 's')
			snprintf(options.folder, sizeof(options.folder), "%s", optarg);
		else if (c == 'c' && sscanf(optarg, "%" SCNd64 "-%" SCNd64, &options.first_payload,
					    &options.last_payload) != 2)
			exit(98);
		options.kill_ms = c == 'k' ? atoi(optarg) : options.kill_ms;
		options.calls = c == 'b' ? atoi(optarg) : options.calls;
		options.level = c == 'g' ? atoi(optarg) : options.level;
		options.times = c == 't' ? 1 << 20 : c == 'o' ? atoi(optarg) : options.times;
		options.paused |= c == 'p';
		options.dead |= c == 'd';
		options.idle |= c == 'n';
		options.ticks |= c == 'T';
	}
	options.command = argv + optind;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 3)
		return 98;
	parse(argc, argv);
	make_session();
	beat();
	status = wait_for_program(start_program());
	for (size_t i = 0; i < n_rings; i++)
		print_ring(&rings[i]);
	printf("rings %u failed %u calls %" PRIu64 " forked %" PRIu64 " blobs %u\n",
	       control->n_rings, control->failed_rings, control->no_ring_calls,
	       control->forked_calls, control->failed_blobs);
	clean_up();
	if (WIFSIGNALED(status))
		printf("ended by signal %d\n", WTERMSIG(status));
	else
		printf("ended with %d\n", WEXITSTATUS(status));
	for (size_t i = 0; i < n_rings; i++) {
		cap_consumer_close(rings[i].drain);
		free(rings[i].kept);
	}
	return 0;
}
