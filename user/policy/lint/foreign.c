// SPDX-License-Identifier: GPL-2.0-only
/* Words that other tools use, and the words of this language to write instead. */

#include <string.h>

#include "policy/parser.h"

enum foreign_kind { FOREIGN_PREFIX, FOREIGN_MATCH, FOREIGN_ACTION, FOREIGN_OVER };

static const char *const kinds[] = {"prefix", "match", "action", "action"};

static const struct foreign {
	const char *word;
	enum foreign_kind kind;
	const char *hint;
} foreign_words[] = {
	{"any", FOREIGN_PREFIX, "any"}, /* in capitals */
	{"device", FOREIGN_PREFIX, "device"},
	{"all", FOREIGN_PREFIX, "any"},
	{"*", FOREIGN_PREFIX, "any"},
	{"anywhere", FOREIGN_PREFIX, "any"},
	{"everyone", FOREIGN_PREFIX, "any"},
	{"dev", FOREIGN_PREFIX, "device"},
	{"interface", FOREIGN_PREFIX, "device"},
	{"allow", FOREIGN_ACTION, "allow"},
	{"deny", FOREIGN_ACTION, "deny"},
	{"limit", FOREIGN_ACTION, "limit"},
	{"drop", FOREIGN_ACTION, "deny"},
	{"block", FOREIGN_ACTION, "deny"},
	{"reject", FOREIGN_ACTION, "deny"},
	{"discard", FOREIGN_ACTION, "deny"},
	{"ban", FOREIGN_ACTION, "deny for DURATION"},
	{"accept", FOREIGN_ACTION, "allow"},
	{"pass", FOREIGN_ACTION, "allow"},
	{"permit", FOREIGN_ACTION, "allow"},
	{"rate", FOREIGN_ACTION, "limit"},
	{"ratelimit", FOREIGN_ACTION, "limit"},
	{"police", FOREIGN_ACTION, "limit"},
	{"port", FOREIGN_MATCH, "dport"},
	{"--dport", FOREIGN_MATCH, "dport"},
	{"--sport", FOREIGN_MATCH, "sport"},
	{"protocol", FOREIGN_MATCH, "proto"},
	{"from", FOREIGN_MATCH, "src"},
	{"saddr", FOREIGN_MATCH, "src"},
	{"to", FOREIGN_MATCH, "dst"},
	{"daddr", FOREIGN_MATCH, "dst"},
	{"icmpv6", FOREIGN_MATCH, "icmp6"},
	{"ipv6-icmp", FOREIGN_MATCH, "icmp6"},
	{"frag", FOREIGN_MATCH, "fragment"},
	{"established", FOREIGN_MATCH, "established"},
	{"unless", FOREIGN_MATCH, "not established"},
	{"!", FOREIGN_MATCH, "not"},
	{"!=", FOREIGN_MATCH, "not"},
	{"multiport", FOREIGN_MATCH, "dport 80,443"},
	{"--dports", FOREIGN_MATCH, "dport 80,443"},
	{"--sports", FOREIGN_MATCH, "sport 80,443"},
	{"dports", FOREIGN_MATCH, "dport 80,443"},
	{"sports", FOREIGN_MATCH, "sport 80,443"},
	{"--tcp-flags", FOREIGN_MATCH, "flags syn/syn,ack"},
	{"tcp-flags", FOREIGN_MATCH, "flags syn/syn,ack"},
	{"tcpflags", FOREIGN_MATCH, "flags syn/syn,ack"},
	{"flag", FOREIGN_MATCH, "flags"},
	{"--syn", FOREIGN_MATCH, "syn"},
	{"tos", FOREIGN_MATCH, "dscp"},
	{"--dscp", FOREIGN_MATCH, "dscp"},
	{"--dscp-class", FOREIGN_MATCH, "dscp"},
	{"hoplimit", FOREIGN_MATCH, "ttl"},
	{"hop-limit", FOREIGN_MATCH, "ttl"},
	{"hl", FOREIGN_MATCH, "ttl"},
	{"--ttl-eq", FOREIGN_MATCH, "ttl"},
	{"--hl-eq", FOREIGN_MATCH, "ttl"},
	{"len", FOREIGN_MATCH, "length"},
	{"size", FOREIGN_MATCH, "length"},
	{"--length", FOREIGN_MATCH, "length"},
	{"type", FOREIGN_MATCH, "icmp-type"},
	{"icmptype", FOREIGN_MATCH, "icmp-type"},
	{"--icmp-type", FOREIGN_MATCH, "icmp-type"},
	{"--icmpv6-type", FOREIGN_MATCH, "icmp-type"},
	{"code", FOREIGN_MATCH, "icmp-type N code N"},
	{"u32", FOREIGN_MATCH, "payload OFFSET HEX"},
	{"string", FOREIGN_MATCH, "payload OFFSET HEX"},
	{"hex-string", FOREIGN_MATCH, "payload OFFSET HEX"},
	{"--hex-string", FOREIGN_MATCH, "payload OFFSET HEX"},
	{"bpf", FOREIGN_MATCH, "filter"},
	{"pcap", FOREIGN_MATCH, "filter"},
	{"ct", FOREIGN_MATCH, "established"},
	{"state", FOREIGN_MATCH, "established"},
	{"ctstate", FOREIGN_MATCH, "established"},
	{"--state", FOREIGN_MATCH, "established"},
	{"--ctstate", FOREIGN_MATCH, "established"},
	{"conntrack", FOREIGN_MATCH, "established"},
	{"related", FOREIGN_MATCH, "established"},
	{"established,related", FOREIGN_MATCH, "established"},
	{"related,established", FOREIGN_MATCH, "established"},
	{"new", FOREIGN_MATCH, "not established"},
	{"invalid", FOREIGN_MATCH, "not established"},
	{"!established", FOREIGN_MATCH, "not established"},
	{"non-established", FOREIGN_MATCH, "not established"},
	{"unestablished", FOREIGN_MATCH, "not established"},
	{"estab", FOREIGN_MATCH, "established"},
	{"challenge", FOREIGN_ACTION, "limit RATE over challenge"},
	{"truncate", FOREIGN_ACTION, "limit RATE over truncate"},
	{"challange", FOREIGN_OVER, "challenge"},
	{"cookie", FOREIGN_OVER, "challenge"},
	{"syncookie", FOREIGN_OVER, "challenge"},
	{"synproxy", FOREIGN_OVER, "challenge"},
	{"tc=1", FOREIGN_OVER, "truncate"},
};

