/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated GPU model: a table of numbers, from data/gpus or a file in that form. A line is a
 * key and a value; '#' starts a comment; an unknown key is an error. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct emu_model {
	char name[96];
	double compute; /* 9.0 */
	double sms, threads_per_sm, blocks_per_sm, registers_per_sm, shared_per_sm;
	double shared_per_block_optin, l2_bytes;
	double clock_khz, memory_clock_khz, memory_bus_bits, memory_bytes, power_watts, pci_device;
	double memory_bytes_per_s;
	double fp32, fp64, tf32, fp16, fp8, int8; /* operations per second */
	/* One direction. */
	double pcie_bytes_per_s, pageable_bytes_per_s, nvlink_bytes_per_s, network_bytes_per_s;
	double nvlinks;
	double math_efficiency, memory_efficiency, link_efficiency;
	/* Device: end of the launching call to the start; gap between two ops of a stream; from an
	 * event to the waiting op; the shortest kernel; fixed part of a copy; end of an op to the
	 * end of a call that waits for it. */
	double launch_ns, gap_ns, event_ns, kernel_ns, copy_ns, sync_ns;
	/* Host: durations of calls. */
	double call_launch_ns, call_copy_ns, call_event_ns, call_query_ns, call_malloc_ns;
	double pin_bytes_per_s; /* page-locking host memory */
	double first_touch_ns;	/* first touch of a 4 KiB page of host memory */
	double network_ns, nvlink_ns;
};

struct emu_model_text {
	const char *name; /* "H200"; NULL ends the list */
	const char *text;
};

extern const struct emu_model_text emu_model_texts[];

/* `like` is the name of a built-in model or the path of a file. 0, or a negative errno and the
 * problem in `why`. */
int emu_model_load(const char *like, struct emu_model *ret, char *why, size_t why_size);

/* The value of a key, or NULL. */
const double *emu_model_value(const struct emu_model *m, const char *key);
