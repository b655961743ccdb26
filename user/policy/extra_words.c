// SPDX-License-Identifier: GPL-2.0-only
/* Arguments that are kept in rl_extra: numbers, bytes of the payload, filters, and lists of ports.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "policy/names.h"
#include "policy/filter.h"
#include "policy/parser.h"
#include "policy/policy.h"
#include "policy/packets/pset.h"

/* ---- flags */

#define FLAGS_EXAMPLES "a list of fin, syn, rst, psh, ack, urg, ece and cwr, or none"

/* "none" or names with commas between them, `len` bytes; -1: it is neither. */
static int flags_of(const char *text, size_t len)
{
	const char *end = text + len;
	int flags = 0;

	if (len == strlen("none") && !memcmp(text, "none", len))
		return 0;
	while (text <= end) {
		const char *comma = memchr(text, ',', end - text);
		const char *stop = comma ? comma : end;
		uint8_t flag = tcp_flag_by_name(text, (int)(stop - text));

		if (!flag)
			return -1;
		flags |= flag;
		text = stop + 1;
	}
	return flags;
}

/* FLAGS [ "/" FLAGS ] */
int parse_flags(struct parser *p, enum rl_field field)
{
	const char *slash = strchr(p->word, '/');
	size_t len = slash ? (size_t)(slash - p->word) : strlen(p->word);
	int set = flags_of(p->word, len),
	    mask = slash ? flags_of(slash + 1, strlen(slash + 1)) : 0xff;

	if (!p->word[0] || set < 0 || mask < 0)
		return expected(p, FLAGS_EXAMPLES ", with /FLAGS for those that count: write for "
						  "example syn/syn,ack");
	if (!mask)
		return refuse(p, p->span, "looks at no flag: write after / which flags count");
	if (set & ~mask)
		return refuse(p, p->span,
			      "wants flags that do not count: name each of them after /, too");
	p->extra.number[all_fields[field].number] = (struct rl_numbers){set, mask};
	word_next(p);
	return 0;
}

/* ---- numbers */

int parse_numbers(struct parser *p, enum rl_field field)
{
	uint32_t first, last;
	int rc = parse_range(p, all_fields[field].max, all_fields[field].argument, &first, &last);

	p->extra.number[all_fields[field].number] = (struct rl_numbers){first, last};
	return rc;
}

int parse_dscp(struct parser *p, enum rl_field field)
{
	int named = dscp_by_name(p->word);
	uint64_t number = 0;

	if (named < 0) {
		switch (number_parse(p->word, 0, all_fields[field].max, &number)) {
		case WORD_OK:
			break;
		case WORD_RANGE:
			return refuse(p, p->span, "is out of range: write a DSCP from 0 to 63");
		default:
			return expected(p,
					"a DSCP: write a number from 0 to 63, or cs0 to cs7, af11 "
					"to af43 or ef");
		}
	}
	number = named < 0 ? number : (uint64_t)named;
	p->extra.number[all_fields[field].number] = (struct rl_numbers){number, number};
	word_next(p);
	return 0;
}

/* ---- icmp-type */

/* The number of a name depends on the protocol, which may be written after it. */
int parse_icmp_type(struct parser *p, enum rl_field field)
{
	struct rl_numbers *codes = &p->extra.number[all_fields[field].number];
	bool known =
		icmp_type_by_name(p->word, false) >= 0 || icmp_type_by_name(p->word, true) >= 0;
	uint64_t number;
	int rc = number_parse(p->word, 0, UINT8_MAX, &number);

	if (!known && rc == WORD_RANGE)
		return refuse(p, p->span, "is out of range: write an ICMP type from 0 to 255");
	if (!known && rc)
		return expected(p, "an ICMP type: write a number from 0 to 255, or a name such as "
				   "echo-request");
	p->icmp_at = p->span;
	*codes = (struct rl_numbers){0, UINT8_MAX};
	word_next(p);
	if (!word_is(p, "code"))
		return 0;
	word_next(p);
	rc = parse_number(p, 0, UINT8_MAX, &number);
	if (!rc)
		codes->first = codes->last = number;
	return rc;
}

static int icmp_settle(struct parser *p)
{
	struct rl_numbers *codes = &p->extra.number[RL_NUMBER_ICMP_TYPE];
	const struct match *match = &p->rule->match;
	bool ipv6 = match_is_proto(match, IPPROTO_ICMPV6);
	char word[WORD_MAX + 1] = "";
	uint64_t number = 0;
	int type;

	if (!(match->flags & RL_MATCH_ICMP_TYPE))
		return 0;
	if (!ipv6 && !match_is_proto(match, IPPROTO_ICMP))
		return refuse(p, p->match_at[RL_FIELD_ICMP_TYPE],
			      "needs a protocol, as ICMP and ICMPv6 number their types apart: "
			      "write icmp or icmp6 in front of it");
	memcpy(word, p->icmp_at.at, p->icmp_at.len);
	type = icmp_type_by_name(word, ipv6);
	if (type < 0 && number_parse(word, 0, UINT8_MAX, &number))
		return refuse(p, p->icmp_at, "is not a type of %s: write %s, or its number",
			      ipv6 ? "icmp6" : "icmp", ipv6 ? "icmp" : "icmp6");
	number = type < 0 ? number : (uint64_t)type;
	codes->first |= number << 8;
	codes->last |= number << 8;
	return 0;
}

