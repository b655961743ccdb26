/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits on open connections. Packets change no count: programs that see the sockets do
 * (connections.bpf.c), when a handshake is complete and when a socket is closed, so that a SYN from
 * a forged address opens nothing.
 *
 * A SYN is over the limit if its key has as many open connections as the limit. So is each other
 * packet of the rule, but one that belongs to a socket is spared (proof/proven.h): what is left is
 * the last packet of a handshake whose SYN came before the limit was reached. Its connection waits,
 * as it would for room in the socket's own queue: the client sends again.
 *
 * Race: between this look and the one that counts, the kernel completes the handshake. At most as
 * many are too many as there are handshakes that are completed at once: their last packets passed
 * here and are on their way to their sockets.
 */
#pragma once

#include "algorithm/connections.h"
#include "limit/key.h"
#include "maps.h"

static __always_inline bool connections_are_of(const struct rl_rule *rule)
{
	return EXTENDED && config.counts_connections && rule->backend == RL_BACKEND_CONNECTIONS;
}

static __always_inline __u64 connections_open(const struct packet *p, const struct rl_rule *rule)
{
	struct rl_connections *all = only(map_there(&connections));
	struct connection c;
	__u64 hash, first, second;

	if (!all)
		return 0;
	__builtin_memcpy(c.src, p->src, sizeof(c.src));
	__builtin_memcpy(c.dst, p->dst, sizeof(c.dst));
	c.sport = p->sport;
	c.dport = p->dport;
	hash = connection_hash(all->seed, rule->limit_id, &rule->limit, &c);
	first = connection_set_of(hash, config.connection_mask, false);
	second = connection_set_of(hash, config.connection_mask, true);
	barrier_var(first); /* the verifier of Linux 6.1 follows no more than the last step */
	barrier_var(second);
	return connection_set_count(&all->set[first & config.connection_mask], hash) +
	       connection_set_count(&all->set[second & config.connection_mask], hash);
}

/* Where packets over the limit pass, only SYNs are counted: it is not known whether others belong
 * to a socket. A later fragment opens nothing. */
__noinline int connections_admits(struct packet *p, const struct rl_rule *rule)
{
	if (!EXTENDED || !config.counts_connections || !p || !rule)
		return 1;
	if (p->flags & PACKET_LATER)
		return 1;
	if (rule->flags & RL_RULE_SHADOW && !(p->flags & PACKET_SYN))
		return 1;
	return connections_open(p, rule) < rule->limit.amount;
}
