/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/plan.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/allocation.h"

/* Plans stand by template in blocks, and those in groups, each made when one of its plans is
 * needed. */
#define BLOCK_TEMPLATES 1024u
#define GROUP_BLOCKS 2048u
#define GROUPS 2048u

struct block {
	struct fmt_plan *_Atomic plans[BLOCK_TEMPLATES];
};

struct group {
	struct block *_Atomic blocks[GROUP_BLOCKS];
};

struct fmt_plans {
	const struct fmt_names *names;
	pthread_mutex_t making;
	struct group *_Atomic groups[GROUPS];
};

static void plan_free(struct fmt_plan *p)
{
	if (!p)
		return;
	fmt_row_template_free(p->own);
	fmt_row_template_free(p->memory);
	free(p->name);
	free(p);
}

define_cleanup(plan_freep, struct fmt_plan *, plan_free);

int fmt_plans_new(const struct fmt_names *names, struct fmt_plans **ret)
{
	scoped(free_ptr) struct fmt_plans *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = names;
	pthread_mutex_init(&p->making, NULL);
	*ret = take(p);
	return 0;
}

static void block_free(struct block *b)
{
	for (size_t i = 0; b && i < BLOCK_TEMPLATES; i++)
		plan_free(b->plans[i]);
	free(b);
}

void fmt_plans_free(struct fmt_plans *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < GROUPS; i++) {
		struct group *g = p->groups[i];

		for (size_t j = 0; g && j < GROUP_BLOCKS; j++)
			block_free(g->blocks[j]);
		free(g);
	}
	pthread_mutex_destroy(&p->making);
	free(p);
}

static int is_memory(const struct fmt_names *names, const struct fmt_template *template)
{
	const char *name = fmt_string(names, template->name, NULL);

	if (template->kind == FMT_CALL)
		return fmt_is_allocation(name);
	return template->kind == FMT_MARK && strstr(name, "emory") != NULL;
}

static int table_of(enum fmt_kind kind)
{
	switch (kind) {
	case FMT_CALL:
		return FMT_TABLE_CALLS;
	case FMT_KERNEL:
		return FMT_TABLE_KERNELS;
	case FMT_MEMCPY:
		return FMT_TABLE_MEMCPY;
	case FMT_MEMSET:
		return FMT_TABLE_MEMSET;
	case FMT_COLLECTIVE:
		return FMT_TABLE_COLLECTIVES;
	case FMT_SYNC:
		return FMT_TABLE_SYNCS;
	default:
		return -1;
	}
}

static int plan_new(const struct fmt_names *names, const struct fmt_template *template,
		    struct fmt_plan **ret)
{
	scoped(plan_freep) struct fmt_plan *p = calloc(1, sizeof(*p));
	scoped(text_done) struct text name = {0};
	const char *bytes;
	size_t len;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->table = table_of(template->kind);
	if (p->table >= 0)
		r = fmt_row_template_new(names, template, (enum fmt_table)p->table, &p->own);
	if (r == 0 && is_memory(names, template))
		r = fmt_row_template_new(names, template, FMT_TABLE_MEMORY, &p->memory);
	if (r < 0)
		return r;

	bytes = fmt_string(names, template->name, &len);
	fmt_field_text(&name, bytes, len, "");
	if (name.error)
		return name.error;
	p->name_len = name.len;
	p->name = take(name.data);
	*ret = take(p);
	return 0;
}

/* Returns the slot for the plan of a template. Requires the mutex. */
static int make_slot(struct fmt_plans *p, uint32_t template, struct fmt_plan *_Atomic **ret)
{
	uint32_t at = template / BLOCK_TEMPLATES;
	struct group *_Atomic *group = &p->groups[at / GROUP_BLOCKS];
	struct block *_Atomic *block;

	if (!*group)
		*group = calloc(1, sizeof(struct group));
	if (!*group)
		return -ENOMEM;
	block = &((struct group *)*group)->blocks[at % GROUP_BLOCKS];
	if (!*block)
		*block = calloc(1, sizeof(struct block));
	if (!*block)
		return -ENOMEM;
	*ret = &((struct block *)*block)->plans[template % BLOCK_TEMPLATES];
	return 0;
}

/* With the mutex held. */
static int make(struct fmt_plans *p, uint32_t number, struct fmt_plan **ret)
{
	const struct fmt_template *template = fmt_template(p->names, number);
	struct fmt_plan *made = NULL, *_Atomic * slot;
	int r = template ? make_slot(p, number, &slot) : -EBADMSG;

	if (r < 0)
		return r;
	if (!*slot) {
		r = plan_new(p->names, template, &made);
		if (r < 0)
			return r;
		*slot = made;
	}
	*ret = *slot;
	return 0;
}

int fmt_plans_find(struct fmt_plans *p, uint32_t template, const struct fmt_plan **ret)
{
	uint32_t at = template / BLOCK_TEMPLATES;
	struct group *g = p->groups[at / GROUP_BLOCKS];
	struct block *b = g ? g->blocks[at % GROUP_BLOCKS] : NULL;
	struct fmt_plan *found = b ? b->plans[template % BLOCK_TEMPLATES] : NULL;
	int r = 0;

	if (!found) {
		pthread_mutex_lock(&p->making);
		r = make(p, template, &found);
		pthread_mutex_unlock(&p->making);
	}
	if (r == 0)
		*ret = found;
	return r;
}
