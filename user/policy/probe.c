// SPDX-License-Identifier: GPL-2.0-only
/* From words to the packet, and match by match why one does not hold. */
#include "probe.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "names.h"
#include "proof.h"
#include "units.h"

#define PORTS (RL_MATCH_SPORT | RL_MATCH_DPORT)

/* ---- the packet */

/* IPv6 packets have no such protocol: it is that of a header in front of one. */
static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT ||
	       proto == IPPROTO_AH || proto == IPPROTO_DSTOPTS || proto == IPPROTO_MH ||
	       proto == 139 /* HIP */ || proto == 140 /* Shim6 */;
}

static bool proto_has_ports(uint8_t proto)
{
	const struct protocol *known = protocol_by_number(proto);

	return known && known->has_ports;
}

/* Matches that selector_parse accepts and no packet has. */
static const char *words_refuse(const struct rule *words)
{
	const struct rl_match *match = &words->match;

	if (words->kind != PREFIX_ADDR || words->len != 128)
		return "a packet has one address: begin with it, for example 203.0.113.7";
	if (words->action != RL_ACTION_COUNT)
		return "a packet has no action: leave out allow, deny or limit";
	if ((match->flags & RL_MATCH_SRC && match->src_len != 128) ||
	    (match->flags & RL_MATCH_DST && match->dst_len != 128))
		return "a packet has one address as src and as dst: leave out the length";
	if (match->sport_first != match->sport_last || match->dport_first != match->dport_last)
		return "a packet has one port as sport and as dport: write for example dport 53";
	if (match->flags & RL_MATCH_PROTO && is_extension(match->proto) &&
	    !prefix_is_ipv4(words->addr, 128) && !(match->flags & RL_MATCH_FRAGMENT))
		return "this protocol is an extension header of IPv6: name the protocol behind it";
	return NULL;
}

/* Ports of a packet that has none count as 0. */
static void ports_settle(struct probe *probe)
{
	probe->later = probe->fragment && !(probe->stated & PORTS) && !probe->syn;
	if (probe->later || (probe->stated & RL_MATCH_PROTO && !proto_has_ports(probe->proto)))
		probe->stated |= PORTS;
}

/* Packets that are never established need not say so. */
static const char *proof_settle(struct probe *probe, const struct rl_match *match)
{
	if (!probe->later && match_may_be_established(match))
		return NULL;
	if (probe->is_established)
		return "a fragment without ports is never established: add its ports, or leave "
		       "out established";
	probe->stated |= RL_MATCH_ESTABLISHED;
	return NULL;
}

const char *probe_make(const struct rule *words, bool by_dest, struct probe *out)
{
	const unsigned int fields = RL_MATCH_PROTO | PORTS | RL_MATCH_SRC | RL_MATCH_DST |
				    RL_MATCH_NEW_SOURCE | RL_MATCH_ESTABLISHED;
	const struct rl_match *match = &words->match;
	const char *wrong = words_refuse(words);

	if (wrong)
		return wrong;
	*out = (struct probe){
		.stated = (match->flags & fields) | (by_dest ? RL_MATCH_DST : RL_MATCH_SRC),
		.sport = match->sport_first,
		.dport = match->dport_first,
		.proto = match->proto,
		.by_dest = by_dest,
		.syn = match->flags & RL_MATCH_SYN,
		.fragment = match->flags & RL_MATCH_FRAGMENT,
		.is_new = match->flags & RL_MATCH_NEW_SOURCE,
		.is_established = match_wants_established(match),
	};
	memcpy(out->src, by_dest ? match->src : words->addr, sizeof(out->src));
	memcpy(out->dst, by_dest ? words->addr : match->dst, sizeof(out->dst));
	ports_settle(out);
	return proof_settle(out, match);
}

static bool has_no_ports(const struct probe *probe)
{
	return probe->later || (probe->stated & RL_MATCH_PROTO && !proto_has_ports(probe->proto));
}

bool probe_is_udp(const struct probe *probe)
{
	return probe->stated & RL_MATCH_PROTO && probe->proto == IPPROTO_UDP && !probe->fragment;
}

unsigned int probe_key_lacks(const struct probe *probe, const struct rl_limit *limit)
{
	uint8_t parts = key_parts(limit);
	unsigned int asked = (parts & RL_PART_SOURCE ? RL_MATCH_SRC : 0) |
			     (parts & RL_PART_DEST ? RL_MATCH_DST : 0) |
			     (parts & RL_PART_SPORT ? RL_MATCH_SPORT : 0) |
			     (parts & RL_PART_DPORT ? RL_MATCH_DPORT : 0) |
			     (parts & RL_PART_PROTO ? RL_MATCH_PROTO : 0);

	return asked & ~probe->stated;
}

void fields_print(char out[FIELDS_TEXT_MAX], unsigned int fields)
{
	static const struct {
		unsigned int field;
		const char *name;
	} names[] = {{RL_MATCH_PROTO, "protocol"},
		     {RL_MATCH_SPORT, "sport"},
		     {RL_MATCH_DPORT, "dport"},
		     {RL_MATCH_SRC, "src"},
		     {RL_MATCH_DST, "dst"},
		     {RL_MATCH_NEW_SOURCE, "new-source"},
		     {RL_MATCH_ESTABLISHED, "established"}};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fields & names[i].field)
			used += snprintf(out + used, FIELDS_TEXT_MAX - used, "%s%s",
					 used ? ", " : "", names[i].name);
}

/* ---- matches */

__attribute__((format(printf, 2, 3))) static enum holds fails(char why[EXPLAIN_TEXT_MAX],
							      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, EXPLAIN_TEXT_MAX, format, args);
	va_end(args);
	return HOLDS_NOT;
}

