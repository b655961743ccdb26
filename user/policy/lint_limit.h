/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits compared with each other, for lint. Pure. */
#ifndef RLCTL_LINT_LIMIT_H
#define RLCTL_LINT_LIMIT_H

#include "policy.h"

static inline bool is_limit(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT;
}

/* A limit that drops nothing. */
bool is_shadow(const struct rule *rule);

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

/* The first limit per source, by its line, of a flood of forged sources that no other limit holds
 * back; NULL: there is none. `wide` has all rules of wide prefixes and of the device that have an
 * effect. */
const struct rule *forged_find(const struct policy *wide);

#endif
