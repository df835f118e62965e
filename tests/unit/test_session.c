/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "capture/recorder/session.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int put_ring(const struct rec_session *s, uint32_t number)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "ring-1-%u", number);
	fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_ge(fd, 0);
	return close(fd);
}

struct taken {
	unsigned n;
	int answer;
};

static int take_one(void *context, int dir, const char *name, uint32_t number)
{
	struct taken *t = context;

	(void)dir;
	(void)name;
	t->n++;
	return t->answer;
}

START_TEST(a_ring_may_be_counted_before_it_is_there)
{
	const struct cap_control settings = {0};
	struct rec_session s;
	struct taken t = {0};

	ck_assert_int_eq(rec_session_begin(&s, &settings), 0);
	s.control->n_rings = 2;
	put_ring(&s, 1);
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 1);
	put_ring(&s, 0);
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 2);
	rec_session_end(&s);
}
END_TEST

START_TEST(a_ring_that_is_not_ready_is_offered_again)
{
	const struct cap_control settings = {0};
	struct rec_session s;
	struct taken t = {.answer = -EAGAIN};

	ck_assert_int_eq(rec_session_begin(&s, &settings), 0);
	s.control->n_rings = 1;
	put_ring(&s, 0);
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), 0);
	t.answer = 0;
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), 0);
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 2);
	t.answer = -ENOMEM;
	s.control->n_rings = 2;
	put_ring(&s, 1);
	ck_assert_int_eq(rec_session_rings(&s, take_one, &t), -ENOMEM);
	rec_session_end(&s);
}
END_TEST

/* A process of the recorder's, which has the lock as well: it beats as long as it lives, or does
 * nothing, for 0.3 s. */
static pid_t begin_one_more(struct rec_session *s, bool beats)
{
	const struct timespec a_while = {.tv_nsec = 30000000};
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (int i = 0; beats || i < 10; i++) {
		if (beats)
			rec_session_beat(s);
		nanosleep(&a_while, NULL);
	}
	_exit(0);
}

/* A recorder that was killed leaves its session to the next, and to no other, when the last of its
 * processes is gone. */
START_TEST(a_session_is_taken_over)
{
	const struct cap_control settings = {.ring_bytes = CAP_MIN_RING_BYTES};
	scoped(rec_session_end) struct rec_session s, next, other;
	char folder[PATH_MAX];
	pid_t pid;

	rec_session_init(&next);
	rec_session_init(&other);
	ck_assert_int_eq(rec_session_begin(&s, &settings), 0);
	strcpy(folder, s.folder);
	pid = begin_one_more(&s, true);
	ck_assert_int_eq(rec_session_attach(&next, folder), -EBUSY);
	kill(pid, SIGKILL);
	ck_assert_int_eq(rec_session_bind(&s, "/proc/self/exe"), 0);
	begin_one_more(&s, false);
	rec_session_leave(&s);
	/* Nor does one that begins meanwhile remove it. */
	ck_assert_int_eq(rec_session_begin(&other, &settings), 0);
	ck_assert_int_eq(rec_session_attach(&next, folder), 0);
	while (wait(NULL) > 0)
		;
	rec_session_end(&next);
	ck_assert_int_eq(access(folder, F_OK), -1);
	ck_assert_int_eq(rec_session_attach(&next, folder), -ENOENT);
}
END_TEST

/* Where programs find it, wherever they go, and never where they could not. */
START_TEST(a_folder_is_absolute_and_short)
{
	const struct cap_control settings = {.ring_bytes = CAP_MIN_RING_BYTES};
	scoped(rec_session_end) struct rec_session s;
	char deep[] = "/tmp/test-session-XXXXXX/", name[252] = "";
	char path[PATH_MAX];

	rec_session_init(&s);
	deep[strlen(deep) - 1] = '\0';
	ck_assert_ptr_nonnull(mkdtemp(deep));
	memset(name, 'a', sizeof(name) - 1);
	snprintf(path, sizeof(path), "%s/%s", deep, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(rec_session_begin_at(&s, path, &settings), -ENAMETOOLONG);
	ck_assert_int_eq(rec_session_begin_at(&s, "/does/not/exist", &settings), -ENOENT);
	ck_assert_int_eq(chdir(deep), 0);
	ck_assert_int_eq(rec_session_begin_at(&s, ".", &settings), 0);
	ck_assert_int_eq(strncmp(s.folder, deep, strlen(deep)), 0);
	ck_assert_uint_lt(strlen(s.folder), CAP_FOLDER_BYTES);
	rec_session_end(&s);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(deep), 0);
}
END_TEST

TESTS("session", a_folder_is_absolute_and_short, a_session_is_taken_over,
      a_ring_may_be_counted_before_it_is_there, a_ring_that_is_not_ready_is_offered_again)
