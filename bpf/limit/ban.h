/* SPDX-License-Identifier: GPL-2.0-only */
/* Bans: a key that exceeded a limit with `over ban` is refused until a time, by the tick clock. A
 * ban does not extend itself.
 *
 * A ban that is in force is never pushed out, however many others want its place: where there is no
 * room a new one does not begin, which is counted, and its key is held to the limit alone. A hash
 * map does not say which of its entries are over, so each has a seat in an array beside it, and a
 * hand goes round the seats. A new ban looks at the next BAN_TRIES of them and takes the first
 * whose ban is over.
 *
 * Races: no two CPUs get the same turn of the hand, so a seat has one new owner. A ban that begins
 * anew in the moment in which its seat goes to another is lost: its key's next offence bans it.
 * When two CPUs ban one key, the second gives its seat back.
 */
#pragma once

#include "algorithm/once.h"
#include "clock.h"
#include "limit/state.h"

#define BAN_TRIES 8 /* seats, which lie side by side */

static __always_inline bool ban_holds(const struct rl_state_key *key)
{
	void *map = only(&bans);
	struct rl_ban *ban = map ? bpf_map_lookup_elem(map, key) : NULL;

	return ban && READ_ONCE(ban->until_ns) > clock_tick();
}

/* The ban whose seat this was is over; unless it has another one by now. */
static __always_inline void ban_end(void *map, const struct rl_ban_seat *seat, __u32 number)
{
	struct rl_state_key key = seat->key;
	struct rl_ban *ban = bpf_map_lookup_elem(map, &key);

	if (ban && ban->seat == number)
		bpf_map_delete_elem(map, &key);
}

/* The number of a seat whose ban is over, 0 where there is none. */
static __always_inline __u32 ban_seat_find(void *map, void *seats)
{
	struct rl_ban_seat *hand = only(seats), *seat;
	__u64 now_ns = clock_tick();
	__u32 number, count;

	if (!hand)
		return 0;
	count = hand->key.limit_id;
	for (int i = 0; count && i < BAN_TRIES; i++) {
		number = __sync_fetch_and_add(&hand->until_ns, 1) % count + 1;
		seat = bpf_map_lookup_elem(seats, &number);
		if (!seat || READ_ONCE(seat->until_ns) > now_ns)
			continue;
		if (seat->until_ns)
			ban_end(map, seat, number);
		return number;
	}
	return 0;
}

/* The key has none that is in force. */
static __always_inline int ban_begin(void *map, void *seats, const struct rl_state_key *key,
				     __u64 until_ns)
{
	struct rl_ban ban = {.until_ns = until_ns, .seat = ban_seat_find(map, seats)};
	struct rl_ban_seat *seat = bpf_map_lookup_elem(seats, &ban.seat);

	if (!ban.seat || !seat)
		return -1;
	seat->key = *key;
	WRITE_ONCE(seat->until_ns, until_ns);
	if (!bpf_map_update_elem(map, key, &ban, BPF_NOEXIST))
		return 0;
	WRITE_ONCE(seat->until_ns, 0);
	return bpf_map_lookup_elem(map, key) ? 0 : -1;
}

/* The same, of one that was banned before and still has its seat. */
static __always_inline int ban_renew(void *map, void *seats, const struct rl_state_key *key,
				     const struct rl_ban *old, __u64 until_ns)
{
	struct rl_ban ban = {.until_ns = until_ns, .seat = old->seat};
	struct rl_ban_seat *seat = bpf_map_lookup_elem(seats, &ban.seat);

	if (seat)
		WRITE_ONCE(seat->until_ns, until_ns);
	return bpf_map_update_elem(map, key, &ban, BPF_EXIST);
}

__noinline int ban_put(const struct rl_state_key *of, __u64 until_ns)
{
	void *map = only(&bans), *seats = only(&ban_seats);
	struct rl_state_key key;
	struct rl_ban *old;
	int ret = -1;

	if (!of)
		return 0;
	key = *of; /* before 6.2 a key must be on the stack */
	if (map && seats) {
		old = bpf_map_lookup_elem(map, &key);
		ret = old ? ban_renew(map, seats, &key, old, until_ns)
			  : ban_begin(map, seats, &key, until_ns);
	}
	if (ret)
		pressure_count(RL_PRESSURE_BANS_REFUSED);
	return 0;
}

static __always_inline bool source_is_banned(const struct packet *p)
{
	struct rl_state_key key;

	key_source(&key, p);
	return ban_holds(&key);
}
