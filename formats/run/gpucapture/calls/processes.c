/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/calls/processes.h"

#include "base/array.h"
#include "base/scope.h"

#include <signal.h>
#include <stdio.h>

/* A process with its readers. */
struct traced {
	struct rec_process *process;
	struct rec_ring_reader **readers;
	size_t n, cap;
	bool is_running; /* when the recording ended */
	uint8_t signal;	 /* that ended it; 0: unknown */
};

/* A ring and its reading position. */
struct ring {
	struct rec_ring_reader *reader; /* NULL: not there */
	uint64_t position;		/* bytes read */
	struct cap_ring_status status;
};

struct rec_processes {
	struct rec_source source;
	struct rec_process_list *list; /* not owned */
	struct traced *traced;
	size_t n, cap;
	struct ring *rings; /* by number */
	size_t rings_cap;
	bool has_gap; /* a chunk of the recording was damaged */
};

void rec_processes_free(struct rec_processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		for (size_t k = 0; k < p->traced[i].n; k++)
			rec_ring_reader_free(p->traced[i].readers[k]);
		free(p->traced[i].readers);
		rec_process_free(p->traced[i].process);
	}
	free(p->traced);
	free(p->rings);
	free(p);
}

int rec_processes_new(const struct rec_source *source, struct rec_process_list *list,
		      struct rec_processes **ret)
{
	scoped(free_ptr) struct rec_processes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->source = *source;
	p->list = list;
	*ret = take(p);
	return 0;
}

static int find_process(struct rec_processes *p, const struct cap_ring_info *about,
			struct traced **ret)
{
	struct traced made = {0};
	int e;

	for (size_t i = 0; i < p->n; i++)
		if (p->traced[i].process->pid == about->pid &&
		    p->traced[i].process->started == about->process_start) {
			*ret = &p->traced[i];
			return 0;
		}
	if (array_reserve(&p->traced, p->n + 1, &p->cap) < 0 ||
	    array_reserve(&p->list->all, p->list->n + 1, &p->list->cap) < 0)
		return -ENOMEM;
	e = rec_process_new(p->list->names, about->pid, about->process_start, &made.process);
	if (e < 0)
		return e;
	made.process->index = (uint32_t)p->list->n;
	made.process->recording = p->source.recording;
	made.process->clock = p->source.host;
	made.process->only_plan = p->source.only_plan;
	made.process->is_planned = !p->source.only_plan;
	made.process->planned_times = p->source.planned_times;
	p->list->all[p->list->n++] = made.process;
	p->traced[p->n] = made;
	*ret = &p->traced[p->n++];
	return 0;
}

static struct ring *find_ring(struct rec_processes *p, uint32_t number)
{
	return number < p->rings_cap && p->rings[number].reader ? &p->rings[number] : NULL;
}

static int add_ring(struct rec_processes *p, const struct cap_ring_info *about)
{
	size_t before = p->rings_cap;
	struct rec_ring_reader *reader;
	struct traced *t;
	int e;

	if (find_ring(p, about->number))
		return 0;
	if (about->number >= REC_MOST_RINGS)
		return -EBADMSG;
	if (array_reserve(&p->rings, (size_t)about->number + 1, &p->rings_cap) < 0)
		return -ENOMEM;
	memset(p->rings + before, 0, (p->rings_cap - before) * sizeof(*p->rings));
	e = find_process(p, about, &t);
	if (e == 0 && array_reserve(&t->readers, t->n + 1, &t->cap) < 0)
		e = -ENOMEM;
	if (e == 0)
		e = rec_ring_reader_new(about, t->process, p->source.ticks, &reader);
	if (e < 0)
		return e;
	t->readers[t->n++] = reader;
	p->rings[about->number].reader = reader;
	return 0;
}

void rec_processes_note_gap(struct rec_processes *p)
{
	p->has_gap = true;
}

void rec_processes_note_damage(struct rec_processes *p)
{
	if (p->n > 0)
		p->traced[0].process->counts.damaged++;
}

/* A piece of an unknown ring, because the piece that introduced the ring was damaged. */
static int skip_ring(struct rec_processes *p)
{
	if (!p->has_gap)
		return -EBADMSG;
	rec_processes_note_damage(p);
	return 0;
}

static int add_bytes(struct rec_processes *p, uint32_t ring, uint64_t position,
		     struct fmt_cursor *c)
{
	struct ring *r = find_ring(p, ring);
	uint64_t end = position + fmt_left(c);

	if (!r)
		return skip_ring(p);
	if (position > r->position)
		rec_ring_reader_note_damage(r->reader);
	else
		fmt_bytes(c, r->position - position < fmt_left(c) ? r->position - position
								  : fmt_left(c));
	if (end > r->position)
		r->position = end;
	return rec_ring_reader_add(r->reader, c);
}

static int set_status(struct rec_processes *p, uint32_t ring, struct cap_ring_status s)
{
	struct ring *r = find_ring(p, ring);

	if (!r)
		return skip_ring(p);
	r->status = s;
	return 0;
}

int rec_processes_end_round(struct rec_processes *p, bool last)
{
	int r = 0;

	for (size_t i = 0; i < p->n && r == 0; i++) {
		struct traced *t = &p->traced[i];

		r = rec_ring_readers_process(t->readers, t->n, last);
		for (size_t k = 0; k < t->n; k++)
			rec_ring_reader_end_round(t->readers[k]);
	}
	return r;
}

static int take_ending(struct rec_processes *p, const struct rec_piece *piece)
{
	struct rec_piece_ending ending;

	if (piece->bytes != sizeof(ending))
		return -EBADMSG;
	memcpy(&ending, piece->data, sizeof(ending));
	for (size_t i = 0; i < p->n; i++)
		if (p->traced[i].process->pid == ending.pid &&
		    p->traced[i].process->started == ending.started) {
			p->traced[i].is_running = ending.is_running;
			p->traced[i].signal = ending.signal;
		}
	return 0;
}

