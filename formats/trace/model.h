/* SPDX-License-Identifier: Apache-2.0 */

/* The contents of a trace, as plain values that do not depend on the storage format. Used by store,
 * importers, emulation, mount and exporters.
 *
 * Times are int64_t nanoseconds on the clock of the rank's host, and so are durations. A *rank* is
 * one GPU's view of one run. A *track* is a sequence of events in order: a host thread, or a stream
 * of a device. A *template* contains everything that is constant over the occurrences of an event,
 * and is stored once: the kind, the name (of the API call, the kernel, the range), and the constant
 * arguments. An event is a template, a track, times, and the values of the arguments that vary. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum fmt_kind {
	FMT_CALL,   /* host API call, on a thread */
	FMT_KERNEL, /* device operations, on a stream: kernel ... */
	FMT_MEMCPY,
	FMT_MEMSET,
	FMT_COLLECTIVE, /* a communication kernel (NCCL, RCCL) */
	FMT_SYNC,  /* a synchronisation reported by the recorder (CUPTI's synchronisation activity)
		    */
	FMT_RANGE, /* annotation: NVTX, profiler range, framework operator, Python function */
	FMT_MARK,  /* an instant: memory event, profiler marker */
	FMT_KINDS,
};

/* Returns the name of a kind for users: "call", "kernel", ...; NULL beyond FMT_KINDS. */
const char *fmt_kind_name(enum fmt_kind kind);

#define FMT_IS_OP(kind) ((kind) >= FMT_KERNEL && (kind) <= FMT_COLLECTIVE)

/* Strings are numbers into fmt_names; 0 is the empty string and means "none". */
typedef uint32_t fmt_str;

/* ---- names, each stored once */

enum fmt_type {
	FMT_INT,	 /* int64_t */
	FMT_STRING,	 /* fmt_str */
	FMT_JSON,	 /* fmt_str: verbatim JSON, other than a string or an integer that fits */
	FMT_CORRELATION, /* the event's own correlation; stored nowhere else, never varies, value 0
			  */
	FMT_RATE, /* a number: the event's "bytes" argument / (duration_ns + value), see value.h */
	FMT_TYPES,
};

struct fmt_arg {
	fmt_str key;
	uint8_t type;	/* enum fmt_type */
	uint8_t varies; /* each event has its own value */
	int64_t value;	/* by type; 0 if it varies */
};

struct fmt_template {
	uint8_t kind;	   /* enum fmt_kind */
	uint32_t n_args;   /* in recorded order */
	uint32_t n_values; /* number of arguments that vary */
	fmt_str name;
	fmt_str category; /* class given by the recorder: "cpu_op", "cuda_driver"; may be 0 */
	const struct fmt_arg *args;
};

/* Inferred arguments: each FMT_COLLECTIVE begins with these, in this order, before its recorded
 * arguments. The first two vary between events of a template; the others are constant. A recorded
 * argument may have the same key. Exporters omit them, since importing infers them again.
 */
enum fmt_collective_arg {
	FMT_COLLECTIVE_COMM,  /* FMT_INT "comm" */
	FMT_COLLECTIVE_SEQ,   /* FMT_INT "seq" */
	FMT_COLLECTIVE_OP,    /* FMT_STRING "collective": all_reduce, all_gather, reduce_scatter,
				 broadcast, reduce, all_to_all, send_recv, gather, scatter, barrier,
				 group; 0 unknown */
	FMT_COLLECTIVE_DTYPE, /* FMT_STRING "dtype", with PyTorch's names: "BFloat16"; 0: unknown */
	FMT_COLLECTIVE_BYTES, /* FMT_INT "message_bytes": the larger of input and output on this
				 rank; -1: unknown */
	FMT_COLLECTIVE_ARGS,
};
#define FMT_KEY_OP "collective"
#define FMT_KEY_DTYPE "dtype"
#define FMT_KEY_BYTES "message_bytes"
#define FMT_KEY_COMM "comm" /* index in the trace's table of communicators; -1: unknown */
#define FMT_KEY_SEQ "seq"   /* number of the collective: the same on all its ranks */

/* Recorded arguments of collectives: the communicator's name, its ranks as text and its purpose,
 * with the keys of the PyTorch profiler; the peers of a send or receive, as JSON lists of ranks in
 * the communicator. */
#define FMT_KEY_GROUP "Process Group Name"
#define FMT_KEY_GROUP_RANKS "Process Group Ranks"
#define FMT_KEY_GROUP_DESCRIPTION "Process Group Description"
#define FMT_KEY_TO "Dst Ranks"
#define FMT_KEY_FROM "Src Ranks"

/* The number of a process that contains several ranks, from 1. */
#define FMT_FACT_PROCESS "shared_process"

#define FMT_KEY_PARTS "collectives" /* of one kernel, a JSON list: see doc/design/recording.md */

/* JSON arrays: the CUDA graphs of a rank's process, and its memory (recorded-contents.md). */
#define FMT_FACT_GRAPHS "graphs"
#define FMT_FACT_ALLOCATIONS "allocations"

/* The category of an FMT_KERNEL that is a function of the program, executed by the host. */
#define FMT_HOST_FUNCTION "host_function"

/* FMT_STRING: the mangled symbol of a kernel with a demangled name. */
#define FMT_KEY_SYMBOL "symbol"

