/* SPDX-License-Identifier: GPL-2.0-only */
/* One limit among many senders: `share` of rlctl-policy(5). Pure; also compiled into tests.
 *
 * In front of the limit's bucket, which is never exceeded, each class of senders has a room, and
 * each sender of it a pace, both renewed at the end of a step by what came and what was admitted:
 *
 *   room    weighted water-filling of the rate by demand, never less than the class's part
 *   pace    room / senders that it holds, and so many are what was admitted / the last pace: the
 *           fair rate of core-stateless fair queueing (Stoica, Shenker, Zhang: SIGCOMM 1998)
 *
 * The established and the known are held to it one by one, by a bucket of their own: max-min. A
 * stranger costs nobody anything to invent, so strangers are held to it by bins of what gives a
 * flood away, as stochastic fair blue does it (Feng, Kandlur, Saha, Shin: INFOCOM 2001), in a
 * cascade: of a bin whose packets come faster than the pace a part of the senders is drawn, and the
 * next row counts that part alone. A sender is drawn for two seconds, so that whole handshakes
 * pass. Packets beyond the pace are held by a bucket of the bin, and those that are not drawn
 * have what the others leave of it.
 *
 * While all that comes fits, nothing is asked and nothing is refused here.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define SHARE_STEP_NS       10000000ull   /* of a step, at least */
#define SHARE_STEP_AMOUNT   64            /* packets that the limit gives in a step, at least */
#define SHARE_BUSY_NS       1000000000ull /* without need, classes are asked for so long */
#define SHARE_SEEN_NS       1000000000ull /* in which senders are counted */
#define SHARE_DRAW_SHIFT    31            /* nanoseconds << this: how long a draw stays */
#define SHARE_BURST_FIRST   20            /* what its part gives in these, */
#define SHARE_BURST_STEPS   80            /* and later in these; but at most so many */
#define SHARE_BURST         8             /* packets at once, and a step's, */
#define SHARE_BURST_LEAST   4             /* and at least so many */
#define SHARE_TURNS_FEW     10            /* steps in which senders are averaged over fewer */
#define SHARE_TURNS         (16 * (SHARE_BURST_STEPS - SHARE_BURST_FIRST))
#define SHARE_DEBT          64 /* full packets: more than the largest of 64 KiB and a half */
#define SHARE_SENDERS_SHIFT 8  /* numbers of senders are in 2^-8 */
#define SHARE_SENDERS_SURE  (4ull * 64 * RL_SHARE_SEEN_WORDS << SHARE_SENDERS_SHIFT) /* counted */
#define SHARE_CLOCK_SHIFT   8 /* 2^8 ns of a step: what a room of 400 Gbit/s has bits for */
#define SHARE_ONE           (1ull << RL_SHARE_SHIFT)

/* The rest after n steps: e^(-n/10), in 2^-16. */
#define SHARE_DECAY_STEPS 64
static const __u16 share_decay[SHARE_DECAY_STEPS] = {
	65535, 59299, 53656, 48550, 43930, 39750, 35967, 32544, 29447, 26645, 24109, 21815, 19739,
	17861, 16161, 14623, 13231, 11972, 10833, 9802,  8869,  8025,  7262,  6571,  5945,  5380,
	4868,  4404,  3985,  3606,  3263,  2952,  2671,  2417,  2187,  1979,  1791,  1620,  1466,
	1327,  1200,  1086,  983,   889,   805,   728,   659,   596,   539,   488,   442,   400,
	362,   327,   296,   268,   242,   219,   198,   180,   162,   147,   133,   120,
};

static __always_inline __u64 share_decayed(__u64 amount, __u64 steps)
{
	__u32 i = steps < SHARE_DECAY_STEPS ? steps : SHARE_DECAY_STEPS;

	if (!steps)
		return amount;      /* or many small losses are a large one */
	asm volatile("" : "+r"(i)); /* or the compiler adds before it compares */
	return i < SHARE_DECAY_STEPS ? amount * share_decay[i] >> 16 : 0;
}

/* ---- buckets that drain at a pace */

