/* SPDX-License-Identifier: Apache-2.0 */

/* Feeds records to the importer of gpucapture and prints on stderr, as JSON, what it makes of them.
 * Commands on standard input, one a line:
 *
 *     process                              a process, and the ring of its thread
 *     ring                                 another ring of the process
 *     on RING                              the next commands are for this ring, from 0
 *     at ORDINAL NS                        number and start of the ring's next call
 *     call NAME DEPTH RESULT WORD...       a call, which takes 1 us
 *     blob ARGUMENT KIND HEX               memory of the next call's argument
 *     field ARGUMENT CALL FIELD HEX        memory that a field of the argument's struct points to
 *     times ID START END                   of the operation of call ID
 *     raw HEX                              a record
 *     same_track                           the process's two threads have the same id
 *     look                                 processes all records of the ring so far
 *     write PATH                           a trace of all processes
 */
#include "base/array.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/gpucapture/process/symbol.h"
#include "formats/trace/json.h"
#include "formats/trace/value.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

static struct {
	struct fmt_names *names;
	struct rec_process *processes[8];
	struct made_ring rings[8];
	size_t n_processes, n_rings;
	struct rec_trace_counts written;
} all;

static uint8_t *bytes_of(const char *hex, uint32_t *len)
{
	static _Alignas(8) uint8_t bytes[1024];

	for (*len = 0; hex && *len < sizeof(bytes) && sscanf(hex, "%2hhx", &bytes[*len]) == 1;
	     hex += 2)
		++*len;
	return bytes;
}

static uint64_t number(void)
{
	const char *word = strtok(NULL, " ");

	return word ? strtoull(word, NULL, 0) : 0;
}

static void add_ring(struct rec_process *p)
{
	ring_open(&all.rings[all.n_rings], p, (uint32_t)all.n_rings);
	all.n_rings++;
}

static void add_process(void)
{
	size_t n = all.n_processes++;

	all.processes[n] = process(all.names, 100 + (int)n, (uint32_t)n);
	add_ring(all.processes[n]);
}

static void put_call(struct made_ring *m)
{
	const char *name = strtok(NULL, " "), *word;
	uint8_t depth = (uint8_t)number();
	int32_t result = (int32_t)number();
	uint64_t words[32];
	uint32_t n = 0;

	while ((word = strtok(NULL, " ")))
		words[n++] = strtoull(word, NULL, 0);
	ring_call_at(m, name, depth, result, words, n);
}

static void put_memory(struct made_ring *m, bool is_field)
{
	uint16_t arg = (uint16_t)number();
	const char *call = is_field ? strtok(NULL, " ") : NULL;
	const char *field = is_field ? strtok(NULL, " ") : NULL;
	enum cap_blob_kind kind = is_field ? CAP_BLOB_FIELD : (enum cap_blob_kind)number();
	uint32_t len;
	const uint8_t *data = bytes_of(strtok(NULL, " "), &len);

	if (is_field)
		ring_field(m, arg, call, field, data, len);
	else
		ring_blob(m, arg, kind, data, len);
}

static void write_all(const char *path)
{
	static const struct rec_window window = {.first = -1, .last = -1};
	struct fmt_error err = {0};

	ck_assert_msg(rec_run_write(all.processes, all.n_processes, all.names, &window, path,
				    &all.written, &err) == 0,
		      "%s", err.what);
}

static void run(const char *command, struct made_ring **on)
{
	struct made_ring *m = *on;
	uint32_t len;

	if (strcmp(command, "process") == 0) {
		add_process();
		*on = &all.rings[all.n_rings - 1];
	} else if (strcmp(command, "ring") == 0) {
		add_ring(all.processes[all.n_processes - 1]);
		*on = &all.rings[all.n_rings - 1];
	} else if (strcmp(command, "on") == 0) {
		*on = &all.rings[number()];
	} else if (strcmp(command, "at") == 0) {
		m->ordinal = number();
		m->now_ns = (int64_t)number();
	} else if (strcmp(command, "call") == 0) {
		put_call(m);
	} else if (strcmp(command, "blob") == 0 || strcmp(command, "field") == 0) {
		put_memory(m, *command == 'f');
	} else if (strcmp(command, "times") == 0) {
		uint64_t id = number(), start_ns = number();

		ring_times(m, id, (int64_t)start_ns, (int64_t)number());
	} else if (strcmp(command, "raw") == 0) {
		ring_put(m, bytes_of(strtok(NULL, " "), &len));
	} else if (strcmp(command, "same_track") == 0) {
		all.processes[0]->tracks[1].number = all.processes[0]->tracks[0].number;
	} else if (strcmp(command, "look") == 0) {
		ring_look(m);
	} else {
		ck_assert_str_eq(command, "write");
		write_all(strtok(NULL, " "));
	}
}

