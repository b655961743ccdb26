// SPDX-License-Identifier: GPL-2.0-only
/* Prefix and matches of a rule, and checks that a packet can match all of them. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "base/units.h"
#include "policy/names.h"
#include "policy/parser.h"
#include "policy/policy.h"

/* The first number of a word like 300.1.1.1 that is too large; 0: none. */
static unsigned int octet_too_large(const char *word)
{
	unsigned int octet = 0;

	if (word[strspn(word, "0123456789./")] || !strchr(word, '.'))
		return 0;
	for (; *word && *word != '/'; word++) {
		octet = *word == '.' ? 0 : octet * 10 + (*word - '0');
		if (octet > 255 && !isdigit((unsigned char)word[1]))
			return octet;
		if (octet > 99999)
			return 0;
	}
	return 0;
}

static int prefix_refuse(struct parser *p, int rc, const char *what, const char *canonical)
{
	switch (rc) {
	case WORD_HOST_BITS:
		return refuse(p, p->span, "has host bits set: write %s", canonical);
	case WORD_MAPPED:
		return refuse(p, p->span, "is an IPv4-mapped IPv6 address: write %s", canonical);
	case WORD_RANGE:
		return refuse(p, p->span,
			      "has a prefix length out of range: write /0 to /32 for IPv4, /0 to "
			      "/128 for IPv6");
	}
	if (octet_too_large(p->word))
		return refuse(p, p->span, "is not an IPv4 address: %u is more than 255",
			      octet_too_large(p->word));
	return expected(p, what);
}

static int parse_address(struct parser *p, const char *what, uint8_t addr[16], uint8_t *len)
{
	char canonical[PREFIX_TEXT_MAX];
	int rc = prefix_parse(p->word, addr, len, canonical);

	if (rc)
		return prefix_refuse(p, rc, what, canonical);
	word_next(p);
	return 0;
}

int parse_prefix(struct parser *p)
{
	int word = word_find(p, prefix_words, ARRAY_SIZE(prefix_words));
	struct rule *rule = p->rule;

	if (word >= 0) {
		rule->kind = word;
		word_next(p);
		return 0;
	}
	if (p->word[0] == '@') {
		rule->kind = PREFIX_SET;
		rule->set_column.prefix = p->span.at - p->line + 1;
		return parse_set_name(p, rule->set);
	}
	if (refuse_foreign(p, WORD_PREFIX))
		return -EINVAL;
	rule->kind = PREFIX_ADDR;
	return parse_address(
		p,
		"a prefix: write any, device, a set such as @badguys, or an address such as "
		"203.0.113.7, 203.0.113.0/24 or 2001:db8::/32",
		rule->addr, &rule->len);
}

/* By name or number. */
static int parse_protocol(struct parser *p, enum rl_field field)
{
	const struct protocol *known = protocol_by_name(p->word);
	uint64_t number = 0;
	int rc = known ? WORD_OK : number_parse(p->word, 0, all_fields[field].max, &number);

	if (rc == WORD_RANGE)
		return refuse(p, p->span, "is out of range: write a protocol from 0 to 255");
	if (rc)
		return expected(p, "a protocol: write a number from 0 to 255, or tcp, udp, icmp, "
				   "icmp6, sctp, gre or esp");
	p->rule->match.proto = known ? known->number : number;
	word_next(p);
	return 0;
}

/* Errors about the address point at the address, not at "src" or "dst". */
static int parse_end(struct parser *p, enum rl_field field)
{
	bool src = field == RL_FIELD_SRC;
	struct match *match = &p->rule->match;
	uint8_t *len = src ? &match->src_len : &match->dst_len;
	uint16_t *column = src ? &p->rule->set_column.src : &p->rule->set_column.dst;

	p->match_at[field] = p->span;
	if (p->word[0] != '@')
		return parse_address(
			p, "an address: write for example 203.0.113.7, 2001:db8::/32 or @badguys",
			src ? match->src : match->dst, len);
	*len = RL_LEN_SET;
	*column = p->span.at - p->line + 1;
	return parse_set_name(p, src ? p->extra.src_set : p->extra.dst_set);
}

