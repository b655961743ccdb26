// SPDX-License-Identifier: GPL-2.0-only
/* From words to the packet, and match by match why one does not hold. */
#include "policy/packets/probe.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "policy/field.h"
#include "policy/names.h"
#include "policy/packets/pset.h"

#define BOTH_PORTS (RL_MATCH_SPORT | RL_MATCH_DPORT)

/* ---- the packet */

static bool is_one_value(const struct rule *words, enum rl_match_flag flag)
{
	struct ranges values;

	rule_values(words, flag, &values);
	return !(words->match.flags & flag) ||
	       (values.count == 1 && values.range[0].first == values.range[0].last);
}

/* Matches that selector_parse accepts and no packet has. */
static const char *words_refuse(const struct rule *words)
{
	/* Few fields say what a packet is not. */
	const unsigned int may_negate = RL_MATCH_SYN | RL_MATCH_TCP_FLAGS | RL_MATCH_FRAGMENT |
					RL_MATCH_NEW_SOURCE | RL_MATCH_ESTABLISHED |
					RL_MATCH_FILTER;
	const struct match *match = &words->match;
	const uint8_t *extensions;
	size_t extension_count = extension_headers(&extensions);

	if (words->kind != PREFIX_ADDR || words->len != 128)
		return "a packet has one address: begin with it, for example 203.0.113.7";
	if (words->action != RL_ACTION_COUNT)
		return "a packet has no action: leave out allow, deny or limit";
	if (match_names_set(match, RL_MATCH_SRC) || match_names_set(match, RL_MATCH_DST))
		return "a packet has one address as src and as dst: write it in place of the set";
	if ((match->flags & RL_MATCH_SRC && match->src_len != 128) ||
	    (match->flags & RL_MATCH_DST && match->dst_len != 128))
		return "a packet has one address as src and as dst: leave out the length";
	if (match->negated & ~may_negate)
		return "a packet has one value in each field: write it without not";
	if (!is_one_value(words, RL_MATCH_SPORT) || !is_one_value(words, RL_MATCH_DPORT))
		return "a packet has one port as sport and as dport: write for example dport 53";
	fields_for_each (flag, match->flags & RL_MATCH_NUMBERS)
		if (all_fields[field_of(flag)].kind == FIELD_RANGE && !is_one_value(words, flag))
			return "a packet has one value in each field: write for example length 60";
	if (match->flags & RL_MATCH_PROTO && memchr(extensions, match->proto, extension_count) &&
	    !prefix_is_ipv4(words->addr, 128) && !match_wants(match, RL_MATCH_FRAGMENT))
		return "this protocol is an extension header of IPv6: name the protocol after it";
	return NULL;
}

/* A packet of which the words do not say that it is a fragment, or a SYN, is none. */
static void own_settle(struct probe *probe)
{
	uint32_t shape = probe->later ? SHAPE_LATER : SHAPE_FIRST;
	struct pset *own = &probe->own;

	pset_of(&probe->words, own);
	shape = probe->fragment ? shape : SHAPE_WHOLE;
	own->dim[DIM_SHAPE] = (struct ranges){.count = 1, .range = {{shape, shape}}};
	if (probe->stated & RL_MATCH_ESTABLISHED)
		pset_narrow(own, DIM_PROVEN, probe->is_established, probe->is_established);
	if (!(probe->words.match.flags & (RL_MATCH_SYN | RL_MATCH_TCP_FLAGS)))
		bytes_narrow(&own->tcp_flags, SYN_FLAGS, true);
}

const char *probe_make(const struct rule *words, bool by_dest, struct probe *out)
{
	const unsigned int fields = RL_MATCH_PROTO | BOTH_PORTS | RL_MATCH_SRC | RL_MATCH_DST |
				    RL_MATCH_NEW_SOURCE | RL_MATCH_ESTABLISHED | RL_MATCH_EXTRAS;
	const struct match *match = &words->match;
	const char *wrong = words_refuse(words);

	if (wrong)
		return wrong;
	*out = (struct probe){
		.words = *words,
		.stated = (match->flags & fields) | (by_dest ? RL_MATCH_DST : RL_MATCH_SRC),
		.sport = match->sport_first,
		.dport = match->dport_first,
		.proto = match->proto,
		.by_dest = by_dest,
		.syn = rule_is_of_syns(words),
		.fragment = match_wants(match, RL_MATCH_FRAGMENT),
		.is_new = match_wants(match, RL_MATCH_NEW_SOURCE),
		.is_established = match_wants(match, RL_MATCH_ESTABLISHED),
	};
	memcpy(out->src, by_dest ? match->src : words->addr, sizeof(out->src));
	memcpy(out->dst, by_dest ? words->addr : match->dst, sizeof(out->dst));
	out->later = out->fragment && !(out->stated & RL_MATCH_BEHIND_IP) && !out->syn;
	/* Ports of a packet that has none count as 0. */
	if (out->later || (out->stated & RL_MATCH_PROTO && !protocol_has(out->proto, RL_HAS_PORTS)))
		out->stated |= BOTH_PORTS;
	/* Packets that are never established need not say so. */
	if (out->later || out->syn || !match_may_be_established(match)) {
		if (out->is_established)
			wrong = "a fragment without ports is never established: add its ports, or "
				"leave out established";
		else
			out->stated |= RL_MATCH_ESTABLISHED;
	}
	own_settle(out);
	return wrong;
}