enum fmt_track_kind { FMT_THREAD, FMT_STREAM };

struct fmt_track {
	uint8_t kind;	  /* enum fmt_track_kind */
	uint8_t text_ids; /* bit 1: the recorded pid is a string; bit 2: the tid is */
	int64_t pid;	  /* process of a thread; device of a stream */
	int64_t tid;	  /* thread, or stream number */
	fmt_str pid_text; /* if the recorded pid or tid is a string */
	fmt_str tid_text;
	fmt_str name; /* of the thread; may be 0 */
};

struct fmt_device {
	int64_t ordinal;
	fmt_str name;	    /* "NVIDIA H100 80GB HBM3" */
	fmt_str properties; /* a JSON object, as recorded */
};

struct fmt_comm {
	fmt_str name; /* as recorded ("0", "tp"), or made by the importer ("stream20"); may be 0 */
	fmt_str description;
	uint32_t n_ranks;      /* 0: unknown */
	const uint32_t *ranks; /* ascending */
};

/* A fact about a rank, or about the whole trace: `value` is a JSON value. */
struct fmt_fact {
	fmt_str key, value;
};

/* ---- events */

struct fmt_event {
	int64_t start_ns, duration_ns;
	uint64_t correlation; /* of an op: that of its launching call, within the rank; 0: none */
	uint32_t template;
	uint32_t track;
	uint32_t first_value; /* its varying values are values[first_value .. + template.n_values),
				 in argument order */
};

/* Calls, ops and syncs of a rank are numbered 0, 1, 2 ... in the order of the trace: by slice, then
 * track, then start. Edges use these numbers. */
typedef uint64_t fmt_number;

enum fmt_edge_kind {
	FMT_EDGE_START,	 /* `to` does not start before `from` ends */
	FMT_EDGE_RETURN, /* the call `to` does not return before `from` ends */
	FMT_EDGE_SPAWN,	 /* `to` does not start before `from` starts */
	FMT_EDGE_KINDS,
};

struct fmt_edge {
	fmt_number from, to;
	int64_t lag_ns; /* added to the time that the edge waits for; a constant of the rule or an
			   own cost, never a wait */
	uint8_t kind;	/* enum fmt_edge_kind */
	uint8_t rule;	/* index into the trace's table of rules; rules are recorded or inferred */
	int32_t rank;	/* rank index of `from` minus rank index of `to` */
};

/* Returns 1 if the edge waits only for a time: it is from an event to itself. */
static inline int fmt_edge_is_own(const struct fmt_edge *e)
{
	return e->from == e->to && e->rank == 0;
}

struct fmt_rule {
	fmt_str name;	  /* "event-wait", "thread-handover" */
	uint8_t inferred; /* 0: recorded */
};

/* The access of an operation to a buffer. A live buffer existed before or after the operation. */
enum fmt_access { FMT_READ, FMT_WRITTEN, FMT_LIVE, FMT_LIVE_AFTER, FMT_ACCESSES };
const char *fmt_access_name(enum fmt_access access); /* NULL beyond FMT_ACCESSES */

/* Contents of a buffer at one point of a stream: digest gd128. */
struct fmt_digest {
	fmt_number op;
	uint64_t allocation, offset_bytes, length_bytes;
	uint64_t digest[2];
	uint32_t first_page, n_pages; /* per-64-KiB sums: pages[first_page ..], two words each */
	uint8_t access;		      /* enum fmt_access */
};

/* An iteration is the unit of a run in reports; a slice is the unit of writing and reading. Slices
 * cover a rank's recording without gaps: events before the first iteration are in FMT_BEFORE,
 * events between the end of iteration k and the start of k+1 in k, and events after the end of the
 * last one in FMT_AFTER. An op is in the slice of its launching call. An op without such a call is
 * placed by its own start, but not after the next op of its stream that has a call. So the ops of a
 * stream are in order from slice to slice. An iteration of more than FMT_SLICE_EVENTS events is
 * divided by time into several slices with the same iteration. */
#define FMT_SLICE_EVENTS (1u << 20)
#define FMT_BEFORE (-1)
#define FMT_AFTER (-2)

/* Compares iterations by time, given their numbers: less than, equal to or greater than 0. */
int fmt_iteration_order(int64_t a, int64_t b);

struct fmt_iteration {
	int64_t number; /* as recorded: ProfilerStep#4 is 4; or FMT_BEFORE, FMT_AFTER */
	int64_t start_ns,
		duration_ns; /* of the annotation, on the host; of the events for the other two */
};

/* The decoded events of one rank in one slice. The caller frees it with fmt_slice_free(). */
struct fmt_slice {
	uint32_t rank;	/* index into the trace's ranks */
	uint32_t index; /* among the rank's slices */
	struct fmt_iteration iteration;
	fmt_number first_number;  /* of events[0] */
	struct fmt_event *events; /* by track, then start, enclosing before enclosed */
	size_t n_events;
	struct fmt_event *ranges; /* ranges and instants, in the same order; not numbered */
	size_t n_ranges;
	int64_t *values;
	size_t n_values;
	struct fmt_edge *edges; /* to events of this slice, by `to` */
	size_t n_edges;
	struct fmt_digest *digests;
	size_t n_digests;
	uint64_t *pages;
	size_t n_pages; /* in words */
};
