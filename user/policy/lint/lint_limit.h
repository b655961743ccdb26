/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits compared with each other, for lint. Pure. */
#pragma once

#include "algorithm/key_parts.h"
#include "policy/policy.h"

static inline bool is_limit(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT;
}

/* The parts of a packet of which each value has a bucket of its own: none where all share one. */
static inline uint8_t limit_parts(const struct rl_limit *limit)
{
	return limit->share[0] ? 0 : key_parts(limit);
}

/* A limit that drops nothing. */
bool is_shadow(const struct rule *rule);

/* A limit on packets or bytes that drops. */
bool limits_packets(const struct rule *rule);

/* Is its prefix any, or the whole of IPv4 or of IPv6? */
bool is_wide(const struct rule *rule);

/* Is the rule in force for as long as one with the lifetime `for_ns`? */
bool outlasts(const struct rule *rule, uint64_t for_ns);

/* Does a limit of a longer prefix take the place of `hidden`? It drops, and counts the same unit,
 * by the same key or all its packets together. */
bool limit_replaces(const struct rule *limit, const struct rule *hidden,
		    const struct policy_context *ctx);

/* Does a limit that replaces `hidden` let no more pass: neither in the long run nor at once, and
 * with a ban if `hidden` has one? One address may have what it likes. */
bool limit_is_as_strict(const struct rule *limit, const struct rule *hidden);

#define KEY_LACKS_PORTS                                                                            \
	"counts by ports, which its protocol does not have, so they tell no packets apart: leave " \
	"them out of the key, or write tcp, udp or sctp"

/* Does its key have ports where its protocol has none? */
bool key_lacks_ports(const struct rule *rule);

#define HIDDEN_IN_FRAGMENTS                                                                      \
	"does not hold datagrams whose first fragment ends before the payload: add for example " \
	"\"rule any fragment limit 50/second per rule\""

/* Is it a limit of a payload, and no rule holds fragments back? */
bool is_hidden_in_fragments(const struct rule *limit, const struct policy *policy);

/* The fate of a limit of some packets of unknown sources where another has more of them. */
enum unknown_rival {
	UNKNOWN_NO_RIVAL,
	UNKNOWN_PASS,    /* the other lets more pass: their sources become known by other packets */
	UNKNOWN_REFUSED, /* the other lets less pass, so that this one refuses nothing */
};

/* The other limit, or NULL. */
const struct rule *unknown_rival_find(const struct rule *limit, const struct policy *policy,
				      enum unknown_rival *kind);

#define BURST_LOSS_MAX 448

/* Does the limit drop of a sender below its rate, because its burst is smaller than the default and
 * than a few packets? `text` says what. */
bool burst_loss(const struct rule *rule, const struct policy_context *ctx,
		char text[BURST_LOSS_MAX]);

#define LINT_MARK 1 /* counter_id of the rule that a question is about; 0 in all others */

/* The first limit per source, by its line, of a flood of forged sources that no other limits hold
 * back; NULL: there is none. `wide` has all rules of wide prefixes and of the device that have an
 * effect. *error is -ENOMEM if memory ran out, else as it was. */
const struct rule *forged_find(const struct policy *wide, int *error);