/* By enum field_kind; NULL: there is no argument. */
static int (*const parse_argument[FIELD_KINDS])(struct parser *p, enum rl_field field) = {
	[FIELD_PROTOCOL] = parse_protocol, [FIELD_PORTS] = parse_ports,
	[FIELD_ADDRESS] = parse_end,       [FIELD_RANGE] = parse_numbers,
	[FIELD_DSCP] = parse_dscp,         [FIELD_ICMP] = parse_icmp_type,
	[FIELD_FLAGS] = parse_flags,       [FIELD_PAYLOAD] = parse_payload,
	[FIELD_FILTER] = parse_filter,
};

/* "tcp" is short for "proto tcp". */
static const struct field *field_find(const struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_fields); i++)
		if (word_is(p, all_fields[i].word))
			return &all_fields[i];
	return protocol_by_name(p->word) ? &all_fields[RL_FIELD_PROTO] : NULL;
}

/* How to write a rule with two conditions of a kind. */
static const char *second_remedy(const struct parser *p, unsigned int flag)
{
	bool own = flag == (p->ctx->by_dest ? RL_MATCH_DST : RL_MATCH_SRC);

	if (flag == RL_MATCH_PROTO)
		return "remove one of the two";
	if (flag & (RL_MATCH_SPORT | RL_MATCH_DPORT))
		return "write the ports that are left, for example 1-21,23-1023";
	if (own && p->rule->kind != PREFIX_ADDR)
		return "write the one without not as the rule's prefix";
	if (flag & (RL_MATCH_SRC | RL_MATCH_DST))
		return "use a set of the addresses that are left, or a filter";
	return "write what is left as one, or use a filter";
}

/* A match and the `not` of one of the same kind: a contradiction where it has no argument. */
static int refuse_contrary(struct parser *p, const struct field *field, bool negated)
{
	struct span own = p->span;

	if (negated)
		own = (struct span){.at = p->before.at, .len = own.at + own.len - p->before.at};
	if (field->kind != FIELD_FACT)
		return refuse(p, own, "is a second %s, and a rule has one, with not or without: %s",
			      field->kind == FIELD_PROTOCOL ? "protocol" : field->word,
			      second_remedy(p, 1u << (field - all_fields)));
	return refuse(p, own, "contradicts %s%s: remove one of the two", negated ? "" : "not ",
		      field->word);
}

static int parse_match(struct parser *p, const struct field *field, bool negated)
{
	struct match *stated = &p->rule->match;
	enum rl_field number = field - all_fields;
	uint32_t flag = 1u << number;

	if (stated->flags & flag && negated != !!(stated->negated & flag))
		return refuse_contrary(p, field, negated);
	if (stated->flags & flag)
		return refuse_twice(p);
	stated->flags |= flag;
	if (negated)
		stated->negated |= flag;
	p->match_at[number] = p->span;
	if (word_is(p, field->word))
		word_next(p);
	return field->kind == FIELD_FACT ? 0 : parse_argument[field->kind](p, number);
}

static unsigned int address_family(const uint8_t addr[16], uint8_t len)
{
	return prefix_is_ipv4(addr, len) ? 4 : 6;
}

/* One more address of the rule, if it has one that is wanted, or negated; *family is that of the
 * wanted addresses before it, 0 if there are none. */
static int family_join(struct parser *p, enum rl_match_flag flag, bool negated,
		       const uint8_t addr[16], uint8_t len, unsigned int *family)
{
	unsigned int own = address_family(addr, len);

	if (len == RL_LEN_SET)
		return 0;
	if (!(p->rule->match.flags & flag) || !match_wants(&p->rule->match, flag) != negated)
		return 0;
	if (negated && (!*family || *family == own))
		return 0;
	if (negated)
		return refuse(p, p->match_at[field_of(flag)],
			      "is IPv%u, which no packet of this rule has anyway: remove it", own);
	if (*family && *family != own)
		return refuse(p, p->match_at[field_of(flag)],
			      "is IPv%u, but the rule's other address is IPv%u: use one address "
			      "family",
			      own, *family);
	*family = own;
	return 0;
}