/* May a word of that kind stand there? An action may where a match may, but not in an alarm. */
static bool stands_at(enum foreign_kind kind, enum word_place place)
{
	switch (kind) {
	case FOREIGN_PREFIX:
		return place == WORD_PREFIX;
	case FOREIGN_OVER:
		return place == WORD_OVER;
	case FOREIGN_ACTION:
		return place == WORD_MATCH;
	case FOREIGN_MATCH:
		return place == WORD_MATCH || place == WORD_COUNTED;
	}
	return false;
}

int refuse_foreign(struct parser *p, enum word_place place)
{
	char hint[WORD_MAX + 16];
	const char *protocol;
	bool stated;

	for (size_t i = 0; i < ARRAY_SIZE(foreign_words); i++) {
		const struct foreign *row = &foreign_words[i];

		if (stands_at(row->kind, place) && !strcasecmp(p->word, row->word))
			return refuse_unknown(p, kinds[row->kind], row->hint);
	}
	protocol = stands_at(FOREIGN_MATCH, place) ? service_protocol(p->word) : NULL;
	if (!protocol)
		return 0;
	stated = match_wants(&p->rule->match, RL_MATCH_PROTO);
	snprintf(hint, sizeof(hint), "%s%sdport %s", stated ? "" : protocol, stated ? "" : " ",
		 p->word);
	return refuse_unknown(p, kinds[FOREIGN_MATCH], hint);
}