/* ---- payload */

/* Pairs of hexadecimal digits; the number of bytes, or -1. */
static int hex_parse(const char *text, size_t digits, uint8_t out[RL_PAYLOAD_MAX])
{
	if (!digits || digits % 2 || digits > 2 * RL_PAYLOAD_MAX ||
	    strspn(text, "0123456789abcdefABCDEF") < digits)
		return -1;
	for (size_t i = 0; i < digits / 2; i++) {
		const char pair[] = {text[2 * i], text[2 * i + 1], '\0'};

		out[i] = strtoul(pair, NULL, 16);
	}
	return (int)digits / 2;
}

static int payload_check(struct parser *p, int mask_len)
{
	if (mask_len != p->extra.payload_len)
		return refuse(p, p->span,
			      "has a mask of another length: write as many bytes after / "
			      "as in front of it");
	for (int i = 0; i < mask_len; i++)
		if (p->extra.payload[i] & ~p->extra.payload_mask[i])
			return refuse(
				p, p->span,
				"has bits that its mask leaves out: write 0 for them, or 1 in "
				"the mask");
	return 0;
}

/* OFFSET HEX[/HEXMASK] */
int parse_payload(struct parser *p, enum rl_field field)
{
	const char *slash;
	uint64_t offset;
	int len, mask_len, rc = number_parse(p->word, 0, RL_PAYLOAD_OFFSET_MAX, &offset);

	(void)field;
	if (rc && rc != WORD_RANGE)
		return expected(p, "the number of the first byte, 0 to 512: write for example "
				   "payload 0 ffffffff54");
	rc = parse_number(p, 0, RL_PAYLOAD_OFFSET_MAX, &offset);
	if (rc)
		return rc;
	slash = strchr(p->word, '/');
	len = hex_parse(p->word, slash ? (size_t)(slash - p->word) : strlen(p->word),
			p->extra.payload);
	mask_len = slash ? hex_parse(slash + 1, strlen(slash + 1), p->extra.payload_mask) : len;
	if (len < 0 || mask_len < 0)
		return expected(p,
				"1 to 16 bytes: write pairs of hexadecimal digits such as "
				"ffffffff54, with a mask of as many after / if not all bits count");
	if (!slash)
		memset(p->extra.payload_mask, 0xff, len);
	p->extra.payload_at = offset;
	p->extra.payload_len = len;
	rc = payload_check(p, mask_len);
	if (!rc)
		word_next(p);
	return rc;
}

/* ---- filter */

/* The words are read as they stand, between quotation marks. */
int parse_filter(struct parser *p, enum rl_field field)
{
	const char *at = p->span.at,
		   *end = p->span.len ? memchr(at + 1, '"', p->end - at - 1) : NULL;
	size_t len = end ? (size_t)(end - at) - 1 : 0;
	char why[FILTER_ERROR_MAX];

	(void)field;
	if (p->span.len && *at == '"' && !end)
		return refuse(p, (struct span){.at = at, .len = p->end - at},
			      "has no second quotation mark: write one after the expression");
	if (!p->span.len || *at != '"')
		return expected(p, "an expression of pcap-filter(7) in quotation marks: write for "
				   "example filter \"udp[8:4] = 0x0a\"");
	p->span.len = len + 2;
	if (!len || strspn(at + 1, " \t") == len)
		return refuse(p, p->span,
			      "is empty, and would match every packet: write an expression");
	if (len > RL_FILTER_MAX)
		return refuse(
			p, p->span,
			"is longer than %d bytes: write a shorter expression, or several rules",
			RL_FILTER_MAX);
	for (size_t i = 1; i <= len; i++)
		if (!isprint((unsigned char)at[i]))
			return refuse(p, p->span,
				      "has a character that is not printable ASCII: remove it");
	memcpy(p->extra.filter, at + 1, len);
	if (filter_check(p->extra.filter, why))
		return refuse(p, (struct span){.at = at + 1, .len = len}, "%s", why);
	if (end + 1 < p->end && end[1] != ' ' && end[1] != '\t')
		return refuse(p, p->span, "must be followed by a blank");
	word_next(p);
	return 0;
}

/* ---- all of them */

