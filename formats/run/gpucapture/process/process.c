/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/process.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/json.h"

void rec_process_free(struct rec_process *p)
{
	if (!p)
		return;
	rec_handles_free(p->handles);
	rec_symbols_done(&p->memo.symbols);
	if (p->graphs)
		p->free_graphs(p->graphs);
	rec_memory_done(&p->memory);
	free(p->events);
	free(p->ranges);
	free(p->values);
	rec_pending_done(&p->times.waits);
	free(p->tracks);
	free(p->nccl.collectives);
	free(p->nccl.messages);
	free(p->nccl.comms);
	rec_pending_done(&p->buffers.due);
	free(p->buffers.digests);
	free(p->images);
	free(p->buffers.pages);
	free(p->facts);
	for (size_t i = 0; p->memo.last_calls && i < api_count(); i++)
		free(p->memo.last_calls[i].codes);
	free(p->memo.last_calls);
	free(p->memo.kernel_templates);
	fmt_hash_done(&p->memo.kernel_table);
	free(p->unknown);
	free(p->open);
	free(p->marks);
	for (size_t i = 0; i < p->n_launches; i++)
		rec_launches_done(&p->launches[i]);
	free(p->launches);
	fmt_iterations_done(&p->cuts);
	free(p->threads);
	free(p);
}

int rec_process_new(struct fmt_names *names, int32_t pid, uint64_t started,
		    struct rec_process **ret)
{
	scoped(rec_process_freep) struct rec_process *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = names;
	p->pid = pid;
	p->started = started;
	p->memo.last_calls = calloc(api_count() + (size_t)1, sizeof(*p->memo.last_calls));
	if (!p->memo.last_calls || rec_handles_new(&p->handles) < 0)
		return -ENOMEM;
	*ret = take(p);
	return 0;
}

int rec_add_event(struct rec_process *p, const struct rec_event *e, uint32_t *ret)
{
	if (p->n_events >= REC_NONE - 1)
		return -EOVERFLOW;
	if (array_reserve(&p->events, p->n_events + 1, &p->events_cap) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->n_events;
	p->events[p->n_events++] = *e;
	return 0;
}

int rec_add_range(struct rec_process *p, const struct rec_event *e)
{
	if (array_reserve(&p->ranges, p->n_ranges + 1, &p->ranges_cap) < 0)
		return -ENOMEM;
	p->ranges[p->n_ranges++] = *e;
	rec_process_extend_span(p, e->start_ns, e->start_ns + e->duration_ns);
	return 0;
}

int rec_add_track(struct rec_process *p, const struct rec_track *track, uint32_t *ret)
{
	if (array_reserve(&p->tracks, p->n_tracks + 1, &p->tracks_cap) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->n_tracks;
	p->tracks[p->n_tracks++] = *track;
	return 0;
}

int rec_add_values(struct rec_process *p, const int64_t *values, size_t n, uint32_t *ret)
{
	if (p->n_values + n > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&p->values, p->n_values + n, &p->values_cap) < 0)
		return -ENOMEM;
	*ret = (uint32_t)p->n_values;
	if (n > 0)
		memcpy(p->values + p->n_values, values, n * sizeof(*values));
	p->n_values += n;
	return 0;
}

int rec_add_collective(struct rec_process *p, const struct rec_collective *of,
		       const struct fmt_message *messages, uint32_t event)
{
	struct rec_collective made = *of;

	if (p->nccl.n_messages + of->n_messages > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&p->nccl.messages, p->nccl.n_messages + of->n_messages,
			  &p->nccl.messages_cap) < 0 ||
	    array_reserve(&p->nccl.collectives, p->nccl.n_collectives + 1,
			  &p->nccl.collectives_cap) < 0)
		return -ENOMEM;
	made.event = event;
	made.number = p->nccl.made++;
	made.first_message = (uint32_t)p->nccl.n_messages;
	for (uint32_t i = 0; i < of->n_messages; i++)
		p->nccl.messages[p->nccl.n_messages++] = messages[i];
	p->nccl.collectives[p->nccl.n_collectives++] = made;
	if (event != REC_NONE)
		p->events[event].kind = FMT_COLLECTIVE;
	return 0;
}

