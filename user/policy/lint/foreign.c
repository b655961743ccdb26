// SPDX-License-Identifier: GPL-2.0-only
/* Words that other tools use, and the words of this language to write instead. */

#include <string.h>

#include "policy/parser.h"

enum foreign_kind { FOREIGN_PREFIX, FOREIGN_MATCH, FOREIGN_ACTION, FOREIGN_OVER };

/* Where a word of that kind may stand: an action where a match may, but not in an alarm. */
static const struct {
	const char *name;
	uint32_t places; /* bits: enum word_place */
} kinds[] = {
	[FOREIGN_PREFIX] = {"prefix", 1u << WORD_PREFIX},
	[FOREIGN_MATCH] = {"match", 1u << WORD_MATCH | 1u << WORD_COUNTED},
	[FOREIGN_ACTION] = {"action", 1u << WORD_MATCH},
	[FOREIGN_OVER] = {"action", 1u << WORD_OVER},
};

static const struct foreign {
	enum foreign_kind kind;
	const char *hint;
	const char *words; /* apart by blanks */
} foreign_words[] = {
	/* Those of this language are here in capitals, or where another place is theirs. */
	{FOREIGN_PREFIX, "any", " any all * anywhere everyone "},
	{FOREIGN_PREFIX, "device", " device dev interface "},
	{FOREIGN_ACTION, "allow", " allow accept pass permit "},
	{FOREIGN_ACTION, "deny", " deny drop block reject discard "},
	{FOREIGN_ACTION, "limit", " limit rate ratelimit police "},
	{FOREIGN_ACTION, "deny for DURATION", " ban "},
	{FOREIGN_MATCH, "dport", " port --dport "},
	{FOREIGN_MATCH, "sport", " --sport "},
	{FOREIGN_MATCH, "proto", " protocol "},
	{FOREIGN_MATCH, "src", " from saddr "},
	{FOREIGN_MATCH, "dst", " to daddr "},
	{FOREIGN_MATCH, "icmp6", " icmpv6 ipv6-icmp "},
	{FOREIGN_MATCH, "fragment", " frag "},
	{FOREIGN_MATCH, "established",
	 " established ct state ctstate --state --ctstate conntrack related established,related "
	 "related,established estab "},
	{FOREIGN_MATCH, "not established",
	 " unless new invalid !established non-established unestablished "},
	{FOREIGN_MATCH, "not", " ! != "},
	{FOREIGN_MATCH, "dport 80,443", " multiport --dports dports "},
	{FOREIGN_MATCH, "sport 80,443", " --sports sports "},
	{FOREIGN_MATCH, "flags syn/syn,ack", " --tcp-flags tcp-flags tcpflags "},
	{FOREIGN_MATCH, "flags", " flag "},
	{FOREIGN_MATCH, "syn", " --syn "},
	{FOREIGN_MATCH, "dscp", " tos --dscp --dscp-class "},
	{FOREIGN_MATCH, "ttl", " hoplimit hop-limit hl --ttl-eq --hl-eq "},
	{FOREIGN_MATCH, "length", " len size --length "},
	{FOREIGN_MATCH, "icmp-type", " type icmptype --icmp-type --icmpv6-type "},
	{FOREIGN_MATCH, "icmp-type N code N", " code "},
	{FOREIGN_MATCH, "payload OFFSET HEX", " u32 string hex-string --hex-string "},
	{FOREIGN_MATCH, "filter", " bpf pcap "},
	{FOREIGN_ACTION, "limit RATE over challenge", " challenge "},
	{FOREIGN_ACTION, "limit RATE over truncate", " truncate "},
	{FOREIGN_OVER, "challenge", " challange cookie syncookie synproxy "},
	{FOREIGN_OVER, "truncate", " tc=1 "},
};

int refuse_foreign(struct parser *p, enum word_place place)
{
	char hint[WORD_MAX + 16], word[WORD_MAX + 3];
	const char *protocol;
	bool stated;

	snprintf(word, sizeof(word), " %s ", p->word);
	for (size_t i = 0; i < ARRAY_SIZE(foreign_words); i++) {
		const struct foreign *row = &foreign_words[i];

		if (kinds[row->kind].places >> place & 1 && strcasestr(row->words, word))
			return refuse_unknown(p, kinds[row->kind].name, row->hint);
	}
	protocol = kinds[FOREIGN_MATCH].places >> place & 1 ? service_protocol(p->word) : NULL;
	if (!protocol)
		return 0;
	stated = match_wants(&p->rule->match, RL_MATCH_PROTO);
	snprintf(hint, sizeof(hint), "%s%sdport %s", stated ? "" : protocol, stated ? "" : " ",
		 p->word);
	return refuse_unknown(p, kinds[FOREIGN_MATCH].name, hint);
}
