// SPDX-License-Identifier: GPL-2.0-only
/* One key's lease: the key's traffic determines the request, Redis' answer the kernel's grant.
 *
 * The grant never exceeds the reservation: it grows after Redis has reserved more, and shrinks
 * before less is reported to Redis. A lease ends in the kernel before its reservation ends in
 * Redis, since it counts from before the request was sent.
 */
#include <math.h>
#include <string.h>

#include "algorithm/fleet_clock.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "kernel/maps/fleet_maps.h"

#define SMOOTH_NS   (150.0 * NS_PER_MS)
#define SMOOTH_MOST (2.0 * NS_PER_SECOND)
#define SMOOTH_OVER 8.0 /* packets, so that a slow key is averaged over a longer time */
#define SILENT_OVER 4.0 /* missing packets after which a key is silent */
#define SILENT_NS   (1500 * NS_PER_MS)
#define IDLE_NS     (2 * NS_PER_SECOND)
#define LOOK_NS     (4 * NS_PER_MS) /* shortest time between two checks */
#define HEADROOM    1.25

void fleet_entry_reset(struct fleet_entry *e)
{
	e->fresh = true;
	e->granted = false;
	memset(&e->grant, 0, sizeof(e->grant));
	e->held = e->reserved = e->want = e->wanted = e->ends = 0;
	e->window = 0;
	e->ask = e->back = 0;
	e->backoff_ns = 0;
	e->next_ns = 0;
}

/* ---- traffic of a key */

struct traffic {
	bool any; /* some, or it is too early to know */
	bool refused;
	double rate;   /* offered, packets or bytes per ns; smoothed */
	uint64_t word; /* of the key */
};

static void demand_update(struct fleet_entry *e, uint64_t amount, uint64_t span_ns)
{
	double rate = (double)amount / (double)span_ns;
	double packets = e->demand / (double)e->limit->packet, smooth = SMOOTH_NS, weight;
	bool many = (double)amount >= SMOOTH_OVER * (double)e->limit->packet;

	if (packets > 0 && SMOOTH_OVER / packets >= SMOOTH_NS)
		smooth = fmin(SMOOTH_OVER / packets, SMOOTH_MOST);
	weight = (double)span_ns / ((double)span_ns + smooth);
	if (rate > e->demand && (many || e->demand <= 0) && weight < 0.5)
		weight = 0.5;
	e->demand += (rate - e->demand) * weight;
}

/* False: it is too early to know. The first check has no earlier counters to compare with. */
static bool traffic_read(struct fleet_entry *e, const struct fleet_maps *maps, uint64_t now_ns,
			 struct traffic *out)
{
	double missing = e->demand / (double)e->limit->packet * (double)(now_ns - e->busy_ns);
	struct rl_fleet_key key = {0};
	uint64_t used, refused;

	if (e->checked_ns && now_ns - e->checked_ns < LOOK_NS)
		return false;
	fleet_key_read(maps, &e->key, &key); /* evicted if it had no traffic for long */
	used = key.used >= e->used ? key.used - e->used : key.used;
	refused = key.refused >= e->refused ? key.refused - e->refused : key.refused;
	if (e->checked_ns)
		demand_update(e, used + refused, now_ns - e->checked_ns);
	if (used || refused || !e->checked_ns)
		e->busy_ns = now_ns;
	*out = (struct traffic){
		.any = used || refused || !e->checked_ns ||
		       (missing < SILENT_OVER && now_ns - e->busy_ns < SILENT_NS),
		.refused = refused > 0,
		.rate = e->demand,
		.word = key.word,
	};
	e->used = key.used;
	e->refused = key.refused;
	e->checked_ns = now_ns;
	return true;
}

/* ---- shares of a rate */

/* Sets the kernel's grant to this share; tokens are kept. */
static void share_set(struct fleet_entry *e, const struct fleet_maps *maps, uint32_t share,
		      uint64_t until_ns)
{
	const struct fleet_limit *limit = e->limit;
	const struct rl_fleet_limit always = {.until_ns = UINT64_MAX};
	uint64_t now_ns = fleet_now_ns();
	struct fleet_clock earned = {0}; /* by the lease, and its cap once it has ended */
	double burst = (double)(limit->burst << limit->shift) / 2;
	struct rl_fleet_grant next = {.since_ns = now_ns, .until_ns = until_ns};

	if (e->granted)
		earned = fleet_clock_of(&always, &e->grant, now_ns);
	next.phase.rate = fleet_limit_rate(limit, share);
	next.phase.cap = (uint64_t)(burst * share / SHARE_LEASED);
	next.phase.grains = earned.grains - (next.phase.cap - earned.cap);
	e->held = share;
	if (fleet_grant_write(maps, &e->key, &next)) {
		e->held = 0; /* no room: no lease */
		return;
	}
	e->grant = next;
	e->granted = true;
}

static uint32_t share_wanted(const struct fleet_entry *e, const struct traffic *traffic,
			     uint32_t members)
{
	double demand = traffic->rate / e->limit->per_ns * SHARE_ALL;
	double own = (double)SHARE_OWN / members, want = (demand - own) * HEADROOM;

	if (e->fresh && want < SHARE_LEASED / 2.0)
		want = SHARE_LEASED / 2.0; /* its rate is unknown */
	if (traffic->refused && want < e->held * HEADROOM + 1000)
		want = e->held * HEADROOM + 1000;
	if (!traffic->any || want < 0)
		return 0;
	return want < SHARE_LEASED ? (uint32_t)want : SHARE_LEASED;
}

/* Is more reserved than held, which others may need? A little waits until the lease is renewed. */
static bool is_owed(const struct fleet_entry *e)
{
	return e->held + e->held / 16 < e->reserved;
}

