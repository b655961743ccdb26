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
		build_refuse(b, NULL, -E2BIG,
			     "too many limits on connections (at most %u): remove some, or join "
			     "their ports into one rule",
			     RL_CONNECTION_LIMITS);
}

static void end_set(uint8_t out[16], __u8 *out_len, __u8 *family, const uint8_t addr[16],
		    uint8_t len)
{
	memcpy(out, addr, 16);
	*out_len = len;
	*family = prefix_is_ipv4(addr, len) ? 4 : 6;
}

void connection_limit_compile(const struct rule *rule, bool by_dest,
			      struct rl_connection_limit *out)
{
	const struct rl_limit *limit = &rule->limit;
	const struct match *match = &rule->match;

	*out = (struct rl_connection_limit){
		.limit_id = rule->limit_id,
		.counts = 1,
		.by_dest = by_dest,
		.limit = {.key = limit->key,
			  .key_parts = limit->key_parts,
			  .key_len4 = limit->key_len4,
			  .key_len6 = limit->key_len6,
			  .dest_len4 = limit->dest_len4,
			  .dest_len6 = limit->dest_len6},
	};
	out->sport_count = rule_ports(rule, RL_MATCH_SPORT, out->sport);
	out->dport_count = rule_ports(rule, RL_MATCH_DPORT, out->dport);
	if (rule->kind == PREFIX_ADDR)
		end_set(out->prefix, &out->prefix_len, &out->prefix_family, rule->addr, rule->len);
	if (match->flags & RL_MATCH_SRC)
		end_set(out->src, &out->src_len, &out->src_family, match->src, match->src_len);
	if (match->flags & RL_MATCH_DST)
		end_set(out->dst, &out->dst_len, &out->dst_family, match->dst, match->dst_len);
}
