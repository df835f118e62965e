/* SPDX-License-Identifier: Apache-2.0 */

/* Collective calls of MPI, which wait in shared memory by spinning. They take no virtual time, and
 * all processes leave them at the latest clock of those that have entered. Calls of different
 * processes belong together if they have the same number in their process, as all of
 * MPI_COMM_WORLD do.
 *
 * Arguments are passed on unseen, so that any implementation of MPI will do. Functions with fewer
 * parameters ignore the rest. */
#include "replay/emugpu/refuse.h"
#include "replay/emugpu/threads/real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define PARAMETERS long a, long b, long c, long d, long e, long f, long g, long h, long i
#define ARGUMENTS a, b, c, d, e, f, g, h, i

/* The library may have been loaded for one module of Python alone, out of sight of dlsym(). */
static void *find_mpi(const char *name, const char *unused)
{
	static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12",
						"libmpi.so"};
	void *f = dlsym(RTLD_NEXT, name), *library;

	for (size_t n = 0; !f && n < sizeof(libraries) / sizeof(libraries[0]); n++)
		if ((library = dlopen(libraries[n], RTLD_LAZY | RTLD_NOLOAD)))
			f = dlsym(library, name);
	if (!f) {
		fprintf(stderr, "gpuemu: %s: not found in %s or %s\n", name, libraries[0],
			libraries[1]);
		abort();
	}
	return f;
}

static uint64_t begin_collective(void)
{
	static void *found;
	uint64_t (*collective)(void) =
		(uint64_t(*)(void))emu_driver_function(&found, "gpuemu_collective_enter");

	return collective ? collective() : 0;
}

static void end_collective(uint64_t number)
{
	static void *found;
	void (*collective)(uint64_t) =
		(void (*)(uint64_t))emu_driver_function(&found, "gpuemu_collective_leave");

	if (collective)
		collective(number);
}

#define COLLECTIVE(name)                                                                           \
	int name(PARAMETERS);                                                                      \
	EMU_API int name(PARAMETERS)                                                               \
	{                                                                                          \
		static void *found;                                                                \
		int (*real)(PARAMETERS) =                                                          \
			(int (*)(PARAMETERS))emu_resolve_once(&found, find_mpi, #name, NULL);      \
		uint64_t number = begin_collective();                                              \
		int r = real(ARGUMENTS);                                                           \
                                                                                                   \
		end_collective(number);                                                            \
		return r;                                                                          \
	}

COLLECTIVE(MPI_Allgather)
COLLECTIVE(MPI_Allgatherv)
COLLECTIVE(MPI_Allreduce)
COLLECTIVE(MPI_Alltoall)
COLLECTIVE(MPI_Alltoallv)
COLLECTIVE(MPI_Barrier)
COLLECTIVE(MPI_Bcast)
COLLECTIVE(MPI_Gather)
COLLECTIVE(MPI_Gatherv)
COLLECTIVE(MPI_Reduce)
COLLECTIVE(MPI_Scatter)
COLLECTIVE(MPI_Scatterv)