void probe_know_source(struct probe *probe, bool is_known)
{
	if (probe->stated & RL_MATCH_NEW_SOURCE)
		return;
	probe->is_new = !is_known;
	probe->stated |= RL_MATCH_NEW_SOURCE;
	pset_narrow(&probe->own, DIM_KNOWN, is_known, is_known);
}

bool probe_is_udp(const struct probe *probe)
{
	return probe->stated & RL_MATCH_PROTO && probe->proto == IPPROTO_UDP && !probe->fragment;
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

static const char *proto_text(char out[16], uint8_t proto)
{
	const struct protocol *known = protocol_by_number(proto);

	snprintf(out, 16, "%u", proto);
	return known ? known->name : out;
}

/* It holds or not; then `text` says of the packet what it is. */
static enum holds decided(bool holds, char why[EXPLAIN_TEXT_MAX], const char *text)
{
	return holds ? HOLDS : fails(why, "%s", text);
}

/* Why the value is not accepted. */
static enum holds value_fails(const struct rule *rule, const struct probe *probe,
			      enum rl_match_flag flag, char why[EXPLAIN_TEXT_MAX])
{
	const char *name = all_fields[field_of(flag)].word;
	const struct value_range *range;
	struct ranges own, values;
	uint32_t value;

	rule_values(&probe->words, flag, &own);
	rule_values(rule, flag, &values);
	value = own.range[0].first;
	range = &values.range[0];
	if (!match_wants(&rule->match, flag))
		return fails(why, "%s %u is left out", name, value);
	if (values.count > 1)
		return fails(why, "%s %u is not in the list", name, value);
	if (range->first == range->last)
		return fails(why, "%s %u is not %u", name, value, range->first);
	return fails(why, "%s %u is not in %u-%u", name, value, range->first, range->last);
}

/* Whether it is in the set of the match. */
static enum holds member_explain(const struct rule *rule, const struct probe *probe,
				 enum rl_match_flag flag, char why[EXPLAIN_TEXT_MAX])
{
	bool src = flag == RL_MATCH_SRC;
	const uint8_t *own = src ? probe->src : probe->dst;
	const char *name = src ? rule->extra->src_set : rule->extra->dst_set;
	char text[PREFIX_TEXT_MAX];
	int len;

	if (!(probe->stated & flag))
		return HOLDS_DEPENDS;
	len = set_member_len(probe->members, name, own);
	if (len == SET_UNKNOWN)
		return HOLDS_DEPENDS;
	if ((len != SET_NO_MEMBER) == match_wants(&rule->match, flag))
		return HOLDS;
	prefix_print(text, sizeof(text), own, 128);
	return fails(why, "%s %s is%s in @%s", src ? "src" : "dst", text,
		     len == SET_NO_MEMBER ? " not" : "", name);
}

static enum holds address_explain(const struct match *match, const struct probe *probe,
				  enum rl_match_flag flag, char why[EXPLAIN_TEXT_MAX])
{
	bool src = flag == RL_MATCH_SRC, wanted = match_wants(match, flag);
	const uint8_t *own = src ? probe->src : probe->dst;
	const uint8_t *prefix = src ? match->src : match->dst;
	uint8_t len = src ? match->src_len : match->dst_len;
	const uint8_t *lookup = probe->by_dest ? probe->dst : probe->src;
	char text[PREFIX_TEXT_MAX], other[PREFIX_TEXT_MAX];

	prefix_print(other, sizeof(other), prefix, len);
	if (prefix_is_ipv4(prefix, len) != prefix_is_ipv4(lookup, 128))
		return wanted ? fails(why, "%s is of another family", other) : HOLDS;
	if (!(probe->stated & flag))
		return HOLDS_DEPENDS;
	if (prefix_contains(prefix, len, own) == wanted)
		return HOLDS;
	prefix_print(text, sizeof(text), own, 128);
	if (!wanted)
		return fails(why, "%s %s is left out", src ? "src" : "dst", text);
	return fails(why, len == 128 ? "%s %s is not %s" : "%s %s is not in %s",
		     src ? "src" : "dst", text, other);
}

static enum holds payload_explain(const struct rule *rule, const struct probe *probe,
				  char why[EXPLAIN_TEXT_MAX])
{
	const struct rl_extra *extra = rule->extra, *own = probe->words.extra;
	bool differs = false, unsaid = false;

	for (int i = 0; i < extra->payload_len; i++) {
		int at = own ? extra->payload_at + i - own->payload_at : -1;
		bool said = probe->stated & RL_MATCH_PAYLOAD && at >= 0 && at < own->payload_len;
		uint8_t mask = said ? own->payload_mask[at] : 0; /* the bits that the words say */

		differs |= said &&
			   (own->payload[at] ^ extra->payload[i]) & mask & extra->payload_mask[i];
		unsaid |= extra->payload_mask[i] & ~mask;
	}
	if (unsaid && (!differs || !match_wants(&rule->match, RL_MATCH_PAYLOAD)))
		return HOLDS_DEPENDS;
	return decided(differs != match_wants(&rule->match, RL_MATCH_PAYLOAD), why,
		       differs ? "its payload is another" : "its payload is left out");
}

/* Only the same expression is known to hold, or not. */
static enum holds filter_explain(const struct rule *rule, const struct probe *probe,
				 char why[EXPLAIN_TEXT_MAX])
{
	bool holds = match_wants(&probe->words.match, RL_MATCH_FILTER);

	if (!(probe->stated & RL_MATCH_FILTER) ||
	    !same_opaque(rule->extra, probe->words.extra, RL_MATCH_FILTER))
		return HOLDS_DEPENDS;
	return decided(holds == match_wants(&rule->match, RL_MATCH_FILTER), why,
		       holds ? "the filter holds" : "the filter does not hold");
}

/* Why the packet is of another protocol. */
static enum holds proto_fails(const struct match *match, const struct probe *probe,
			      char why[EXPLAIN_TEXT_MAX])
{
	char own[16], other[16];

	if (probe->stated & RL_MATCH_PROTO)
		return fails(why,
			     match_wants(match, RL_MATCH_PROTO) ? "protocol %s is not %s"
								: "protocol %s is left out",
			     proto_text(own, probe->proto), proto_text(other, match->proto));
	if (probe->stated & BOTH_PORTS && !protocol_has(match->proto, RL_HAS_PORTS))
		return fails(why, "%s has no ports", proto_text(other, match->proto));
	if (probe->stated & RL_MATCH_PAYLOAD)
		return fails(why, "no payload is read of %s", proto_text(other, match->proto));
	return fails(why, "protocol %s is never established", proto_text(other, match->proto));
}

/* Why the packet lacks the field. */
static enum holds header_fails(const struct field *field, const struct probe *probe,
			       char why[EXPLAIN_TEXT_MAX])
{
	char own[16];

	if (field->kind == FIELD_PAYLOAD)
		return probe->later ? fails(why, "a later fragment has no header in front of its "
						 "payload")
				    : fails(why, "no payload is read of %s",
					    proto_text(own, probe->proto));
	return fails(why, "%s has no %s",
		     probe->later ? "a later fragment" : proto_text(own, probe->proto),
		     field->kind == FIELD_PORTS  ? "ports"
		     : field->kind == FIELD_ICMP ? "ICMP type"
						 : field->word);
}

static enum holds fact_fails(const struct match *match, const struct probe *probe,
			     enum rl_match_flag flag, char why[EXPLAIN_TEXT_MAX])
{
	switch (flag) {
	case RL_MATCH_FRAGMENT:
		return fails(why, probe->fragment ? "it is a fragment" : "it is not a fragment");
	case RL_MATCH_NEW_SOURCE:
		return fails(why, probe->is_new ? "its source is new" : "its source is known");
	case RL_MATCH_ESTABLISHED:
		return fails(why,
			     probe->is_established ? "it is established" : "it is not established");
	default:
		if (match_wants(match, flag))
			return fails(why, "it is not a SYN");
		return fails(why, probe->later ? "a later fragment has no flags" : "it is a SYN");
	}
}

/* In which dimension no packet that was described has the field; DIMS: in its TCP flags. */
static enum holds field_fails(const struct rule *rule, const struct probe *probe,
			      enum rl_match_flag flag, enum dim apart, char why[EXPLAIN_TEXT_MAX])
{
	const struct field *field = &all_fields[field_of(flag)];

	if (flag == RL_MATCH_PROTO)
		return proto_fails(&rule->match, probe, why);
	if (field->kind == FIELD_FACT)
		return fact_fails(&rule->match, probe, flag, why);
	if (apart == DIM_SHAPE || apart == DIM_PROTO)
		return header_fails(field, probe, why);
	if (field->kind == FIELD_FLAGS)
		return fails(why, "its flags are others");
	if (field->kind == FIELD_ICMP)
		return fails(why, "its ICMP type or code is another");
	return value_fails(rule, probe, flag, why);
}

/* Does the match hold for all packets that were described, for none, or for some? proto_apart:
 * another match of the rule states the protocol, which is explained by itself. */
static enum holds dims_compare(const struct pset *own, const struct pset *field, bool proto_apart,
			       enum dim *apart)
{
	struct ranges common;
	uint64_t some = 0;
	bool all = true;

	for (int dim = 0; dim < DIMS; dim++) {
		*apart = (enum dim)dim;
		if (!ranges_meet(&own->dim[*apart], &field->dim[*apart], &common))
			return HOLDS_NOT;
		all &= (proto_apart && *apart == DIM_PROTO) ||
		       ranges_within(&own->dim[*apart], &field->dim[*apart]);
	}
	for (int i = 0; i < 4; i++) {
		some |= own->tcp_flags.word[i] & field->tcp_flags.word[i];
		all &= !(own->tcp_flags.word[i] & ~field->tcp_flags.word[i]);
	}
	*apart = DIMS;
	if (!some)
		return HOLDS_NOT;
	return all ? HOLDS : HOLDS_DEPENDS;
}

static enum holds field_explain(const struct rule *rule, const struct probe *probe,
				enum rl_match_flag flag, char why[EXPLAIN_TEXT_MAX])
{
	const struct match *match = &rule->match;
	struct pset field;
	enum holds holds;
	enum dim apart;

	if (match_names_set(match, flag))
		return member_explain(rule, probe, flag, why);
	if (flag == RL_MATCH_SRC || flag == RL_MATCH_DST)
		return address_explain(match, probe, flag, why);
	pset_of_field(rule, flag, &field);
	holds = dims_compare(&probe->own, &field,
			     flag != RL_MATCH_PROTO && match->flags & RL_MATCH_PROTO, &apart);
	if (holds == HOLDS_NOT)
		return field_fails(rule, probe, flag, apart, why);
	if (flag == RL_MATCH_PAYLOAD)
		return payload_explain(rule, probe, why);
	return flag == RL_MATCH_FILTER ? filter_explain(rule, probe, why) : holds;
}

/* The things it depends on: an alarm by its name, and fields. */
static void depends_print(char why[EXPLAIN_TEXT_MAX], const struct rule *rule, unsigned int fields)
{
	char names[FIELDS_TEXT_MAX];
	bool off;

	fields_print(names, fields & ~FIELD_ALARM);
	if (fields & FIELD_ALARM)
		snprintf(why, EXPLAIN_TEXT_MAX, "depends on whether alarm %s is on%s%s",
			 rule_while(rule, &off), *names ? ", and on " : "", names);
	else
		snprintf(why, EXPLAIN_TEXT_MAX, "depends on %s", names);
}

enum holds match_explain(const struct rule *rule, const struct probe *probe,
			 char why[EXPLAIN_TEXT_MAX], unsigned int *fields)
{
	const struct match *match = &rule->match;
	enum held held = while_held(rule, probe->alarms);
	bool off, said_off;
	const char *alarm = rule_while(rule, &off), *said = rule_while(&probe->words, &said_off);

	if (alarm[0] && !strcmp(alarm, said)) /* as the words say it, or else as it is */
		held = off == said_off ? HELD : HELD_NOT;
	*fields = held == HELD_UNKNOWN ? FIELD_ALARM : 0;
	if (held == HELD_NOT)
		return fails(why, "alarm %s is %s", alarm, off ? "on" : "off");
	for (unsigned int field = 1; field <= match->flags; field <<= 1) {
		enum holds holds =
			match->flags & field ? field_explain(rule, probe, field, why) : HOLDS;

		if (holds == HOLDS_NOT)
			return HOLDS_NOT;
		/* The field that a match depends on which neither holds nor fails. */
		if (holds == HOLDS_DEPENDS && match_names_set(match, field) &&
		    probe->stated & field)
			*fields |= FIELD_MEMBERS;
		else if (holds == HOLDS_DEPENDS)
			*fields |= field == RL_MATCH_SYN ? RL_MATCH_TCP_FLAGS : field;
	}
	if (*fields) {
		depends_print(why, rule, *fields);
		return HOLDS_DEPENDS;
	}
	snprintf(why, EXPLAIN_TEXT_MAX, match->flags ? "all matches hold" : "no match to hold");
	return HOLDS;
}
