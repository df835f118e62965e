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

	t->n++;
	return t->answer;
}

TEST(rings_may_be_counted_before_they_exist)
{
	const struct cap_control settings = {0};
	scoped(rec_session_end) struct rec_session s;
	struct taken t = {0};

	ck_assert_int_eq(rec_session_begin(&s, &settings), 0);
	s.control->n_rings = 2;
	put_ring(&s, 1);
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 1);
	put_ring(&s, 0);
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 2);
}

TEST(unready_rings_are_offered_again)
{
	const struct cap_control settings = {0};
	scoped(rec_session_end) struct rec_session s;
	struct taken t = {.answer = -EAGAIN};

	ck_assert_int_eq(rec_session_begin(&s, &settings), 0);
	s.control->n_rings = 1;
	put_ring(&s, 0);
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), 0);
	t.answer = 0;
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), 0);
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), 0);
	ck_assert_uint_eq(t.n, 2);
	t.answer = -ENOMEM;
	s.control->n_rings = 2;
	put_ring(&s, 1);
	ck_assert_int_eq(rec_session_for_each_ring(&s, take_one, &t), -ENOMEM);
}

/* Starts another process of the recorder, which shares the lock. It updates the heartbeat until it
 * is killed, or does nothing for 0.3 s. */
static pid_t start_other_process(struct rec_session *s, bool beats)
{
	const struct timespec a_while = {.tv_nsec = 30000000};
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (int i = 0; beats || i < 10; i++) {
		if (beats)
			rec_session_heartbeat(s);
		nanosleep(&a_while, NULL);
	}
	_exit(0);
}

/* The session of a killed recorder passes to one successor after the last of its processes has
 * ended. */
TEST(sessions_pass_to_one_successor)
{
	const struct cap_control settings = {.ring_bytes = CAP_MIN_RING_BYTES};
	scoped(rec_session_end) struct rec_session s, next, other;
	char folder[PATH_MAX];
	pid_t pid;

	rec_session_init(&next);
	rec_session_init(&other);
	ck_assert_int_eq(rec_session_begin(&s, &settings), 0);
	strcpy(folder, s.folder);
	pid = start_other_process(&s, true);
	ck_assert_int_eq(rec_session_attach(&next, folder), -EBUSY);
	kill(pid, SIGKILL);
	ck_assert_int_eq(rec_session_bind(&s, "/proc/self/exe"), 0);
	start_other_process(&s, false);
	rec_session_detach(&s);
	/* A recorder that starts meanwhile does not remove the session. */
	ck_assert_int_eq(rec_session_begin(&other, &settings), 0);
	ck_assert_int_eq(rec_session_attach(&next, folder), 0);
	while (wait(NULL) > 0)
		;
	rec_session_end(&next);
	ck_assert_int_eq(access(folder, F_OK), -1);
	ck_assert_int_eq(rec_session_attach(&next, folder), -ENOENT);
}

/* The folder of a session is absolute and short enough for a socket path, or refused. */
TEST(folders_are_absolute_and_short)
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