/* So much of what a step gives. */
static __always_inline __u64 share_so_far(const struct rl_share *s, __u64 gives, __u32 step_ns,
					  __u64 now_ns)
{
	__u64 elapsed = now_ns - READ_ONCE(s->began_ns);

	if (elapsed >= step_ns)
		return gives;
	return gives * (elapsed >> SHARE_CLOCK_SHIFT) / (step_ns >> SHARE_CLOCK_SHIFT);
}

/* The clock of a class advances by its pace, so a bucket is as full as its word is ahead of it,
 * in amounts, however the pace changes: virtual time (Zhang: SIGCOMM 1990). */
static __always_inline __u64 share_clock(const struct rl_share *s, const struct rl_share_part *part,
					 __u32 step_ns, __u64 now_ns)
{
	return READ_ONCE(part->clock) + share_so_far(s, READ_ONCE(part->pace), step_ns, now_ns);
}

/* full: a full packet. Debts beyond some packets, of a time when the pace was high, are forgiven.
 * Two CPUs that fill it at once: the later one's packet costs nothing. */
static __always_inline bool share_takes(__u64 *word, __u64 clock, __u64 least, __u64 cost,
					__u64 depth, __u64 full)
{
	__s64 ahead = (__s64)(READ_ONCE(*word) - clock);
	__u64 level = ahead > (__s64)least ? (__u64)ahead : least, most = depth + SHARE_DEBT * full;

	if (level > most)
		WRITE_ONCE(*word, clock + most);
	if (level > depth)
		return false;
	WRITE_ONCE(*word, clock + level + cost);
	return true;
}

/* ---- bins of strangers */

#define BIN_STEP_SHIFT 48
#define BIN_AMOUNT     ((1ull << BIN_STEP_SHIFT) - 1)
#define BIN_SPAN(pace) \
	((pace)*10 + (pace) / 2) /* what a bin of that pace holds: 1 / (1 - e^-0.1) */
#define BIN_FLOOD     4          /* so many times its pace: more senders are drawn */
#define BIN_BURST     6          /* packets that may be admitted at once, and a step's */
#define BIN_PORT_WIDE 16         /* a port has so many times the pace of a pattern or network */

static __always_inline __u64 bin_recent(const struct rl_bin *bin, __u32 step)
{
	__u64 word = READ_ONCE(bin->recent);

	return share_decayed(word & BIN_AMOUNT, (__u16)(step - (word >> BIN_STEP_SHIFT)));
}

/* One packet in so many is counted, a power of two: no two CPUs write a bin that is far over its
 * pace with every packet. So many are counted as its pace lets pass. */
static __always_inline __u32 bin_sampling(__u64 recent, __u64 span)
{
	if (recent >> 8 > span)
		return 256;
	if (recent >> 6 > span)
		return 64;
	return recent >> 4 > span ? 16 : 1;
}

/* Counts the packet, and returns what the bin holds. */
static __always_inline __u64 bin_count(struct rl_bin *bin, __u32 step, __u64 span, __u64 amount,
				       __u32 chance)
{
	__u64 recent = bin_recent(bin, step);
	__u32 sampling = bin_sampling(recent, span);

	if (chance & (sampling - 1))
		return recent;
	recent += amount * sampling << RL_SHARE_SHIFT;
	if (recent > BIN_AMOUNT)
		recent = BIN_AMOUNT;
	WRITE_ONCE(bin->recent, (__u64)step << BIN_STEP_SHIFT | recent);
	return recent;
}

/* The part of a bin's senders that is drawn, of 2^16. In a flood it is half as much again: its
 * bucket holds them to the pace, and would not be filled for a while after a pulse. */
static __always_inline __u64 bin_part(__u64 recent, __u64 span)
{
	__u64 pace = recent / BIN_FLOOD > span ? span + span / 2 : span;

	return (pace << 16) / recent;
}

/* A stranger's packet on its way through the rows. */
struct share_draw {
	__u64 luck, chance; /* 32 bits, random: of its source, while a draw stays; of the packet */
	__u64 least;        /* the least part that a bin admits, of 2^16, */
	__u32 cap;          /* and the row of that bin; RL_ROWS: all are admitted */
	__u32 random;       /* as chance was at first */
	__u8 admits;        /* the source is drawn, */
	__u8 counts;        /* the packet is counted in the next row */
};