static int protocols_check(struct parser *p)
{
	const struct match *match = &p->rule->match;

	fields_for_each (flag, match->flags & RL_MATCH_NUMBERS & RL_MATCH_OF_TCP)
		if (match->flags & RL_MATCH_PROTO && !match_is_proto(match, IPPROTO_TCP))
			return refuse(p, p->match_at[field_of(flag)],
				      "asks for %s, which only TCP has: write tcp",
				      flag == RL_MATCH_TCP_FLAGS ? "TCP flags"
								 : all_fields[field_of(flag)].word);
	if (match->flags & RL_MATCH_PAYLOAD && match_wants(match, RL_MATCH_PROTO) &&
	    !protocol_has(match->proto, RL_HAS_PAYLOAD))
		return refuse(
			p, p->match_at[RL_FIELD_PAYLOAD],
			"looks past the header of tcp, udp, icmp or icmp6: write one of them");
	return 0;
}

/* `flags syn/syn,ack` is `syn`. */
static void syn_normalize(struct parser *p)
{
	struct match *match = &p->rule->match;
	struct rl_numbers *numbers = &p->extra.number[RL_NUMBER_TCP_FLAGS];
	bool negated = match->negated & RL_MATCH_TCP_FLAGS;

	if (!(match->flags & RL_MATCH_TCP_FLAGS) || match->flags & RL_MATCH_SYN ||
	    numbers->last != (TH_SYN | TH_ACK) || numbers->first != TH_SYN)
		return;
	*numbers = (struct rl_numbers){0};
	match->flags = (match->flags & ~RL_MATCH_TCP_FLAGS) | RL_MATCH_SYN;
	match->negated &= ~RL_MATCH_TCP_FLAGS;
	if (negated)
		match->negated |= RL_MATCH_SYN;
	p->match_at[RL_FIELD_SYN] = p->match_at[RL_FIELD_TCP_FLAGS];
}

/* One range stands in struct match alone. */
static void list_settle(const struct port_list *ports, __u16 *first, __u16 *last, __u8 *count,
			struct rl_port_range list[RL_PORT_RANGES_MAX])
{
	if (!ports->count)
		return;
	*first = ports->range[0].first;
	*last = ports->range[ports->count - 1].last;
	if (ports->count == 1)
		return;
	*count = ports->count;
	memcpy(list, ports->range, ports->count * sizeof(*list));
}

#define LENGTH_LEAST 20 /* of an IPv4 header */

#define RANGED       (RL_MATCH_SPORT | RL_MATCH_DPORT | (RL_MATCH_NUMBERS & ~RL_MATCH_TCP_FLAGS))

/* Conditions that no packet can have. */
static int empty_check(struct parser *p)
{
	const struct match *match = &p->rule->match;
	struct ranges values;
	struct span length = p->match_at[RL_FIELD_LENGTH];
	struct rl_numbers lengths = {0};

	fields_for_each (flag, match->negated & RANGED) {
		rule_values(p->rule, flag, &values);
		if (!values.count)
			return refuse(p, p->match_at[field_of(flag)],
				      "leaves out every value, so no packet can match: write a "
				      "smaller range, or remove it");
	}
	if (match->flags & RL_MATCH_LENGTH)
		lengths = p->rule->extra->number[RL_NUMBER_LENGTH];
	if (match_wants(match, RL_MATCH_LENGTH) && lengths.last < LENGTH_LEAST)
		return refuse(p, span_after(p, length),
			      "is less than the header of any IP packet: write 20 or more");
	if (match->negated & RL_MATCH_LENGTH && lengths.first <= LENGTH_LEAST &&
	    lengths.last == UINT16_MAX)
		return refuse(p, length,
			      "leaves out every value, so no packet can match: write a smaller "
			      "range, or remove it");
	return 0;
}

int extra_keep(struct parser *p)
{
	int ret;

	p->rule->extra = extra_intern(&p->extra, &ret);
	if (!ret)
		return 0;
	snprintf(p->err->text, sizeof(p->err->text), "out of memory");
	return -EINVAL;
}

int extra_settle(struct parser *p)
{
	struct match *match = &p->rule->match;
	int rc = protocols_check(p) ?: icmp_settle(p);

	if (rc)
		return rc;
	syn_normalize(p);
	match_normalize(match);
	rc = ports_resolve(p, &p->sports) ?: ports_resolve(p, &p->dports);
	if (rc)
		return rc;
	list_settle(&p->sports, &match->sport_first, &match->sport_last, &p->extra.sport_count,
		    p->extra.sport);
	list_settle(&p->dports, &match->dport_first, &match->dport_last, &p->extra.dport_count,
		    p->extra.dport);
	/* Not by its bytes: those of `dscp cs0` are all zero. */
	if (match->flags & RL_MATCH_EXTRAS || p->extra.sport_count || p->extra.dport_count ||
	    match_names_set(match, RL_MATCH_SRC) || match_names_set(match, RL_MATCH_DST))
		rc = extra_keep(p);
	rc = rc ?: empty_check(p);
	if (rc || !(match->flags & RL_MATCH_TCP_FLAGS))
		return rc;
	for (unsigned int flags = 0; flags <= UINT8_MAX; flags++)
		if (rule_takes_tcp_flags(p->rule, flags))
			return 0;
	return refuse(p, p->match_at[RL_FIELD_TCP_FLAGS],
		      "contradicts syn, so no segment can match: remove one of the two");
}
