// SPDX-License-Identifier: GPL-2.0-only
/* Bans that begin and end. New ones take the seats after the hand (bpf/limit/ban.h), so those are
 * read first, and all others in turn: a ban that was renewed, or forgiven, is seen once its turn
 * comes. A round reads a bounded number of seats, and none where nothing is banned and nothing
 * dropped. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/events/watched.h"
#include "cli/output/output.h"
#include "cli/output/state_output.h"
#include "kernel/state/bans.h"

#define SEATS_READ  1024u           /* at once */
#define SWEEP_SEATS 4096u           /* in a round */
#define HAND_NS     (5 * NS_PER_MS) /* in a round, for the seats after the hand */
#define ENDED_MAX   1024u           /* seats that are looked at in a round since their ban ends */

_Static_assert(EVENT_KEY_MAX >= KEY_TEXT_MAX, "a key fits");

void watched_bans_clear(struct watched *w)
{
	free(w->bans.until_ns);
	w->bans = (struct bans_seen){0};
}

/* ---- events */

/* For the key of a rule, or for a source that is banned altogether. */
static void ban_describe(const struct watched *w, const struct rl_state_key *key,
			 struct pending *pending)
{
	const struct rule *of = NULL;

	policy_for_each (&w->policy, rule)
		if (!of && key->limit_id && rule->limit_id == key->limit_id)
			of = rule;
	key_print(pending->event.key, key, of);
	watched_rule_put(w, &pending->event, of);
	if (of)
		pending->counter_id = of->counter_id;
}

static void begun_tell(struct watched *w, uint32_t seat, const struct rl_ban_seat *now)
{
	struct pending *pending = watched_event(w, EVENT_BAN_BEGIN);
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!pending)
		return;
	w->bans.told[w->bans.told_next++ % WATCHED_TOLD] =
		(struct told_ban){.seat = seat, .key = now->key};
	ban_describe(w, &now->key, pending);
	pending->due_ns = now_ns + EXCERPT_WAIT_NS;
	pending->event.until_ns = realtime_of(now->until_ns);
	event_text_set(&pending->event, "%s is banned for %s%s%.700s", pending->event.key,
		       wait_text(now->until_ns - now_ns),
		       *pending->event.rule ? ": " : " from everything", pending->event.rule);
}

/* ---- seats */

/* now: what was read of the seat. The key of a ban may not be known any more. */
static void seat_ended(struct watched *w, uint32_t seat, const struct rl_ban_seat *now)
{
	uint64_t until_ns = w->bans.until_ns[seat];
	const struct rl_state_key *key = now->until_ns == until_ns ? &now->key : NULL;
	struct told_ban *told = w->bans.told;
	struct pending *pending;

	w->bans.until_ns[seat] = 0;
	w->bans.in_force--;
	while (told < w->bans.told + WATCHED_TOLD && told->seat != seat)
		told++;
	if (told < w->bans.told + WATCHED_TOLD) {
		key = key ? key : &told->key;
		told->seat = 0;
	}
	if (!key)
		quota_lose(&w->quota, EVENT_BAN_END, 1);
	pending = key ? watched_event(w, EVENT_BAN_END) : NULL;
	if (!pending)
		return;
	ban_describe(w, key, pending);
	pending->event.until_ns = realtime_of(until_ns);
	event_text_set(&pending->event, "the ban of %s has %s%s%.700s", pending->event.key,
		       until_ns <= clock_ns(CLOCK_MONOTONIC) ? "ended" : "been forgiven",
		       *pending->event.rule ? ": " : "", pending->event.rule);
}

static void seat_look(struct watched *w, uint32_t seat, const struct rl_ban_seat *now,
		      uint64_t now_ns, bool tells)
{
	uint64_t before = w->bans.until_ns[seat];

	if (before == now->until_ns && before > now_ns)
		return;
	if (before)
		seat_ended(w, seat, now);
	if (now->until_ns > now_ns) {
		w->bans.until_ns[seat] = now->until_ns;
		w->bans.in_force++;
		if (tells)
			begun_tell(w, seat, now);
	}
}

/* Seats first..first + count - 1, which does not go beyond the last. */
static int seats_look(struct watched *w, const struct ban_seats *seats, uint32_t first,
		      uint32_t count, bool tells)
{
	struct rl_ban_seat read[SEATS_READ] = {0};
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int ret = ban_seats_read(seats, first, count, read);

	for (uint32_t i = 0; !ret && i < count; i++)
		seat_look(w, first + i, &read[i], now_ns, tells);
	return ret;
}

/* `count` seats that follow seat `after`, in a circle, until end_ns. Returns the last one. */
static uint32_t circle_look(struct watched *w, const struct ban_seats *seats, uint32_t after,
			    uint64_t count, uint64_t end_ns, bool tells)
{
	while (count && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		uint32_t first = after % seats->count + 1, n = seats->count - first + 1;

		n = n < SEATS_READ ? n : SEATS_READ;
		n = n < count ? n : (uint32_t)count;
		if (seats_look(w, seats, first, n, tells))
			break;
		after = first + n - 1;
		count -= n;
	}
	return after;
}

/* ---- rounds */

static void seats_poll(struct watched *w, const struct ban_seats *seats, uint64_t now_ns)
{
	uint64_t looked = seats->hand - w->bans.hand;
	bool may_begin = w->drops.total != w->bans.drops || looked, ok = true;
	uint32_t left = ENDED_MAX;

	circle_look(w, seats, (uint32_t)(w->bans.hand % seats->count),
		    looked < seats->count ? looked : seats->count, now_ns + HAND_NS, true);
	w->bans.hand = seats->hand;
	/* Those whose ban ends now: the seats are read, for it may have been renewed. */
	for (uint32_t seat = 1; ok && w->bans.in_force && left && seat <= seats->count; seat++) {
		if (!w->bans.until_ns[seat] || w->bans.until_ns[seat] > now_ns)
			continue;
		left--;
		ok = !seats_look(w, seats, seat, 1, true);
	}
	if (!may_begin && !w->bans.in_force && !w->bans.swept)
		return;
	if (!w->bans.swept) /* a new circle */
		w->bans.drops = w->drops.total;
	w->bans.swept = circle_look(w, seats, w->bans.swept,
				    SWEEP_SEATS < seats->count ? SWEEP_SEATS : seats->count,
				    UINT64_MAX, true) %
			seats->count;
}

/* A policy that first bans makes the map: its bans are new ones. Those of a map that was not seen
 * before for another reason are taken for known. */
void watched_bans_poll(struct watched *w, uint64_t now_ns)
{
	struct ban_seats seats;
	bool first, grown = w->bans.id;

	if (ban_seats_open(&w->instance, &seats))
		return; /* none, or being detached */
	first = !w->bans.id && !w->bans.drops && !w->receivers;
	if (w->bans.id != seats.id || w->bans.count != seats.count) {
		watched_bans_clear(w);
		w->bans.until_ns = xcalloc((size_t)seats.count + 1, sizeof(*w->bans.until_ns));
		w->bans.id = seats.id;
		w->bans.count = seats.count;
		if (first || grown) {
			w->bans.hand = seats.hand;
			circle_look(w, &seats, 0, seats.count, UINT64_MAX, false);
		}
	}
	if (seats.count)
		seats_poll(w, &seats, now_ns);
	close(seats.fd);
}