static __always_inline void share_draw_begin(struct share_draw *d, __u32 luck, __u32 chance)
{
	d->luck = luck;
	d->chance = chance;
	d->random = chance;
	d->least = 1 << 16;
	d->cap = RL_ROWS;
	d->admits = 1;
	d->counts = 1;
}

static __always_inline __u64 row_wide(__u32 row)
{
	return row == RL_ROW_PORT ? BIN_PORT_WIDE : 1;
}

static __always_inline __u64 bin_depth(__u64 pace, const struct rl_parts *n, __u32 row)
{
	return (BIN_BURST * ((__u64)n->packet << RL_SHARE_SHIFT) + pace) / row_wide(row);
}

/* Has the bin's bucket nothing for those that are not drawn? */
static __always_inline bool bin_is_taken(const struct rl_bin *bin, const struct rl_share *s,
					 const struct rl_parts *n, __u32 row, __u64 now_ns)
{
	const struct rl_share_part *part = &s->part[RL_SHARE_STRANGER];
	__u64 depth = bin_depth(READ_ONCE(part->pace), n, row);
	__u64 full = (__u64)n->packet << RL_SHARE_SHIFT;
	__u64 ahead = READ_ONCE(bin->full) - share_clock(s, part, n->step_ns, now_ns);

	/* A debt of another limit's clock is clamped where it is charged. */
	return ahead - depth / 2 - 1 < depth + SHARE_DEBT * full;
}

/* Asks the packet's bin of one row. False: the packet is refused, and is asked no further. */
static __always_inline bool share_row(struct share_draw *d, struct rl_bin *bin, __u32 row,
				      const struct rl_share *s, const struct rl_parts *n,
				      __u64 amount, __u64 now_ns)
{
	const struct rl_share_part *part = &s->part[RL_SHARE_STRANGER];
	__u64 pace = READ_ONCE(part->pace), span = BIN_SPAN(pace * row_wide(row)), part_of;
	__u32 step = READ_ONCE(s->step);
	__u64 recent =
		d->counts ? bin_count(bin, step, span, amount, d->random) : bin_recent(bin, step);

	if (recent <= span)
		return true;
	part_of = bin_part(recent, span);
	d->admits = d->admits && d->luck >> 16 < part_of;
	d->counts = d->counts && d->chance >> 16 < part_of;
	if (!d->admits && !d->counts && bin_is_taken(bin, s, n, row, now_ns))
		return false;
	d->luck = part_of ? (d->luck << 16) / part_of : d->luck;
	d->chance = part_of ? (d->chance << 16) / part_of : d->chance;
	if (part_of < d->least) {
		d->least = part_of;
		d->cap = row;
	}
	return true;
}

/* Does the first row refuse the packet, and has no need to count it? Writes nothing. */
static __always_inline bool share_refuses_uncounted(const struct share_draw *d,
						    const struct rl_bin *bin,
						    const struct rl_share *s,
						    const struct rl_parts *n, __u64 now_ns)
{
	const struct rl_share_part *part = &s->part[RL_SHARE_STRANGER];
	__u64 pace = READ_ONCE(part->pace), span = BIN_SPAN(pace), part_of;
	__u64 recent = bin_recent(bin, READ_ONCE(s->step));

	if (!(d->random & (bin_sampling(recent, span) - 1)))
		return false;
	part_of = bin_part(recent, span);
	return d->luck >> 16 >= part_of && d->chance >> 16 >= part_of &&
	       bin_is_taken(bin, s, n, RL_ROW_PATTERN, now_ns);
}

/* After all rows: charges the bin of the row d->cap, which is not RL_ROWS. */
static __always_inline bool share_bin_takes(const struct share_draw *d, struct rl_bin *bin,
					    const struct rl_share *s, const struct rl_parts *n,
					    __u64 amount, __u64 now_ns)
{
	const struct rl_share_part *part = &s->part[RL_SHARE_STRANGER];
	__u64 full = (__u64)n->packet << RL_SHARE_SHIFT;
	__u64 depth = bin_depth(READ_ONCE(part->pace), n, d->cap);

	amount <<= RL_SHARE_SHIFT;
	return share_takes(&bin->full, share_clock(s, part, n->step_ns, now_ns), 0,
			   (amount - amount / 20) / row_wide(d->cap), d->admits ? depth : depth / 2,
			   full);
}

