/* SPDX-License-Identifier: Apache-2.0 */

/* What is looked up once for each site that a slice uses. */
#include "formats/store/slice_impl.h"

#include "base/array.h"

/* A correlation is a value with this key and place among the values. */
#define KEY_CORRELATION 0xffffff0u

static const struct fmt_site *site_of(const struct fmt_run_code *r, uint32_t site)
{
	if (!r->map)
		return fmt_site(r->names, site);
	return site < r->map->n_sites ? fmt_site(r->names, r->map->sites[site]) : NULL;
}

static int add_slots(struct fmt_run_code *r, const struct fmt_site *site)
{
	uint32_t n = 0;

	if (array_reserve(&r->slots, r->n_slots + site->n_values + 1, &r->slots_cap) < 0)
		return -ENOMEM;
	for (uint32_t k = 0; k < site->n_args && n < site->n_values; k++)
		if (site->args[k].varies)
			r->slots[r->n_slots++] = (struct fmt_slot){
				.key = site->args[k].key,
				.number = n++,
				.type = site->args[k].type,
			};
	r->slots[r->n_slots++] = (struct fmt_slot){
		.key = KEY_CORRELATION, .number = FMT_SLOT_CORRELATION, .type = FMT_INT};
	return 0;
}

static int add_card(struct fmt_run_code *r, uint32_t number, const struct fmt_site *site)
{
	if (array_reserve(&r->cards, r->n_cards + 1, &r->cards_cap) < 0)
		return -ENOMEM;
	r->cards[r->n_cards++] =
		(struct fmt_card){.site = site, .first_slot = (uint32_t)r->n_slots, .launches = -1};
	r->card_of[number] = (uint32_t)r->n_cards;
	return add_slots(r, site);
}

int fmt_set_card(struct fmt_run_code *r, struct fmt_item *item)
{
	const struct fmt_site *site;
	int e;

	if (!r->card_of) {
		uint32_t n = r->map ? r->map->n_sites : r->n_sites;

		r->card_of = calloc((size_t)n + 1, sizeof(*r->card_of));
		if (!r->card_of)
			return -ENOMEM;
	}
	site = site_of(r, item->site);
	if (!site)
		return -EBADMSG;
	if (!r->card_of[item->site]) {
		e = add_card(r, item->site, site);
		if (e < 0)
			return e;
	}
	item->card = r->card_of[item->site] - 1;
	item->kind = site->kind;
	return 0;
}
