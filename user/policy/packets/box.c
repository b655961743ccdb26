// SPDX-License-Identifier: GPL-2.0-only
/* The search for a packet outside of all boxes cuts a box at the borders of one other box after the
 * other.
 */
#include "policy/packets/box.h"

#include <errno.h>
#include <stdlib.h>

int boxes_add(struct boxes *boxes, const struct box *box)
{
	size_t capacity = boxes->capacity ? 2 * boxes->capacity : 64;
	struct box *more;

	if (boxes->count == boxes->capacity) {
		more = reallocarray(boxes->box, capacity, sizeof(*more));
		if (!more)
			return -ENOMEM;
		boxes->box = more;
		boxes->capacity = capacity;
	}
	boxes->box[boxes->count++] = *box;
	return 0;
}

void boxes_clear(struct boxes *boxes)
{
	free(boxes->box);
	*boxes = (struct boxes){0};
}

void box_narrow(struct box *box, enum dim d, uint32_t first, uint32_t last)
{
	box->first[d] = first > box->first[d] ? first : box->first[d];
	box->last[d] = last < box->last[d] ? last : box->last[d];
}

void box_narrow_peer(struct box *box, u128 first, u128 last)
{
	box->peer_first = first > box->peer_first ? first : box->peer_first;
	box->peer_last = last < box->peer_last ? last : box->peer_last;
}

void box_narrow_bits(struct box *box, uint64_t care, uint64_t bits)
{
	box->care |= care;
	box->bits |= bits & care;
}

bool box_meet(const struct box *a, const struct box *b, struct box *out)
{
	uint64_t flags = 0;

	if (a->care & b->care & (a->bits ^ b->bits))
		return false;
	*out = *a;
	for (int i = 0; i < 4; i++)
		flags |= out->tcp_flags.word[i] &= b->tcp_flags.word[i];
	if (!flags)
		return false;
	for (enum dim d = 0; d < DIMS; d++) {
		box_narrow(out, d, b->first[d], b->last[d]);
		if (out->first[d] > out->last[d])
			return false;
	}
	box_narrow_peer(out, b->peer_first, b->peer_last);
	box_narrow_bits(out, b->care, b->bits);
	return out->peer_first <= out->peer_last;
}

static bool is_open_from(struct box box, const struct cover *cover, size_t from);

/* Is a part of the box open that lies outside of `cut` in the peer's address? The rest is left in
 * *box. */
static bool peer_is_open(struct box *box, const struct box *cut, const struct cover *cover,
			 size_t from)
{
	struct box part = *box;

	part.peer_last = cut->peer_first - 1;
	if (box->peer_first < cut->peer_first && is_open_from(part, cover, from))
		return true;
	part = *box;
	part.peer_first = cut->peer_last + 1;
	if (box->peer_last > cut->peer_last && is_open_from(part, cover, from))
		return true;
	box_narrow_peer(box, cut->peer_first, cut->peer_last);
	return false;
}

/* The same in the fields that are numbers. */
static bool numbers_are_open(struct box *box, const struct box *cut, const struct cover *cover,
			     size_t from)
{
	for (enum dim d = 0; d < DIMS; d++) {
		struct box part = *box;

		part.last[d] = cut->first[d] - 1;
		if (box->first[d] < cut->first[d] && is_open_from(part, cover, from))
			return true;
		part = *box;
		part.first[d] = cut->last[d] + 1;
		if (box->last[d] > cut->last[d] && is_open_from(part, cover, from))
			return true;
		box_narrow(box, d, cut->first[d], cut->last[d]);
	}
	return false;
}

/* The same in TCP flags. */
static bool flags_are_open(struct box *box, const struct box *cut, const struct cover *cover,
			   size_t from)
{
	struct box part = *box;
	uint64_t left = 0;

	for (int i = 0; i < 4; i++) {
		left |= part.tcp_flags.word[i] &= ~cut->tcp_flags.word[i];
		box->tcp_flags.word[i] &= cut->tcp_flags.word[i];
	}
	return left && is_open_from(part, cover, from);
}

static bool bits_are_open(struct box *box, const struct box *cut, const struct cover *cover,
			  size_t from)
{
	for (uint64_t left = cut->care & ~box->care; left; left &= left - 1) {
		uint64_t bit = left & -left;
		struct box part = *box;

		box_narrow_bits(&part, bit, ~cut->bits);
		if (is_open_from(part, cover, from))
			return true;
		box_narrow_bits(box, bit, cut->bits);
	}
	return false;
}

static bool is_open_from(struct box box, const struct cover *cover, size_t from)
{
	for (size_t i = from; i < cover->a_count + cover->b_count; i++) {
		const struct box *cut =
			i < cover->a_count ? &cover->a->box[i] : &cover->b->box[i - cover->a_count];
		struct box common;

		if (!*cover->steps)
			return true;
		--*cover->steps;
		if (box_meet(&box, cut, &common))
			return peer_is_open(&box, cut, cover, i + 1) ||
			       numbers_are_open(&box, cut, cover, i + 1) ||
			       flags_are_open(&box, cut, cover, i + 1) ||
			       bits_are_open(&box, cut, cover, i + 1);
	}
	return true;
}

bool box_is_open(const struct box *box, const struct cover *cover)
{
	return is_open_from(*box, cover, 0);
}
