/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated driver and the engine of `gpureplay --emulate` use the same virtual time: random
 * programs get the same times, to the nanosecond, when the driver and NCCL run them and when the
 * engine computes them from the programs' dependencies.
 *
 *     emugpu_clock [PROGRAMS [FIRST]]
 *
 * Host time counts as zero (GPUEMU_HOST_SPEED), because it differs from run to run.
 */
#include "tests/emugpu/clock.h"

#include "tests/emugpu/check_driver.h"

#include <unistd.h>

static uint64_t state;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % n);
}

/* Frequency of each kind of step: with one thread, and with a thread for each GPU. In the latter,
 * stream threads execute operations, and operations that compete for an engine would get it in the
 * order of real time: so kernels are small, and copies of one direction use one stream. */
static const uint8_t weights[2][STEP_KINDS] = {
	{[KERNEL] = 30,
	 [COPY_IN] = 6,
	 [COPY_OUT] = 6,
	 [COPY_WITHIN] = 3,
	 [COPY_PEER] = 5,
	 [FILL] = 3,
	 [RECORD] = 12,
	 [WAIT] = 14,
	 [SYNC_STREAM] = 2,
	 [SYNC_EVENT] = 2,
	 [SYNC_GPU] = 1},
	{[KERNEL] = 30,
	 [COPY_IN] = 5,
	 [COPY_OUT] = 5,
	 [HOST_FUNCTION] = 5,
	 [RECORD] = 12,
	 [WAIT] = 14,
	 [SYNC_STREAM] = 2,
	 [SYNC_EVENT] = 2,
	 [SYNC_GPU] = 1},
};

static enum step_kind random_kind(int threads)
{
	uint32_t sum = 0, at;

	for (int i = 0; i < STEP_KINDS; i++)
		sum += weights[threads][i];
	at = random_below(sum);
	for (int i = 0;; i++) {
		if (at < weights[threads][i])
			return (enum step_kind)i;
		at -= weights[threads][i];
	}
}

static struct step random_step(const struct program *p, uint32_t thread)
{
	int threads = p->threads > 1;
	struct step s = {
		.kind = random_kind(threads),
		.gpu = threads ? thread : random_below(p->gpus),
		.stream = random_below(STREAMS),
		.event = random_below(EVENTS),
		.size = random_below(SIZES),
		.blocks = 1 + random_below(threads ? 3 : 400),
		.ns = 500 + random_below(40000),
	};

	s.other = threads ? thread : random_below(p->gpus);
	if (s.kind == COPY_PEER && s.other == s.gpu)
		s.kind = KERNEL;
	if (threads && (s.kind == COPY_IN || s.kind == COPY_OUT))
		s.stream = s.kind == COPY_IN ? 2 : 3;
	return s;
}

static void make_program(struct program *p, unsigned number)
{
	uint32_t n;

	state = number;
	random_below(1);
	*p = (struct program){.gpus = 1 + number % MAX_GPUS};
	p->threads = number / MAX_GPUS % 2 ? p->gpus : 1;
	n = 20 + random_below(MAX_STEPS - 20);
	for (uint32_t t = 0; t < p->threads; t++) {
		p->thread[t].n = n;
		for (uint32_t i = 0; i < n; i++)
			p->thread[t].steps[i] = random_step(p, t);
	}
	/* All ranks join, each at its own time and on a stream of its choice. */
	for (uint32_t i = 0; p->threads > 1 && i < n; i++) {
		uint32_t size = random_below(SIZES);

		if (random_below(8))
			continue;
		for (uint32_t t = 0; t < p->threads; t++) {
			p->thread[t].steps[i].kind = COLLECTIVE;
			p->thread[t].steps[i].size = size;
		}
	}
}

int main(int argc, char **argv)
{
	unsigned programs = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
	unsigned first = argc > 2 ? (unsigned)atoi(argv[2]) : 0, bad = 0;
	static struct program p;
	struct costs costs;

	/* The driver reads GPUEMU_HOST_SPEED when it is loaded. */
	if (!getenv("GPUEMU_HOST_SPEED")) {
		setenv("GPUEMU_HOST_SPEED", "1e15", 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	run_setup(MAX_GPUS, &costs);
	for (unsigned i = first; i < first + programs; i++) {
		unsigned differ;

		make_program(&p, i);
		run_program(&p);
		differ = graph_compare(&p, &costs);
		if (differ)
			fprintf(stderr, "program %u: %u moments differ\n", i, differ);
		bad += differ > 0;
	}
	return bad > 0;
}