int rec_add_launch(struct rec_process *p, uint32_t track, int device,
		   const struct rec_launch *launch)
{
	size_t i = 0;

	while (i < p->n_launches &&
	       (p->launches[i].track != track || p->launches[i].device != device))
		i++;
	if (i == p->n_launches) {
		if (array_reserve(&p->launches, i + 1, &p->launches_cap) < 0)
			return -ENOMEM;
		p->launches[p->n_launches++] =
			(struct rec_launches){.track = track, .device = device};
	}
	return rec_launches_add(&p->launches[i], launch);
}

void rec_process_extend_span(struct rec_process *p, int64_t start_ns, int64_t end_ns)
{
	if (!p->has_span || start_ns < p->first_ns)
		p->first_ns = start_ns;
	if (!p->has_span || end_ns > p->last_ns)
		p->last_ns = end_ns;
	p->has_span = true;
}

static int hex_string(struct fmt_names *names, const uint8_t *bytes, size_t len, fmt_str *ret)
{
	scoped(text_done) struct text hex = {0};

	text_hex(&hex, bytes, len);
	return hex.error ? hex.error : fmt_names_string(names, hex.data, hex.len, ret);
}

int rec_add_image(struct rec_process *p, const struct cap_image_record *r)
{
	struct rec_image image = {.name = {r->hash[0], r->hash[1]},
				  .bytes = r->size,
				  .offset_bytes = r->offset,
				  .kind = CAP_IMAGE_KIND(r->head.flags),
				  .stored = r->head.flags & CAP_IMAGE_STORED};
	int e = fmt_names_string(p->names, r->data, r->path_len, &image.file);

	if (e == 0)
		e = hex_string(p->names, (const uint8_t *)r->data + r->path_len, r->build_id_len,
			       &image.build_id);
	if (e == 0 && array_reserve(&p->images, p->n_images + 1, &p->images_cap) < 0)
		e = -ENOMEM;
	if (e == 0)
		p->images[p->n_images++] = image;
	return e;
}

/* Converts a command line, whose words are NUL-terminated, to a JSON list. */
static void list_json(struct text *json, const char *value, size_t len)
{
	text_char(json, '[');
	for (size_t at = 0, n; at < len; at += n + 1) {
		n = strnlen(value + at, len - at);
		text_str(json, at > 0 ? ", " : "");
		fmt_json_string(json, value + at, n);
	}
	text_char(json, ']');
}

int rec_add_fact(struct rec_process *p, const char *key, size_t key_len, const char *value,
		 size_t value_len)
{
	scoped(text_done) struct text json = {0};
	struct rec_fact fact;
	int r = fmt_names_string(p->names, key, key_len, &fact.key);

	if (key_len == 7 && memcmp(key, "command", 7) == 0)
		list_json(&json, value, value_len);
	else if (fmt_json_valid(value, value_len))
		text_bytes(&json, value, value_len);
	else
		fmt_json_string(&json, value, value_len);
	if (r == 0)
		r = json.error;
	if (r == 0)
		r = fmt_names_string(p->names, json.data, json.len, &fact.value);
	if (r == 0 && array_reserve(&p->facts, p->n_facts + 1, &p->facts_cap) < 0)
		r = -ENOMEM;
	if (r == 0)
		p->facts[p->n_facts++] = fact;
	return r;
}

const char *rec_process_fact(const struct rec_process *p, const char *key)
{
	for (size_t i = p->n_facts; i-- > 0;)
		if (strcmp(fmt_string(p->names, p->facts[i].key, NULL), key) == 0)
			return fmt_string(p->names, p->facts[i].value, NULL);
	return NULL;
}

bool rec_processes_share_comm(const struct rec_process *a, const struct rec_process *b)
{
	for (size_t i = 0; i < a->nccl.n_comms; i++)
		for (size_t k = 0; k < b->nccl.n_comms; k++)
			if (a->nccl.comms[i].id == b->nccl.comms[k].id)
				return true;
	return false;
}
