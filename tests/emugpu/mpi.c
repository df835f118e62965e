/* SPDX-License-Identifier: Apache-2.0 */

/* Two processes that wait at a barrier of MPI, of a library that spins in shared memory as
 * implementations of MPI do: they leave at the clock of the later one, and spinning takes no
 * virtual time. */
#include "replay/emugpu/driver/clock.h"
#include "tests/emugpu/check_driver.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)

enum { ROUNDS = 200 };

int MPI_Barrier(void *comm); /* tests/emugpu/mpi_library.c */

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

int main(void)
{
	int *arrived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t(*left)[2], start;
	int rank, status;

	TRUE(arrived != MAP_FAILED);
	left = (int64_t(*)[2])mmap(NULL, ROUNDS * sizeof(*left), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TRUE(left != MAP_FAILED);
	OK(cuInit(0));
	rank = fork() == 0;
	start = (int64_t)gpuemu_host_ns();
	for (int round = 0; round < ROUNDS; round++) {
		/* Each is the later one in half of the rounds. */
		for (int64_t begin = cpu_ns(); (round & 1) == rank && cpu_ns() - begin < MS;)
			;
		MPI_Barrier(arrived);
		left[round][rank] = (int64_t)gpuemu_host_ns();
	}
	if (rank == 1)
		_exit(0);
	TRUE(wait(&status) > 0 && status == 0);
	for (int round = 0; round < ROUNDS; round++)
		TRUE(llabs(left[round][0] - left[round][1]) < MS / 2);
	TRUE(left[ROUNDS - 1][0] - start >= ROUNDS * MS);
	TRUE(left[ROUNDS - 1][0] - start < ROUNDS * MS * 5 / 4);
	return 0;
}
