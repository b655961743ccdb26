// SPDX-License-Identifier: GPL-2.0-only
#include "compile/build.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/packets/pset.h"

void connections_number(struct build *b)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < b->out->rule_count; i++)
		count += b->out->rules[i].backend == RL_BACKEND_CONNECTIONS;
	if (count > RL_CONNECTION_LIMITS)
		build_refuse_max(b, NULL, -E2BIG, "too many limits on connections",
				 RL_CONNECTION_LIMITS,
				 "remove some, or join their ports into one rule");
}

static uint8_t family_of(const uint8_t addr[16], uint8_t len)
{
	return prefix_is_ipv4(addr, len) ? 4 : 6;
}

void connection_limit_compile(const struct rule *rule, bool by_dest,
			      struct rl_connection_limit *out)
{
	const struct match *match = &rule->match;

	*out = (struct rl_connection_limit){
		.limit_id = rule->limit_id,
		.counts = 1,
		.by_dest = by_dest,
		.limit = rule->limit,
	};
	out->sport_count = rule_ports(rule, RL_MATCH_SPORT, out->sport);
	out->dport_count = rule_ports(rule, RL_MATCH_DPORT, out->dport);
	if (rule->kind == PREFIX_ADDR) {
		out->prefix_len = rule->len;
		out->prefix_family = family_of(rule->addr, rule->len);
		memcpy(out->prefix, rule->addr, sizeof(out->prefix));
	}
	if (match->flags & RL_MATCH_SRC) {
		out->src_len = match->src_len;
		out->src_family = family_of(match->src, match->src_len);
		memcpy(out->src, match->src, sizeof(out->src));
	}
	if (match->flags & RL_MATCH_DST) {
		out->dst_len = match->dst_len;
		out->dst_family = family_of(match->dst, match->dst_len);
		memcpy(out->dst, match->dst, sizeof(out->dst));
	}
}