int rec_processes_add_piece(void *processes, const struct rec_piece *piece)
{
	struct fmt_cursor c = fmt_cursor(piece->data, piece->bytes);
	struct cap_ring_info about;
	struct cap_ring_status status;

	switch ((enum rec_piece_kind)piece->kind) {
	case REC_PIECE_RING:
		if (piece->bytes != sizeof(about))
			return -EBADMSG;
		memcpy(&about, piece->data, sizeof(about));
		return add_ring(processes, &about);
	case REC_PIECE_BYTES:
		return add_bytes(processes, piece->ring, piece->position, &c);
	case REC_PIECE_STATUS:
		if (piece->bytes != sizeof(status))
			return -EBADMSG;
		memcpy(&status, piece->data, sizeof(status));
		return set_status(processes, piece->ring, status);
	case REC_PIECE_ROUND:
		return rec_processes_end_round(processes, false);
	case REC_PIECE_ENDING:
		return take_ending(processes, piece);
	default:
		return 0;
	}
}

/* Sums the lost events of all rings, and the calls that never returned. */
void rec_processes_add_losses(struct rec_processes *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct rec_counts *c = &p->traced[i].process->counts;

		c->begun = c->unended = c->ring_lost_records = c->ring_lost_bytes = 0;
	}
	for (size_t i = 0; i < p->rings_cap; i++) {
		const struct ring *r = &p->rings[i];
		struct rec_counts *c = r->reader ? &r->reader->process->counts : NULL;

		if (!c)
			continue;
		c->begun += cap_id_ordinal(r->status.last_call);
		c->unended += r->status.current_api != 0;
		c->ring_lost_records += r->status.lost_records;
		c->ring_lost_bytes += r->status.lost_bytes;
	}
	for (size_t i = 0; i < p->n; i++) {
		struct rec_counts *c = &p->traced[i].process->counts;

		if (c->ring_lost_records > c->lost_records) {
			c->lost_records = c->ring_lost_records;
			c->lost_bytes = c->ring_lost_bytes;
		}
	}
}

/* Returns true if some ring of the process has that state. */
static bool has_ring_state(const struct rec_processes *p, const struct traced *t,
			   enum cap_state state)
{
	bool found = false;

	for (size_t i = 0; i < t->n; i++)
		found |= p->rings[t->readers[i]->about.number].status.state == state;
	return found;
}

const char *rec_signal_name(int signal)
{
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",
		[SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
		[SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",   [SIGKILL] = "SIGKILL",
		[SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
		[SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",
		[SIGXCPU] = "SIGXCPU", [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
	};

	return signal > 0 && (size_t)signal < ARRAY_SIZE(names) ? names[signal] : NULL;
}

/* Sets the process's last call to the call in progress in one of its threads. */
static int find_call_in_progress(const struct rec_processes *p, const struct traced *t)
{
	struct rec_process *process = t->process;
	int r = 0;

	for (size_t i = 0; i < t->n && !process->end.in_call && r == 0; i++) {
		uint32_t api = p->rings[t->readers[i]->about.number].status.current_api;
		const struct api_call *call = api > 0 ? api_call(api - 1) : NULL;

		if (!call)
			continue;
		process->end.in_call = true;
		r = fmt_names_string(p->list->names, call->name, strlen(call->name),
				     &process->end.last_call);
	}
	return r;
}

static int find_ending(const struct rec_processes *p, const struct traced *t)
{
	struct rec_process *process = t->process;
	bool aborted = has_ring_state(p, t, CAP_PROCESS_ABORTED);
	bool is_open = has_ring_state(p, t, CAP_LIVE) && !has_ring_state(p, t, CAP_PROCESS_EXITED);

	process->end.how = REC_EXITED;
	if (is_open && t->is_running)
		process->end.how = REC_RUNNING;
	else if (is_open || aborted)
		process->end.how = REC_KILLED;
	if (process->end.how != REC_KILLED)
		return 0;
	process->end.signal = t->signal;
	if (process->end.signal == 0 && aborted)
		process->end.signal = SIGABRT;
	return find_call_in_progress(p, t);
}

int rec_processes_find_endings(const struct rec_processes *p, struct rec_end_counts *sum)
{
	int r = 0;

	for (size_t i = 0; i < p->n && r == 0; i++) {
		r = find_ending(p, &p->traced[i]);
		sum->running += p->traced[i].process->end.how == REC_RUNNING;
		sum->killed += p->traced[i].process->end.how == REC_KILLED;
	}
	return r;
}

/* Returns the name of a process for users: that of its executable. */
static void name_process(const struct rec_process *p, char ret[64])
{
	const char *path = rec_process_fact(p, "executable");
	const char *name = path ? strrchr(path, '/') : NULL;

	if (name)
		snprintf(ret, 64, "%.*s", (int)strcspn(name + 1, "\""), name + 1);
}

int rec_list_killed(const struct rec_process_list *list, struct rec_killed **ret, size_t *n)
{
	size_t cap = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct rec_process *p = list->all[i];
		struct rec_killed made = {.pid = p->pid,
					  .signal = p->end.signal,
					  .in_call = p->end.in_call,
					  .calls = p->counts.calls,
					  .ops = p->counts.ops};

		if (p->end.how != REC_KILLED)
			continue;
		name_process(p, made.name);
		snprintf(made.last_call, sizeof(made.last_call), "%s",
			 fmt_string(p->names, p->end.last_call, NULL));
		if (array_reserve(ret, *n + 1, &cap) < 0)
			return -ENOMEM;
		(*ret)[(*n)++] = made;
	}
	return 0;
}
