// SPDX-License-Identifier: GPL-2.0-only
#include "sample_probe.h"

#include <string.h>

#include "rule_book.h"
#include "traits.h"

static void ports_put(struct rl_match *match, const struct rl_sample *sample)
{
	match->flags |= RL_MATCH_SPORT | RL_MATCH_DPORT;
	match->sport_first = match->sport_last = sample->sport;
	match->dport_first = match->dport_last = sample->dport;
}

static void addresses_put(struct rule *words, const struct rl_sample *sample, bool by_dest)
{
	words->kind = PREFIX_ADDR;
	words->action = RL_ACTION_COUNT;
	words->len = 128;
	memcpy(words->addr, by_dest ? sample->dst : sample->src, sizeof(words->addr));
	words->match.flags |= by_dest ? RL_MATCH_SRC : RL_MATCH_DST;
	if (by_dest) {
		memcpy(words->match.src, sample->src, sizeof(words->match.src));
		words->match.src_len = 128;
	} else {
		memcpy(words->match.dst, sample->dst, sizeof(words->match.dst));
		words->match.dst_len = 128;
	}
}

static void fields_put(struct rl_match *match, struct rl_extra *extra,
		       const struct packet_fields *fields)
{
	if (fields->has_ip) {
		match->flags |= RL_MATCH_LENGTH | RL_MATCH_TTL | RL_MATCH_DSCP;
		extra->length_first = extra->length_last = (uint16_t)fields->length;
		extra->ttl_first = extra->ttl_last = fields->ttl;
		extra->dscp = fields->dscp;
	}
	if (fields->has_flags) {
		match->flags |= RL_MATCH_TCP_FLAGS;
		extra->tcp_mask = 0xff;
		extra->tcp_flags = fields->flags;
	}
	if (fields->has_icmp) {
		match->flags |= RL_MATCH_ICMP_TYPE;
		extra->icmp_type = fields->icmp_type;
		extra->icmp_code = fields->icmp_code;
		extra->icmp_has_code = 1;
	}
}

bool sample_matches(const struct rl_sample *sample, const struct rule *rule,
		    const struct policy_context *ctx, const struct set_members *members,
		    bool raw_ip)
{
	struct rl_extra extra = {0}; /* not interned: there would be one for each kind of packet */
	struct rule words = {.extra = &extra};
	struct packet_fields fields;
	char why[EXPLAIN_TEXT_MAX];
	struct probe probe;
	unsigned int lacks;

	if (!sample_has_addresses(sample))
		return false;
	packet_fields_read(sample, raw_ip, &fields);
	addresses_put(&words, sample, ctx->by_dest);
	words.match.flags |= RL_MATCH_PROTO | (fields.is_fragment ? RL_MATCH_FRAGMENT : 0);
	words.match.proto = sample->proto;
	if (sample->has_ports)
		ports_put(&words.match, sample);
	fields_put(&words.match, &extra, &fields);
	if (probe_make(&words, ctx->by_dest, &probe))
		return false;
	probe.members = members;
	return match_explain(rule, &probe, why, &lacks) == HOLDS;
}