/* All addresses of a rule must have one family, and ICMP must be that of the family. */
static int family_check(struct parser *p)
{
	const struct rule *rule = p->rule;
	const struct match *match = &rule->match;
	unsigned int family = 0;
	int rc = 0;

	if (rule->kind == PREFIX_ADDR)
		family = address_family(rule->addr, rule->len);
	for (int negated = 0; !rc && negated < 2; negated++)
		rc = family_join(p, RL_MATCH_SRC, negated, match->src, match->src_len, &family)
			     ?: family_join(p, RL_MATCH_DST, negated, match->dst, match->dst_len,
					    &family);
	if (rc || !family || !match_wants(match, RL_MATCH_PROTO))
		return rc;
	if (match->proto == (family == 4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return refuse(p, p->match_at[RL_FIELD_PROTO],
			      "never matches an IPv%u address: write %s", family,
			      family == 4 ? "icmp" : "icmp6");
	return 0;
}

/* A prefix and a match of the same address (source or destination) must overlap. */
static int side_check(struct parser *p)
{
	const struct rule *rule = p->rule;
	const struct match *match = &rule->match;
	unsigned int flag = p->ctx->by_dest ? RL_MATCH_DST : RL_MATCH_SRC;
	const uint8_t *addr = p->ctx->by_dest ? match->dst : match->src;
	uint8_t len = p->ctx->by_dest ? match->dst_len : match->src_len;

	if (rule->kind != PREFIX_ADDR || !(match->flags & flag) || len == RL_LEN_SET)
		return 0;
	if (match->negated & flag && (len > rule->len || !prefix_contains(addr, len, rule->addr)))
		return 0;
	if (match->negated & flag)
		return refuse(p, p->match_at[field_of(flag)],
			      "holds the rule's whole prefix, so no packet can match: write a "
			      "longer prefix, or remove it");
	if (prefix_contains(rule->addr, len < rule->len ? len : rule->len, addr))
		return 0;
	return refuse(
		p, p->match_at[field_of(flag)],
		"is outside the rule's prefix, which is a %s address as well, so no packet can "
		"match: remove this match, or write any as the prefix",
		p->ctx->by_dest ? "destination" : "source");
}

static int protocol_check(struct parser *p)
{
	const struct match *match = &p->rule->match;
	unsigned int ports = match->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT);

	if (match->negated & RL_MATCH_PROTO && match->proto == IPPROTO_TCP &&
	    match->flags & RL_MATCH_SYN)
		return refuse(p, p->match_at[RL_FIELD_SYN],
			      "is a TCP flag, and the rule is not for tcp: remove one of the two");
	if (!match_wants(match, RL_MATCH_PROTO))
		return 0;
	if (ports && !protocol_has(match->proto, RL_HAS_PORTS))
		return refuse(
			p, p->match_at[field_of(ports)],
			"does not apply to protocol %u, which has no ports: write tcp, udp or sctp",
			match->proto);
	if ((match->flags & RL_MATCH_SYN) && match->proto != IPPROTO_TCP)
		return refuse(p, p->match_at[RL_FIELD_SYN],
			      "is a TCP flag, which protocol %u does not have: write tcp",
			      match->proto);
	return 0;
}

/* A set that stands alone after the prefix. */
int refuse_set(struct parser *p)
{
	return refuse(p, p->span,
		      "is a set: write src or dst in front of it, for the address that is to be in "
		      "the set");
}

static int parse_negated(struct parser *p)
{
	const struct field *field;

	word_next(p);
	if (p->word[0] == '@')
		return refuse_set(p);
	field = field_find(p);
	return field ? parse_match(p, field, true)
		     : expected(p, "a match: write one after not, for example not established or "
				   "not dport 22");
}

int parse_matches(struct parser *p)
{
	const struct field *field;
	int rc = 0;

	while (!rc) {
		if (word_is(p, "not"))
			rc = parse_negated(p);
		else if ((field = field_find(p)))
			rc = parse_match(p, field, false);
		else
			break;
	}
	if (rc)
		return rc;
	return protocol_check(p) ?: extra_settle(p) ?: established_check(p) ?: family_check(p) ?:
	       side_check(p);
}