static const char *proto_print(char out[16], uint8_t proto)
{
	const struct protocol *known = protocol_by_number(proto);

	snprintf(out, 16, "%u", proto);
	return known ? known->name : out;
}

static enum holds proto_explain(const struct rl_match *match, const struct probe *probe,
				char why[EXPLAIN_TEXT_MAX])
{
	char own[16], wanted[16];

	if (!(probe->stated & RL_MATCH_PROTO)) {
		if (probe->stated & PORTS && !probe->later && !proto_has_ports(match->proto))
			return fails(why, "%s has no ports", proto_print(wanted, match->proto));
		return HOLDS_DEPENDS;
	}
	if (probe->proto == match->proto)
		return HOLDS;
	return fails(why, "protocol %s is not %s", proto_print(own, probe->proto),
		     proto_print(wanted, match->proto));
}

static enum holds port_explain(const struct probe *probe, unsigned int field, uint16_t first,
			       uint16_t last, char why[EXPLAIN_TEXT_MAX])
{
	const char *name = field == RL_MATCH_SPORT ? "sport" : "dport";
	uint16_t port = field == RL_MATCH_SPORT ? probe->sport : probe->dport;
	char own[16];

	if (probe->later)
		return fails(why, "a later fragment has no ports");
	if (has_no_ports(probe))
		return fails(why, "%s has no ports", proto_print(own, probe->proto));
	if (!(probe->stated & field))
		return HOLDS_DEPENDS;
	if (port >= first && port <= last)
		return HOLDS;
	if (first == last)
		return fails(why, "%s %u is not %u", name, port, first);
	return fails(why, "%s %u is not in %u-%u", name, port, first, last);
}

static enum holds address_explain(const struct probe *probe, unsigned int field,
				  const uint8_t prefix[16], uint8_t len, char why[EXPLAIN_TEXT_MAX])
{
	const uint8_t *own = field == RL_MATCH_SRC ? probe->src : probe->dst;
	const uint8_t *lookup = probe->by_dest ? probe->dst : probe->src;
	char text[PREFIX_TEXT_MAX], wanted[PREFIX_TEXT_MAX];

	prefix_print(wanted, sizeof(wanted), prefix, len);
	if (prefix_is_ipv4(prefix, len) != prefix_is_ipv4(lookup, 128))
		return fails(why, "%s is of another family", wanted);
	if (!(probe->stated & field))
		return HOLDS_DEPENDS;
	if (prefix_contains(prefix, len, own))
		return HOLDS;
	prefix_print(text, sizeof(text), own, 128);
	return fails(why, len == 128 ? "%s %s is not %s" : "%s %s is not in %s",
		     field == RL_MATCH_SRC ? "src" : "dst", text, wanted);
}

static enum holds established_explain(const struct rl_match *match, const struct probe *probe,
				      char why[EXPLAIN_TEXT_MAX])
{
	if (!(probe->stated & RL_MATCH_ESTABLISHED))
		return HOLDS_DEPENDS;
	if (probe->is_established == match_wants_established(match))
		return HOLDS;
	return fails(why, probe->is_established ? "it is established" : "it is not established");
}

static enum holds field_explain(const struct rl_match *match, const struct probe *probe,
				enum rl_match_flag field, char why[EXPLAIN_TEXT_MAX])
{
	/* Without a default, so that the compiler names a match that is missing. */
	switch (field) {
	case RL_MATCH_PROTO:
		return proto_explain(match, probe, why);
	case RL_MATCH_SPORT:
		return port_explain(probe, field, match->sport_first, match->sport_last, why);
	case RL_MATCH_DPORT:
		return port_explain(probe, field, match->dport_first, match->dport_last, why);
	case RL_MATCH_SRC:
		return address_explain(probe, field, match->src, match->src_len, why);
	case RL_MATCH_DST:
		return address_explain(probe, field, match->dst, match->dst_len, why);
	case RL_MATCH_SYN:
		return probe->syn ? HOLDS : fails(why, "it is not a SYN");
	case RL_MATCH_FRAGMENT:
		return probe->fragment ? HOLDS : fails(why, "it is not a fragment");
	case RL_MATCH_NEW_SOURCE:
		if (!(probe->stated & RL_MATCH_NEW_SOURCE))
			return HOLDS_DEPENDS;
		return probe->is_new ? HOLDS : fails(why, "its source is known");
	case RL_MATCH_ESTABLISHED:
		return established_explain(match, probe, why);
	case RL_MATCH_TCP_FLAGS:
	case RL_MATCH_LENGTH:
	case RL_MATCH_TTL:
	case RL_MATCH_DSCP:
	case RL_MATCH_ICMP_TYPE:
	case RL_MATCH_PAYLOAD:
	case RL_MATCH_FILTER:
		break;
	}
	return HOLDS_DEPENDS;
}

enum holds match_explain(const struct rl_match *match, const struct probe *probe,
			 char why[EXPLAIN_TEXT_MAX], unsigned int *fields)
{
	char names[FIELDS_TEXT_MAX];

	*fields = 0;
	for (unsigned int field = 1; field <= match->flags; field <<= 1) {
		enum holds holds =
			match->flags & field ? field_explain(match, probe, field, why) : HOLDS;

		if (holds == HOLDS_NOT)
			return HOLDS_NOT;
		*fields |= holds == HOLDS_DEPENDS ? field : 0;
	}
	if (*fields) {
		fields_print(names, *fields);
		snprintf(why, EXPLAIN_TEXT_MAX, "depends on %s", names);
		return HOLDS_DEPENDS;
	}
	snprintf(why, EXPLAIN_TEXT_MAX, match->flags ? "all matches hold" : "no match to hold");
	return HOLDS;
}