/* Is the stranger's packet admitted? All in one. */
static __always_inline bool share_stranger_admits(const struct rl_share *s,
						  struct rl_bin *const rows[RL_ROWS],
						  const struct rl_parts *n, __u64 amount,
						  __u64 now_ns, __u32 luck, __u32 chance)
{
	struct share_draw d;

	share_draw_begin(&d, luck, chance);
	for (__u32 row = 0; row < RL_ROWS; row++)
		if (!share_row(&d, rows[row], row, s, n, amount, now_ns))
			return false;
	return d.cap == RL_ROWS || share_bin_takes(&d, rows[d.cap], s, n, amount, now_ns);
}

/* ---- senders that are known */

/* How full a sender's bucket is. */
static __always_inline __u64 share_level(__u64 word, __u64 clock)
{
	__s64 ahead = (__s64)(word - clock);

	return ahead > 0 ? (__u64)ahead : 0;
}

/* Is there room for the packet in this step? Two and a half rooms at once, and one in its course.
 * When a flood begins, all senders' buckets are empty, and what they hold together is more: the
 * less room is left, the emptier a sender's bucket has to be (level: as it was before the packet;
 * 0 of a stranger), and after a packet or two those of the flood are not. */
static __always_inline bool share_has_room(const struct rl_share *s, struct rl_share_part *part,
					   const struct rl_parts *n, __u64 amount, __u64 level,
					   __u64 now_ns)
{
	__u64 spent = READ_ONCE(part->spent), room = READ_ONCE(part->room);
	__u64 left = 2 * room + room / 2 + share_so_far(s, room, n->step_ns, now_ns);
	__u64 pace = READ_ONCE(part->pace);

	left = left > spent ? left - spent : 0;
	if (!left)
		return false;
	/* In parts of 2^16, which a room of 400 Gbit/s has bits for. */
	if (left < room && level > pace + ((part->depth - pace) * ((left << 16) / room) >> 16))
		return false;
	WRITE_ONCE(part->spent, spent + (amount << RL_SHARE_SHIFT));
	return true;
}

/* A little more than the room, or what the pace brings to it would fill the class for good. */
static __always_inline void share_refill(struct rl_share_part *part, __u64 steps)
{
	__u64 refill = (part->room + part->room / 32) * steps;

	part->spent -= part->spent < refill ? part->spent : refill;
}

/* Counts a sender among those of its class, by its hash: linear counting (Whang, Vander-Zanden,
 * Taylor: 1990), one new bit at a time. */
static __always_inline void share_see(struct rl_share_part *part, __u32 hash)
{
	__u64 bit = 1ull << hash % 64, *word = &part->seen[hash / 64 % RL_SHARE_SEEN_WORDS];
	__u64 bits = 64 * RL_SHARE_SEEN_WORDS, left;

	if (READ_ONCE(*word) & bit)
		return;
	*word |= bit;
	left = bits - (part->seen_count < bits - 1 ? part->seen_count : bits - 1);
	part->seen_count++;
	part->senders_now += (bits << SHARE_SENDERS_SHIFT) / left;
}

/* Does all that the class sends fit? Its senders need no buckets then. */
static __always_inline bool share_is_open(const struct rl_share_part *part)
{
	return READ_ONCE(part->demand) <= READ_ONCE(part->room);
}

/* Is the packet admitted? word: the sender's bucket. One that is empty is taken for a part full,
 * by chance, so that senders that begin together are not admitted together. */
static __always_inline bool share_sender_admits(const struct rl_share *s,
						const struct rl_share_part *part,
						const struct rl_parts *n, __u64 *word, __u32 hash,
						__u64 amount, __u64 now_ns)
{
	__u64 clock = share_clock(s, part, n->step_ns, now_ns);
	__u64 cost = amount << RL_SHARE_SHIFT, full = (__u64)n->packet << RL_SHARE_SHIFT;
	__u32 chance = (__u32)(hash ^ clock) * 0x9e3779b1u;

	return share_takes(word, clock, full * (chance >> 16) >> 16,
			   cost / 2 + (cost * (chance & 0xffff) >> 16), part->depth, full);
}
