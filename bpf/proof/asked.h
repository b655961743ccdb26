/* SPDX-License-Identifier: GPL-2.0-only */
/* Which packets of UDP and ICMP echo answer what this machine asked: who sent first is noted for
 * each conversation (algorithm/asked.h), in a table that only this machine's own packets, and
 * packets that were let through, write. All instances of a network namespace share it, so that it
 * makes no difference by which of their devices a packet comes and by which it is answered.
 *
 * ours: this machine sent first. The program at egress (sent.bpf.c) notes every UDP packet that
 * this machine sends, and every echo request, unless the peer sent first; for a minute after the
 * last one, answers are established.
 *
 * theirs: the peer sent first. A UDP packet that passes without being established leaves that, if a
 * socket is bound to its port which is not connected to the peer. A packet sent meanwhile is no
 * question, so that no client becomes established by being answered. It lasts a minute after the
 * last packet of either side. Echo requests need no such note: replies to them are not noted.
 *
 * Where it says less than one might expect:
 * - Conversations that were under way when the first rule asked: the side that sends next counts as
 *   the first.
 * - Questions that leave by a device without such a program at egress.
 * - A client that is let through at a device where nobody notes it, and answered by one where
 *   questions are noted: it counts as asked. No packet that leaves shows by which device the one
 *   that it answers came; doctor names such devices.
 * - A forger who sends in a peer's name to a bound port, before this machine does, and is let
 *   through, counts as that peer: its answers to that port are then held by the limits. Sockets
 *   that are bound for one question alone (resolvers) leave no time for that.
 * - A port that serves, while so many peers begin that their marks push each other out: what this
 *   machine asks from it then is not noted (asked_may_begin).
 */
#pragma once

#include "algorithm/asked.h"
#include "clock.h"
#include "common.h"
#include "packet/packet.h"
#include "proof/peers.h"

#define ECHO_REPLY         0
#define ECHO_REQUEST       8
#define ECHO_REQUEST_ICMP6 128
#define ECHO_REPLY_ICMP6   129

enum asked_side { ASKED_OURS, ASKED_THEIRS };

/* NULL where there is none. */
static __always_inline struct rl_asked *asked_table(void)
{
	return config.keeps_asked ? only(map_there(&asked)) : NULL;
}

static __always_inline struct rl_asked_set *asked_set(struct rl_asked *table,
						      const struct asked_key *key)
{
	return &table->sets[key->set & (RL_ASKED_SETS - 1)];
}

static __always_inline bool asked_counts(struct rl_asked_set *set, const struct asked_key *key,
					 enum asked_side side)
{
	__u32 time = asked_time(clock_tick());

	return (side == ASKED_OURS ? asked_age_of(set->ours, key->ours, time)
				   : asked_age_of(set->theirs, key->theirs, time)) <= ASKED_AGE_MAX;
}

/* The port's time is no older than the mark's. */
static __always_inline void asked_put_theirs(struct rl_asked *table, const struct asked_key *key,
					     __u16 own_port)
{
	__u64 now_ns = clock_tick();
	__u8 served = asked_serving_time(now_ns);

	if (READ_ONCE(table->served[own_port]) != served)
		WRITE_ONCE(table->served[own_port], served);
	asked_put(asked_set(table, key)->theirs, key->theirs, asked_time(now_ns));
}

/* ---- the key */

/* ports: those of UDP; an echo has its identifier as this machine's, and none of the peer. */
static __always_inline struct asked_key
asked_key_received(const struct rl_asked *table, const struct packet *p, __u16 sport, __u16 dport)
{
	return asked_key_of(table->seed, p->flags & PACKET_IPV4, (const __u64 *)p->src,
			    (const __u64 *)p->dst, sport, dport, p->proto);
}

static __always_inline struct asked_key
asked_key_sent(const struct rl_asked *table, const struct packet *p, __u16 sport, __u16 dport)
{
	return asked_key_of(table->seed, p->flags & PACKET_IPV4, (const __u64 *)p->dst,
			    (const __u64 *)p->src, dport, sport, p->proto);
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

/* Has this machine asked? ports: as asked_key_received. */
static __always_inline bool asked_us_first(const struct packet *p, __u16 sport, __u16 dport)
{
	struct rl_asked *table = asked_table();
	struct asked_key key;

	if (!table)
		return false;
	key = asked_key_received(table, p, sport, dport);
	return asked_counts(asked_set(table, &key), &key, ASKED_OURS);
}

/* UDP: is it noted who sent first, so that this packet has nothing to add? */
static __always_inline bool asked_settled(const struct packet *p)
{
	struct rl_asked *table = asked_table();
	__u32 time = asked_time(clock_tick());
	struct rl_asked_set *set;
	struct asked_key key;

	if (!table)
		return true;
	key = asked_key_received(table, p, p->sport, p->dport);
	set = asked_set(table, &key);
	return asked_age_of(set->theirs, key.theirs, time) <= ASKED_AGE_RECENT ||
	       asked_counts(set, &key, ASKED_OURS);
}

/* A UDP packet that has passed, and for which a socket is bound, answers no question. */
static __always_inline void asked_they_began(const struct packet *p)
{
	struct rl_asked *table = asked_table();
	struct asked_key key;

	if (!table)
		return;
	key = asked_key_received(table, p, p->sport, p->dport);
	asked_put_theirs(table, &key, p->dport);
}

/* ---- sent */

/* The peer is noted first, so that no answer counts whose address does not. */
static __always_inline void asked_put_ours(struct rl_asked *table, const struct asked_key *key,
					   const struct packet *p, __u16 own_port)
{
	struct rl_asked_set *set = asked_set(table, key);
	__u64 now_ns = clock_tick();

	if (!asked_may_begin(set, key->ours, READ_ONCE(table->served[own_port]), now_ns))
		return;
	peer_ask(p);
	asked_put(set->ours, key->ours, asked_time(now_ns));
}

/* ports: as asked_key_sent. own_port: 0 of an echo, whose peers never begin. */
static __always_inline void asked_put_sent(const struct packet *p, __u16 sport, __u16 dport,
					   __u16 own_port)
{
	struct rl_asked *table = asked_table();
	struct asked_key key;

	if (!table)
		return;
	key = asked_key_sent(table, p, sport, dport);
	if (asked_counts(asked_set(table, &key), &key, ASKED_THEIRS))
		asked_put_theirs(table, &key, own_port);
	else
		asked_put_ours(table, &key, p, own_port);
}