static bool share_check(struct fleet_entry *e, const struct fleet_maps *maps,
			const struct fleet_pace *pace, const struct traffic *traffic,
			uint64_t now_ns)
{
	if (e->held && now_ns >= e->grant.until_ns)
		e->held = 0; /* it has ended */
	e->want = share_wanted(e, traffic, pace->members);
	if (e->want + e->want / 2 < e->held)
		share_set(e, maps, e->want, e->grant.until_ns);
	if (is_owed(e))
		return true;
	if (e->held && now_ns + pace->check_ns + 2 * pace->interval_ns > e->grant.until_ns)
		return true;
	if (e->want > e->held + (traffic->refused ? 0 : e->held / 4))
		return true;
	e->next_ns = now_ns + pace->check_ns;
	return false;
}

void fleet_entry_grant(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint32_t share, uint32_t part,
		       uint32_t second, uint64_t sent_ns)
{
	uint64_t longest = share < part ? pace->retry_ns : pace->check_ns;

	if (share > e->want)
		share = e->want;
	e->reserved = share > e->held ? share : e->held;
	e->wanted = e->want;
	e->ends = second + 2;
	e->fresh = false;
	share_set(e, maps, share, sent_ns + LEASE_NS);
	if (e->held >= e->want) {
		e->backoff_ns = 0;
		e->next_ns = sent_ns + (e->held ? pace->check_ns : pace->interval_ns);
		return;
	}
	e->backoff_ns = e->backoff_ns ? 2 * e->backoff_ns : pace->interval_ns;
	if (e->backoff_ns > longest)
		e->backoff_ns = longest;
	e->next_ns = sent_ns + (is_owed(e) ? pace->interval_ns : e->backoff_ns);
}

/* ---- amounts of a window */

#define SPENT_MASK ((1ull << RL_FLEET_SPENT_BITS) - 1)

static uint64_t lease_spent(const struct fleet_entry *e, uint64_t word)
{
	uint64_t name = e->grant.since_ns << RL_FLEET_SPENT_BITS;

	return (word & ~SPENT_MASK) == name ? word & SPENT_MASK : 0;
}

/* Returns the rest of the lease. The kernel's grant is lowered first, then what it spent in the
 * meantime is subtracted. */
static void lease_return(struct fleet_entry *e, const struct fleet_maps *maps, uint64_t word)
{
	struct rl_fleet_key key = {0};
	uint64_t spent = lease_spent(e, word), had = e->grant.phase.grains;

	e->grant.phase.grains = spent;
	if (fleet_grant_write(maps, &e->key, &e->grant))
		return;
	fleet_key_read(maps, &e->key, &key);
	if (lease_spent(e, key.word) > spent)
		spent = lease_spent(e, key.word);
	e->back = had > spent ? had - spent : 0;
}

static bool window_check(struct fleet_entry *e, const struct fleet_maps *maps,
			 const struct fleet_pace *pace, const struct traffic *traffic,
			 uint64_t now_ns)
{
	bool lasts = e->granted && now_ns < e->grant.until_ns;
	uint64_t spent = lasts ? lease_spent(e, traffic->word) : 0;
	uint64_t left = lasts && e->grant.phase.grains > spent ? e->grant.phase.grains - spent : 0;
	double ahead = fmax(4.0 * (double)pace->interval_ns, 2.0 * (double)pace->check_ns);
	uint64_t need = (uint64_t)ceil(traffic->rate * ahead);

	e->ask = e->back = 0;
	e->next_ns = now_ns + (traffic->any ? pace->interval_ns : pace->check_ns);
	if (!traffic->any && left) {
		lease_return(e, maps, traffic->word);
		return e->back > 0;
	}
	if (!traffic->any || left > need / 2)
		return false;
	if (need < e->limit->packet)
		need = e->limit->packet;
	e->ask = need > left ? need - left : 0;
	return e->ask > 0;
}

void fleet_entry_window(struct fleet_entry *e, const struct fleet_maps *maps,
			const struct fleet_pace *pace, uint64_t lease, uint64_t lasts_ns,
			int64_t start, uint64_t sent_ns)
{
	uint64_t most = fleet_limit_leased(e->limit);
	struct rl_fleet_grant next = e->grant;
	uint64_t later = pace->check_ns;

	if (lease > e->ask)
		lease = e->ask;
	if (start != e->window || sent_ns >= e->grant.until_ns) {
		next.since_ns++; /* identifies the window */
		next.phase.grains = 0;
		e->window = start;
	}
	next.until_ns = sent_ns + lasts_ns;
	next.phase.grains += lease;
	if (next.phase.grains > most)
		next.phase.grains = most;
	e->fresh = false;
	if (!fleet_grant_write(maps, &e->key, &next)) {
		e->grant = next;
		e->granted = true;
	}
	if (e->ask && !lease) /* nothing left, but others may return some */
		e->next_ns = sent_ns + (lasts_ns < later ? lasts_ns : later);
	e->ask = e->back = 0;
}

/* ---- both kinds of leases */

bool fleet_entry_check(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint64_t now_ns)
{
	struct traffic traffic;

	if (!traffic_read(e, maps, now_ns, &traffic)) {
		e->next_ns = now_ns + pace->interval_ns;
		return false;
	}
	return e->limit->window ? window_check(e, maps, pace, &traffic, now_ns)
				: share_check(e, maps, pace, &traffic, now_ns);
}

bool fleet_entry_is_idle(const struct fleet_entry *e, uint64_t now_ns)
{
	if (now_ns - e->busy_ns < IDLE_NS)
		return false;
	return !e->held && !e->reserved && !e->ask && !e->back;
}