/* ---- the state of a process, as JSON */

static void put_event(struct fmt_json *j, const struct rec_process *p, const struct rec_event *e)
{
	const struct fmt_template *t = fmt_template(p->names, e->template);
	scoped(text_done) struct text args = {0};

	for (uint32_t i = 0; i < t->n_args; i++) {
		text_printf(&args, "%s%s=", i > 0 ? " " : "",
			    fmt_string(p->names, t->args[i].key, NULL));
		fmt_value_text(&args, p->names, NULL, t, p->values + e->first_value, i);
	}
	fmt_json_open(j, NULL, '{');
	fmt_json_str(j, "kind", fmt_kind_name(e->kind));
	fmt_json_str(j, "name", fmt_string(p->names, t->name, NULL));
	fmt_json_bytes(j, "args", args.data ? args.data : "", args.len);
	fmt_json_u64(j, "correlation", e->correlation);
	fmt_json_i64(j, "device", e->device);
	fmt_json_bool(j, "on_stream", p->tracks[e->track].kind == FMT_STREAM);
	fmt_json_i64(j, "call", e->call == REC_NONE ? -1 : (int64_t)e->call);
	fmt_json_close(j, '}');
}

static void put_graphs(struct fmt_json *j, const struct rec_process *p)
{
	scoped(text_done) struct text graphs = {0};

	rec_graphs_json(p, &graphs);
	fmt_json_verbatim(j, "graphs", graphs.len ? graphs.data : "[]",
			  graphs.len ? graphs.len : 2);
	fmt_json_open(j, "executables", '[');
	for (uint32_t i = 1; p->graphs && i <= 2; i++) {
		struct rec_graph_id id = rec_graph_exec_version(p, i);

		fmt_json_open(j, NULL, '[');
		fmt_json_u64(j, NULL, id.graph);
		fmt_json_u64(j, NULL, id.version);
		fmt_json_close(j, ']');
	}
	fmt_json_close(j, ']');
}

static void put_process(struct fmt_json *j, const struct rec_process *p)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"calls", p->counts.calls},
		{"ops", p->counts.ops},
		{"failed", p->counts.failed},
		{"damaged", p->counts.damaged},
		{"without_parameters", p->counts.without_parameters},
		{"graph_changes", p->counts.graph_changes},
		{"graph_collectives", p->counts.graph_collectives},
		{"lost_collectives", p->counts.lost_collectives},
		{"unknown_handles", rec_handles_unknown(p->handles)},
		{"comms", p->nccl.n_comms},
		{"live_comms", rec_handles_find(p->handles, API_MEANING_COMM, COMM) != NULL},
	};

	fmt_json_open(j, NULL, '{');
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		fmt_json_u64(j, counts[i].name, counts[i].value);
	fmt_json_open(j, "collectives", '[');
	for (size_t i = 0; i < p->nccl.n_collectives; i++) {
		const struct rec_collective *c = &p->nccl.collectives[i];

		fmt_json_open(j, NULL, '{');
		fmt_json_i64(j, "bytes", c->bytes);
		fmt_json_str(j, "parts", fmt_string(p->names, c->parts, NULL));
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
	put_graphs(j, p);
	fmt_json_open(j, "events", '[');
	for (size_t i = 0; i < p->n_events; i++)
		put_event(j, p, &p->events[i]);
	fmt_json_close(j, ']');
	fmt_json_close(j, '}');
}

static void put_all(struct text *out)
{
	struct fmt_json j = {.text = out};

	fmt_json_open(&j, NULL, '{');
	fmt_json_u64(&j, "calls", all.written.calls);
	fmt_json_u64(&j, "ops", all.written.ops);
	fmt_json_u64(&j, "collectives", all.written.collectives);
	fmt_json_u64(&j, "unmatched", all.written.unmatched);
	fmt_json_u64(&j, "without_times", all.written.without_times);
	fmt_json_bool(&j, "demangles", rec_symbols_can_demangle());
	fmt_json_open(&j, "processes", '[');
	for (size_t i = 0; i < all.n_processes; i++)
		put_process(&j, all.processes[i]);
	fmt_json_close(&j, ']');
	fmt_json_close(&j, '}');
}

TEST(standard_input)
{
	scoped(text_done) struct text out = {0};
	struct made_ring *on = NULL;
	static char line[8192];

	ck_assert_int_eq(fmt_names_new(&all.names), 0);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		run(strtok(line, " "), &on);
	}
	put_all(&out);
	fwrite(out.data, 1, out.len, stderr);
	for (size_t i = 0; i < all.n_rings; i++)
		ring_close(&all.rings[i]);
	for (size_t i = 0; i < all.n_processes; i++)
		rec_process_free(all.processes[i]);
	fmt_names_free(all.names);
}
