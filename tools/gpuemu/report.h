/* SPDX-License-Identifier: Apache-2.0 */

/* What the emulated libraries of all processes noted while they ran: lines in a file, see
 * replay/emugpu/refuse.h and replay/emugpu/driver/report.c. Not thread-safe. */
#pragma once

#include "base/text.h"

struct gpuemu_gpu {
	int number;
	char model[96];
	int64_t busy_ns;
	uint64_t kernels, copies, copied_bytes;
	uint32_t n_processes;
};

struct gpuemu_refusal {
	char library[64], name[96];
	int pid;
	uint64_t count;
};

struct gpuemu_report {
	struct gpuemu_gpu *gpus; /* by number */
	size_t n_gpus, gpus_cap;
	struct gpuemu_refusal *refusals; /* by library and name; pid 0: all processes together */
	size_t n_refusals, refusals_cap;
	uint32_t n_processes;
	int64_t virtual_ns; /* the longest process's */
	int64_t real_ns;
};

/* Reads the file behind `fd` from its start. 0 or -ENOMEM, or as read(2). */
int gpuemu_report_read(int fd, struct gpuemu_report *ret);
void gpuemu_report_done(struct gpuemu_report *r);

void gpuemu_report_text(const struct gpuemu_report *r, struct text *out);
void gpuemu_report_json(const struct gpuemu_report *r, struct text *out);
/* One line that names what was refused; nothing when nothing was. */
void gpuemu_report_refusals(const struct gpuemu_report *r, struct text *out);
