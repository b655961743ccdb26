/* SPDX-License-Identifier: GPL-2.0-only */
/* Which packets of UDP and ICMP echo answer what this machine asked: who sent first is noted for
 * each conversation (algorithm/asked.h), in a table that only this machine's own packets, and
 * packets that were let through, write.
 *
 * ours: this machine sent first. The program at egress (sent.bpf.c) notes every UDP packet that
 * leaves, and every echo request, unless the peer sent first; for a minute after the last one,
 * answers are established.
 *
 * theirs: the peer sent first. A UDP packet that passes without being established leaves that, if a
 * socket is bound to its port which is not connected to the peer. A packet sent meanwhile is no
 * question, so that no client becomes established by being answered. It lasts a minute after the
 * last packet of either side. Echo requests need no such note: replies to them are not noted.
 *
 * Where it says less than one might expect:
 * - Conversations that were under way when the first rule asked: the side that sends next counts as
 *   the first.
 * - This machine's own address is no part of the key.
 * - Questions that leave by another device than their answers arrive at.
 * - A forger who sends in a peer's name to a bound port, before this machine does, and is let
 *   through, counts as that peer: its answers to that port are then held by the limits. Sockets
 *   that are bound for one question alone (resolvers) leave no time for that.
 * - A port that serves, while so many peers begin that their marks push each other out: what this
 *   machine asks from it then is not noted (asked_may_begin).
 */
#ifndef RLCTL_BPF_ASKED_H
#define RLCTL_BPF_ASKED_H

#include "algorithm/asked.h"
#include "clock.h"
#include "common.h"
#include "packet.h"

#define ECHO_REPLY         0
#define ECHO_REQUEST       8
#define ECHO_REQUEST_ICMP6 128
#define ECHO_REPLY_ICMP6   129

enum asked_side { ASKED_OURS, ASKED_THEIRS };

static __always_inline __u64 *asked_ways(struct rl_asked_set *set, enum asked_side side)
{
	return side == ASKED_OURS ? set->ours : set->theirs;
}

/* NULL where there is none. */
static __always_inline struct rl_asked *asked_table(void)
{
	void *table = only(&asked);

	return table ? only(table) : NULL;
}

static __always_inline struct rl_asked_set *asked_set(const struct asked_key *key)
{
	struct rl_asked *table = asked_table();

	return table ? &table->sets[key->set & (RL_ASKED_SETS - 1)] : NULL;
}

static __always_inline bool asked_counts(struct rl_asked_set *set, const struct asked_key *key,
					 enum asked_side side)
{
	__u32 time = asked_time(clock_tick());

	return asked_age_of(asked_ways(set, side), key->tag, time) <= ASKED_AGE_MAX;
}

/* The port's time is no older than the mark's. */
static __always_inline void asked_put_theirs(struct rl_asked *table, const struct asked_key *key,
					     __u16 own_port)
{
	__u64 now_ns = clock_tick();
	__u8 served = asked_serving_time(now_ns);

	if (READ_ONCE(table->served[own_port]) != served)
		WRITE_ONCE(table->served[own_port], served);
	asked_put(table->sets[key->set & (RL_ASKED_SETS - 1)].theirs, key->tag, asked_time(now_ns));
}

/* ---- the key */

/* ports: those of UDP; an echo has its identifier as this machine's, and none of the peer. */
static __always_inline struct asked_key asked_key_received(const struct packet *p, __u16 sport,
							   __u16 dport)
{
	return asked_key_of(hot_seed, p->flags & PACKET_IPV4, (const __u64 *)p->src, sport, dport,
			    p->proto);
}

static __always_inline struct asked_key asked_key_sent(const struct packet *p, __u16 sport,
						       __u16 dport)
{
	return asked_key_of(hot_seed, p->flags & PACKET_IPV4, (const __u64 *)p->dst, dport, sport,
			    p->proto);
}

static __always_inline bool is_icmp(const struct packet *p)
{
	return p->proto == (p->flags & PACKET_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

/* Is an ICMP packet (is_icmp) an echo of that type, of ICMP or of ICMPv6? */
static __always_inline bool is_echo(const struct packet *p, const struct icmp_header *icmp,
				    __u8 type, __u8 type6)
{
	return icmp->bytes[0] == (p->flags & PACKET_IPV4 ? type : type6) && !icmp->bytes[1];
}

static __always_inline __u16 echo_identifier(const struct icmp_header *icmp)
{
	return icmp->bytes[4] << 8 | icmp->bytes[5];
}

/* ---- received */

/* UDP: has this machine asked? */
static __always_inline bool asked_us_first(const struct packet *p)
{
	struct asked_key key = asked_key_received(p, p->sport, p->dport);
	struct rl_asked_set *set = asked_set(&key);

	return set && asked_counts(set, &key, ASKED_OURS);
}

/* An ICMP message whose header this is: is it the reply to an echo that this machine requested? */
static __always_inline bool asked_echo(const struct packet *p, const struct icmp_header *icmp)
{
	struct asked_key key = asked_key_received(p, 0, echo_identifier(icmp));
	struct rl_asked_set *set;

	if (!is_echo(p, icmp, ECHO_REPLY, ECHO_REPLY_ICMP6))
		return false;
	set = asked_set(&key);
	return set && asked_counts(set, &key, ASKED_OURS);
}

/* UDP: is it noted who sent first, so that this packet has nothing to add? */
static __always_inline bool asked_settled(const struct packet *p)
{
	struct asked_key key = asked_key_received(p, p->sport, p->dport);
	struct rl_asked_set *set = asked_set(&key);
	__u32 time = asked_time(clock_tick());

	return !set || asked_age_of(set->theirs, key.tag, time) <= ASKED_AGE_RECENT ||
	       asked_counts(set, &key, ASKED_OURS);
}

/* A UDP packet that has passed, and for which a socket is bound, answers no question. */
static __always_inline void asked_they_began(const struct packet *p)
{
	struct asked_key key = asked_key_received(p, p->sport, p->dport);
	struct rl_asked *table = asked_table();

	if (table)
		asked_put_theirs(table, &key, p->dport);
}

/* ---- sent */

static __always_inline void asked_put_ours(struct rl_asked *table, const struct asked_key *key,
					   __u16 own_port)
{
	struct rl_asked_set *set = &table->sets[key->set & (RL_ASKED_SETS - 1)];
	__u64 now_ns = clock_tick();

	if (asked_may_begin(set, key->tag, READ_ONCE(table->served[own_port]), now_ns))
		asked_put(set->ours, key->tag, asked_time(now_ns));
}

/* own_port: 0 of an echo, whose peers never begin. */
static __always_inline void asked_put_sent(const struct asked_key *key, __u16 own_port)
{
	struct rl_asked *table = asked_table();

	if (!table)
		return;
	if (asked_counts(&table->sets[key->set & (RL_ASKED_SETS - 1)], key, ASKED_THEIRS))
		asked_put_theirs(table, key, own_port);
	else
		asked_put_ours(table, key, own_port);
}

#endif
