// SPDX-License-Identifier: GPL-2.0-only
/* Text into the model of a policy: the grammar of DESIGN.md §2, its defaults and its ranges. Makes
 * no system call and prints nothing; every refusal names word, column and remedy.
 *
 * Ranges, so that no arithmetic behind the parser can overflow (all compared in 128 bits):
 *   rate          1..2^48 packets in a period; at most 100 million packets or 400 Gbit a second;
 *                 at least one packet a day
 *   burst, queue  one packet of the MTU up to a day of the rate; one packet is always allowed where
 *                 the rate brings it back within 9 years
 *   windows       hold at least one packet; sliding-log at most 1024; slots 2..16, 1 ns each
 *   warm-up       cold factor 2..100
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "policy.h"
#include "units.h"

#define LINE_MAX_BYTES              4096
#define WORD_MAX                    80 /* nothing in the language is longer */
#define WORD_SHOWN_MAX              40 /* bytes of a refused word that a message repeats */
#define QUOTED_MAX                  (WORD_SHOWN_MAX * 4 + 8)

#define ETHERNET_BYTES              14 /* what every packet has before the MTU counts */
#define ETHERNET_VLAN_BYTES         22 /* and with two VLAN tags */

#define RATE_PACKETS_MAX            (1ull << 48)
#define RATE_PACKETS_PER_SECOND_MAX 100000000ull
#define RATE_BITS_PER_SECOND_MAX    400000000000ull
#define REFILL_MAX_NS               (9 * 365 * NS_PER_DAY)

#define ARRAY_SIZE(a)               (sizeof(a) / sizeof((a)[0]))
#define BIT(n)                      (1u << (n))

#define WORD_TEXT(name, text)       text,
static const char *const action_words[] = {RL_ACTIONS(WORD_TEXT)};
static const char *const algorithm_words[] = {RL_ALGORITHMS(WORD_TEXT)};
static const char *const key_words[] = {RL_KEYS(WORD_TEXT)};
static const char *const over_words[] = {RL_OVERS(WORD_TEXT)};

#define PROTOCOL_ROW(name_, number_, ports_) {name_, number_, ports_},
static const struct protocol {
	const char *name;
	uint8_t number;
	bool has_ports;
} protocols[] = {RULE_PROTOCOLS(PROTOCOL_ROW)};

/* A word as it stands in the line. Length 0: the end of the line. */
struct span {
	const char *at;
	size_t len;
};

enum option_name {
	OPTION_BURST,
	OPTION_QUEUE,
	OPTION_SLOTS,
	OPTION_RAMP,
	OPTION_COLD,
	OPTION_PER,
	OPTION_OVER,
	OPTION_FLEET,
	OPTION_FOR,
	OPTION_COUNT,
};

#define MATCH_COUNT       8
#define MATCH_INDEX(flag) __builtin_ctz(flag)

/* The cursor over the words of one statement, and what it has seen so far. */
struct parser {
	const char *line;
	const char *end; /* of the line or where its comment begins */
	const struct policy_context *ctx;
	struct policy_error *err;
	struct rule *rule;

	struct span span;        /* the word under the cursor */
	struct span before;      /* the one that was taken last */
	char word[WORD_MAX + 1]; /* its text; "" at the end, and when it is too long to be a word */

	struct span action_at;
	struct span rate_at;
	struct span match_at[MATCH_COUNT];   /* by MATCH_INDEX */
	struct span option_at[OPTION_COUNT]; /* length 0: not given */
};

/* ---- words ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void word_load(struct parser *p)
{
	size_t len = p->span.len <= WORD_MAX ? p->span.len : 0;

	memcpy(p->word, p->span.at, len);
	p->word[len] = '\0';
}

static void word_next(struct parser *p)
{
	const char *at = p->span.at + p->span.len;

	if (p->span.len)
		p->before = p->span;
	while (at < p->end && is_blank(*at))
		at++;
	p->span.at = at;
	while (at < p->end && !is_blank(*at))
		at++;
	p->span.len = at - p->span.at;
	word_load(p);
}

static bool word_is(const struct parser *p, const char *text)
{
	return !strcmp(p->word, text);
}

/* Which of `words` is under the cursor, or -1. */
static int word_find(const struct parser *p, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (word_is(p, words[i]))
			return (int)i;
	return -1;
}

/* ---- refusals ---- */

/* A word in quotes, fit for a terminal: escaped and not too long. */
static void word_quote(char out[QUOTED_MAX], struct span span)
{
	size_t shown = span.len < WORD_SHOWN_MAX ? span.len : WORD_SHOWN_MAX;
	size_t used = 1;

	out[0] = '"';
	for (size_t i = 0; i < shown; i++) {
		unsigned char c = span.at[i];

		if (c >= ' ' && c <= '~' && c != '"' && c != '\\')
			out[used++] = c;
		else
			used += snprintf(out + used, QUOTED_MAX - used, "\\x%02x", c);
	}
	snprintf(out + used, QUOTED_MAX - used, "%s\"", shown < span.len ? "..." : "");
}

__attribute__((format(printf, 3, 4))) static int refuse(struct parser *p, struct span at,
							const char *format, ...)
{
	struct policy_error *err = p->err;
	char word[QUOTED_MAX];
	va_list args;
	int used;

	word_quote(word, at);
	used = snprintf(err->text, sizeof(err->text), "%s ", word);
	va_start(args, format);
	vsnprintf(err->text + used, sizeof(err->text) - used, format, args);
	va_end(args);
	err->column = at.at - p->line + 1;
	return -EINVAL;
}

/* The word under the cursor is none of what may stand here, or there is none. */
static int expected(struct parser *p, const char *what)
{
	if (p->span.len)
		return refuse(p, p->span, "is not %s", what);
	if (p->before.len)
		refuse(p, p->before, "must be followed by %s", what);
	else
		snprintf(p->err->text, sizeof(p->err->text), "there must be %s", what);
	p->err->column = p->end - p->line + 1;
	return -EINVAL;
}

static int refuse_twice(struct parser *p)
{
	return refuse(p, p->span, "repeats what an earlier word says: leave one of the two out");
}

/* ---- quantities ---- */

struct quantity {
	uint64_t n; /* amount, or nanoseconds */
	uint64_t period_ns;
	enum rl_unit unit;
	bool is_duration;
	struct span at;
};

struct quantity_form {
	int (*parse)(const char *word, struct quantity *out);
	const char *what;
	const char *range;
};

static int rate_quantity(const char *word, struct quantity *out)
{
	return rate_parse(word, &out->n, &out->period_ns, &out->unit);
}

static int amount_quantity(const char *word, struct quantity *out)
{
	return amount_parse(word, &out->n, &out->unit);
}

static int duration_quantity(const char *word, struct quantity *out)
{
	out->is_duration = true;
	return duration_parse(word, &out->n);
}

/* "5m" is five million packets and five minutes: -ENOTUNIQ. */
static int queue_quantity(const char *word, struct quantity *out)
{
	struct quantity amount = {0}, duration = {0};
	int rc = amount_quantity(word, &amount);
	int duration_rc = duration_quantity(word, &duration);

	if (rc != -EINVAL && duration_rc != -EINVAL)
		return -ENOTUNIQ;
	*out = rc == -EINVAL ? duration : amount;
	return rc == -EINVAL ? duration_rc : rc;
}

#define RATE_EXAMPLES "1000/second, 10mbit or 64kibyte/second"

static const struct quantity_form rate_form = {
	rate_quantity,
	"a rate: write for example " RATE_EXAMPLES,
	"a rate and its period are at least 1, and at most 2^64 units in 53375 days",
};
static const struct quantity_form burst_form = {
	amount_quantity,
	"an amount: write for example 200, 64kibyte or 512kbit",
	"an amount is less than 2^64",
};
static const struct quantity_form queue_form = {
	queue_quantity,
	"an amount or a duration: write for example 200, 64kibyte or 20ms",
	"write an amount less than 2^64, or a duration from 1ns to 53375d",
};
static const struct quantity_form duration_form = {
	duration_quantity,
	"a duration: write for example 30s, 10m or 1h",
	"a duration is from 1ns to 53375d",
};

static int quantity_refuse(struct parser *p, const struct quantity_form *form, int rc)
{
	const char *bps = strcasestr(p->word, "bps");
	int head = bps ? (int)(bps - p->word) : 0;
	const char *per = form == &rate_form ? "/second" : "";

	switch (rc) {
	case -EPROTOTYPE:
		return refuse(p, p->span, "may mean bits or bytes: write %.*sbit%s or %.*sbyte%s",
			      head, p->word, per, head, p->word, per);
	case -ERANGE:
		return refuse(p, p->span, "is out of range: %s", form->range);
	case -ENOTUNIQ:
		return refuse(p, p->span,
			      "may mean millions of packets or minutes: write %.*smin or "
			      "%.*smpackets",
			      (int)strspn(p->word, "0123456789"), p->word,
			      (int)strspn(p->word, "0123456789"), p->word);
	}
	return expected(p, form->what);
}

/* Users of nft write "1024 kbytes/second": makes one word of one that ends in a digit and the unit
 * behind it, where both together are of the form. */
static void words_join(struct parser *p, const struct quantity_form *form)
{
	char joined[2 * WORD_MAX + 1], number[WORD_MAX + 1];
	struct span first = p->span, before = p->before;
	struct quantity ignored;

	if (!p->word[0] || !isdigit((unsigned char)p->word[strlen(p->word) - 1]))
		return;
	memcpy(number, p->word, sizeof(number));
	word_next(p);
	snprintf(joined, sizeof(joined), "%s%s", number, p->word);
	p->before = before;
	if (isalpha((unsigned char)p->word[0]) && strlen(joined) <= WORD_MAX &&
	    form->parse(joined, &ignored) != -EINVAL) {
		p->span.len += p->span.at - first.at;
		p->span.at = first.at;
		memcpy(p->word, joined, strlen(joined) + 1);
		return;
	}
	p->span = first;
	memcpy(p->word, number, sizeof(number));
}

static int quantity_take(struct parser *p, const struct quantity_form *form, struct quantity *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	words_join(p, form);
	rc = form->parse(p->word, out);
	if (rc)
		return quantity_refuse(p, form, rc);
	out->at = p->span;
	word_next(p);
	return 0;
}

static int duration_take(struct parser *p, __u64 *out_ns)
{
	struct quantity q;
	int rc = quantity_take(p, &duration_form, &q);

	if (!rc)
		*out_ns = q.n;
	return rc;
}

static int number_take(struct parser *p, uint64_t min, uint64_t max, uint64_t *out)
{
	char what[80];
	int rc = number_parse(p->word, min, max, out);

	if (rc == -ERANGE)
		return refuse(p, p->span, "is out of range: write %" PRIu64 " to %" PRIu64, min,
			      max);
	if (rc) {
		snprintf(what, sizeof(what), "a number from %" PRIu64 " to %" PRIu64, min, max);
		return expected(p, what);
	}
	word_next(p);
	return 0;
}

/* ---- prefixes ---- */

static int prefix_refuse(struct parser *p, int rc, const char *what, const char *canonical)
{
	switch (rc) {
	case -EADDRNOTAVAIL:
		return refuse(p, p->span, "has bits set beyond its length: write %s", canonical);
	case -EPROTOTYPE:
		return refuse(p, p->span, "is IPv4 inside IPv6: write %s", canonical);
	case -EDOM:
		return refuse(p, p->span,
			      "would hold IPv4 as well, which is kept inside ::/80: write \"any\" "
			      "for both families, 2000::/3 for all global IPv6 addresses, "
			      "fc00::/7 and fe80::/10 for the local ones");
	case -ERANGE:
		return refuse(p, p->span,
			      "has a length out of range: write /0 to /32 behind an IPv4 address, "
			      "/0 to /128 behind an IPv6 address");
	}
	return expected(p, what);
}

static int address_take(struct parser *p, const char *what, uint8_t addr[16], uint8_t *len)
{
	char canonical[PREFIX_TEXT_MAX];
	int rc = prefix_parse(p->word, addr, len, canonical);

	if (rc)
		return prefix_refuse(p, rc, what, canonical);
	word_next(p);
	return 0;
}

static int parse_prefix(struct parser *p)
{
	struct rule *rule = p->rule;

	if (word_is(p, "any") || word_is(p, "device")) {
		rule->kind = word_is(p, "any") ? PREFIX_ANY : PREFIX_DEVICE;
		word_next(p);
		return 0;
	}
	rule->kind = PREFIX_ADDR;
	return address_take(p,
			    "a prefix: write any, device, or an address such as 203.0.113.7, "
			    "203.0.113.0/24 or 2001:db8::/32",
			    rule->addr, &rule->len);
}

/* ---- matches ---- */

static const struct protocol *protocol_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (!strcmp(name, protocols[i].name))
			return &protocols[i];
	return NULL;
}

static bool protocol_has_ports(uint8_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (protocols[i].number == number)
			return protocols[i].has_ports;
	return false;
}

static int match_protocol(struct parser *p)
{
	const struct protocol *known = protocol_find(p->word);
	uint64_t number;
	int rc;

	if (known) {
		p->rule->match.proto = known->number;
		word_next(p);
		return 0;
	}
	word_next(p);
	rc = number_take(p, 0, 255, &number);
	if (!rc)
		p->rule->match.proto = number;
	return rc;
}

/* PORTS = N | N-N */
static int ports_take(struct parser *p, uint16_t *first, uint16_t *last)
{
	char *dash = strchr(p->word, '-');
	uint64_t from, to;
	int rc;

	if (dash)
		*dash = '\0';
	rc = number_parse(p->word, 0, UINT16_MAX, &from);
	to = from;
	if (dash && rc != -EINVAL) {
		int to_rc = number_parse(dash + 1, 0, UINT16_MAX, &to);

		rc = to_rc == -EINVAL || !rc ? to_rc : rc;
	}
	if (rc == -ERANGE)
		return refuse(p, p->span, "is out of range: ports are 0 to 65535");
	if (rc)
		return expected(p, "a port or a range of ports: write for example 53 or 6000-6063");
	if (from > to)
		return refuse(p, p->span, "goes downwards: write %" PRIu64 "-%" PRIu64, to, from);
	*first = from;
	*last = to;
	word_next(p);
	return 0;
}

static int match_sport(struct parser *p)
{
	struct rl_match *match = &p->rule->match;

	word_next(p);
	return ports_take(p, &match->sport_first, &match->sport_last);
}

static int match_dport(struct parser *p)
{
	struct rl_match *match = &p->rule->match;

	word_next(p);
	return ports_take(p, &match->dport_first, &match->dport_last);
}

static int match_address(struct parser *p, unsigned int flag, uint8_t addr[16], uint8_t *len)
{
	word_next(p);
	p->match_at[MATCH_INDEX(flag)] = p->span;
	return address_take(p, "an address: write for example 203.0.113.7 or 2001:db8::/32", addr,
			    len);
}

static int match_src(struct parser *p)
{
	return match_address(p, RL_MATCH_SRC, p->rule->match.src, &p->rule->match.src_len);
}

static int match_dst(struct parser *p)
{
	return match_address(p, RL_MATCH_DST, p->rule->match.dst, &p->rule->match.dst_len);
}

/* A word that says all by itself. */
static int match_word(struct parser *p)
{
	word_next(p);
	return 0;
}

static const struct match {
	const char *name;
	unsigned int flag;
	int (*parse)(struct parser *p);
} matches[] = {
	{"proto", RL_MATCH_PROTO, match_protocol},
	{"sport", RL_MATCH_SPORT, match_sport},
	{"dport", RL_MATCH_DPORT, match_dport},
	{"src", RL_MATCH_SRC, match_src},
	{"dst", RL_MATCH_DST, match_dst},
	{"syn", RL_MATCH_SYN, match_word},
	{"fragment", RL_MATCH_FRAGMENT, match_word},
	{"new-source", RL_MATCH_NEW_SOURCE, match_word},
};

static const struct match *match_find(const struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(matches); i++)
		if (word_is(p, matches[i].name))
			return &matches[i];
	return protocol_find(p->word) ? &matches[0] : NULL;
}

static const char *family_name(bool ipv4)
{
	return ipv4 ? "IPv4" : "IPv6";
}

/* All addresses of a rule are of one family, and its protocol is of that family too. */
static int family_check(struct parser *p)
{
	const struct rule *rule = p->rule;
	const struct rl_match *match = &rule->match;
	const struct {
		unsigned int flag;
		const uint8_t *addr;
		uint8_t len;
	} sides[] = {
		{RL_MATCH_SRC, match->src, match->src_len},
		{RL_MATCH_DST, match->dst, match->dst_len},
	};
	bool known = rule->kind == PREFIX_ADDR;
	bool ipv4 = known && prefix_is_ipv4(rule->addr, rule->len);

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		bool side_ipv4 = prefix_is_ipv4(sides[i].addr, sides[i].len);

		if (!(match->flags & sides[i].flag))
			continue;
		if (known && side_ipv4 != ipv4)
			return refuse(p, p->match_at[MATCH_INDEX(sides[i].flag)],
				      "is %s but the rule's other address is %s: write both in "
				      "one family",
				      family_name(side_ipv4), family_name(ipv4));
		known = true;
		ipv4 = side_ipv4;
	}
	if (known && (match->flags & RL_MATCH_PROTO) && match->proto == (ipv4 ? 58 : 1))
		return refuse(p, p->match_at[MATCH_INDEX(RL_MATCH_PROTO)],
			      "never goes with an %s address: write %s", family_name(ipv4),
			      ipv4 ? "icmp" : "icmp6");
	return 0;
}

/* The prefix and a match of the same side of the packet must have an address in common. */
static int side_check(struct parser *p)
{
	const struct rule *rule = p->rule;
	const struct rl_match *match = &rule->match;
	unsigned int flag = p->ctx->by_dest ? RL_MATCH_DST : RL_MATCH_SRC;
	const uint8_t *addr = p->ctx->by_dest ? match->dst : match->src;
	uint8_t len = p->ctx->by_dest ? match->dst_len : match->src_len;

	if (rule->kind != PREFIX_ADDR || !(match->flags & flag))
		return 0;
	if (prefix_contains(rule->addr, len < rule->len ? len : rule->len, addr))
		return 0;
	return refuse(p, p->match_at[MATCH_INDEX(flag)],
		      "is outside the rule's prefix, so no packet can match: the prefix is the %s "
		      "address already, leave the match out or write \"any\" as prefix",
		      p->ctx->by_dest ? "destination" : "source");
}

static int protocol_check(struct parser *p)
{
	const struct rl_match *match = &p->rule->match;
	unsigned int ports = match->flags & (RL_MATCH_SPORT | RL_MATCH_DPORT);

	if (!(match->flags & RL_MATCH_PROTO))
		return 0;
	if (ports && !protocol_has_ports(match->proto))
		return refuse(
			p, p->match_at[MATCH_INDEX(ports)],
			"makes no sense here, protocol %u has no ports: write tcp, udp or sctp",
			match->proto);
	if ((match->flags & RL_MATCH_SYN) && match->proto != 6)
		return refuse(p, p->match_at[MATCH_INDEX(RL_MATCH_SYN)],
			      "is a flag of tcp, not of protocol %u: write tcp", match->proto);
	return 0;
}

static int parse_matches(struct parser *p)
{
	struct rl_match *state = &p->rule->match;
	const struct match *match;
	int rc;

	while ((match = match_find(p))) {
		if (state->flags & match->flag)
			return refuse_twice(p);
		p->match_at[MATCH_INDEX(match->flag)] = p->span;
		rc = match->parse(p);
		if (rc)
			return rc;
		state->flags |= match->flag;
	}
	rc = protocol_check(p);
	if (!rc)
		rc = family_check(p);
	return rc ? rc : side_check(p);
}

/* ---- sizes and rates ---- */

static bool counts_packets(const struct rl_limit *limit)
{
	return limit->unit == RL_PACKETS;
}

/* One packet of the MTU with so many bytes of header, in the limit's unit. */
static uint64_t packet_size(const struct parser *p, unsigned int header_bytes)
{
	const struct rl_limit *limit = &p->rule->limit;
	uint64_t bytes = (uint64_t)p->ctx->mtu + header_bytes;

	if (counts_packets(limit))
		return 1;
	return limit->unit == RL_BITS ? bytes * 8 : bytes;
}

static int refuse_size(struct parser *p, struct span at, const char *why, uint64_t size)
{
	char text[40];

	amount_print(text, sizeof(text), size, p->rule->limit.unit);
	return refuse(p, at, "%s %s", why, text);
}

static int rate_check(struct parser *p)
{
	const struct rl_limit *limit = &p->rule->limit;
	unsigned __int128 amount = limit->amount, most;

	if (counts_packets(limit) && limit->amount > RATE_PACKETS_MAX)
		return refuse(p, p->rate_at, "counts too far: write at most 2^48 packets a period");
	most = counts_packets(limit) ? RATE_PACKETS_PER_SECOND_MAX : RATE_BITS_PER_SECOND_MAX;
	if (limit->unit == RL_BYTES)
		amount *= 8;
	if (amount * NS_PER_SECOND > most * limit->period_ns)
		return refuse(p, p->rate_at, "is too fast: write at most %s",
			      counts_packets(limit) ? "100m/second" : "400gbit");
	if (counts_packets(limit) && amount * NS_PER_DAY < limit->period_ns)
		return refuse(p, p->rate_at, "is too slow: write at least 1/day");
	return 0;
}

static int size_check(struct parser *p, struct span at)
{
	const struct rl_limit *limit = &p->rule->limit;
	uint64_t least = packet_size(p, ETHERNET_BYTES);
	uint64_t full = packet_size(p, ETHERNET_VLAN_BYTES);
	uint64_t day = rate_amount_in(limit->amount, limit->period_ns, NS_PER_DAY);
	uint64_t most = day > full ? day : full;

	if (limit->size < least)
		return refuse_size(p, at, "holds no full packet of this device: write at least",
				   least);
	if (limit->size > most)
		return refuse_size(p, at, "is more than a day of the rate: write at most", most);
	if ((unsigned __int128)limit->size * limit->period_ns >
	    (unsigned __int128)limit->amount * REFILL_MAX_NS)
		return refuse(p, at,
			      "takes more than 9 years to come back at this rate: write a faster "
			      "rate, such as 1kbyte/day");
	return 0;
}

/* An amount in the unit of the rate; bits and bytes mix, packets and they do not. */
static int size_convert(struct parser *p, const struct quantity *q, __u64 *out)
{
	const struct rl_limit *limit = &p->rule->limit;

	if (counts_packets(limit) && q->unit != RL_PACKETS)
		return refuse(p, q->at,
			      "counts bytes but the rate counts packets: write a number "
			      "of packets, for example 200");
	if (!counts_packets(limit) && q->unit == RL_PACKETS)
		return refuse(p, q->at,
			      "counts packets but the rate counts bytes: write a unit "
			      "behind it, for example 64kibyte");
	*out = q->n;
	if (limit->unit == RL_BYTES && q->unit == RL_BITS)
		*out = q->n / 8;
	if (limit->unit == RL_BITS && q->unit == RL_BYTES && __builtin_mul_overflow(q->n, 8, out))
		*out = UINT64_MAX; /* more than a day of any rate */
	return 0;
}

/* "1000" or "10 kbytes" alone is the likeliest slip: an amount, but no rate. */
static int period_check(struct parser *p)
{
	struct quantity q;

	words_join(p, &rate_form);
	if (rate_quantity(p->word, &q) != -EINVAL)
		return 0;
	words_join(p, &burst_form);
	if (amount_quantity(p->word, &q))
		return 0;
	return refuse(p, p->span, "has no period: write %s/second", p->word);
}

static int parse_rate(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	struct quantity q;
	int rc = period_check(p);

	if (!rc)
		rc = quantity_take(p, &rate_form, &q);
	if (rc)
		return rc;
	limit->amount = q.n;
	limit->period_ns = q.period_ns;
	limit->unit = q.unit;
	p->rate_at = q.at;
	return rate_check(p);
}

/* ---- what may follow a rate ---- */

static int option_burst(struct parser *p)
{
	struct quantity q;
	int rc = quantity_take(p, &burst_form, &q);

	if (!rc)
		rc = size_convert(p, &q, &p->rule->limit.size);
	return rc ? rc : size_check(p, q.at);
}

static int option_queue(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	struct quantity q;
	int rc = quantity_take(p, &queue_form, &q);

	if (rc)
		return rc;
	if (!q.is_duration)
		rc = size_convert(p, &q, &limit->size);
	else
		limit->size = rate_amount_in(limit->amount, limit->period_ns, q.n);
	if (q.is_duration && counts_packets(limit) && !limit->size)
		limit->size = 1;
	return rc ? rc : size_check(p, q.at);
}

static int option_slots(struct parser *p)
{
	uint64_t slots;
	int rc = number_take(p, 2, 16, &slots);

	if (!rc)
		p->rule->limit.slots = slots;
	return rc;
}

static int option_ramp(struct parser *p)
{
	return duration_take(p, &p->rule->limit.ramp_ns);
}

static int option_cold(struct parser *p)
{
	uint64_t cold;
	int rc = number_take(p, 2, 100, &cold);

	if (!rc)
		p->rule->limit.cold = cold;
	return rc;
}

/* /LEN4[,LEN6]; `text` is cut up. */
static int key_lengths_parse(struct parser *p, char *text)
{
	struct rl_limit *limit = &p->rule->limit;
	char *comma = strchr(text, ',');
	uint64_t len4, len6 = limit->key_len6;
	int rc;

	if (comma)
		*comma++ = '\0';
	rc = number_parse(text, 0, 32, &len4);
	if (!rc && comma)
		rc = number_parse(comma, 0, 128, &len6);
	if (rc)
		return refuse(p, p->span,
			      "has wrong lengths: write for example source/24 or "
			      "source/24,56 (0 to 32, 0 to 128)");
	limit->key_len4 = len4;
	limit->key_len6 = len6;
	return 0;
}

static int option_per(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	char *slash = strchr(p->word, '/');
	int key, rc = 0;

	if (slash)
		*slash = '\0';
	key = word_find(p, key_words, ARRAY_SIZE(key_words));
	if (key < 0)
		return expected(p, "a key: write source, dest, source+dport, source+dest, flow or "
				   "rule");
	if (slash && key != RL_KEY_SOURCE && key != RL_KEY_DEST)
		return refuse(p, p->span, "takes no length: write %s", p->word);
	limit->key = key;
	key_default_lengths(key, &limit->key_len4, &limit->key_len6);
	if (slash)
		rc = key_lengths_parse(p, slash + 1);
	if (!rc)
		word_next(p);
	return rc;
}

static int over_ban(struct parser *p)
{
	int rc = duration_take(p, &p->rule->limit.ban_ns);

	if (rc || !word_is(p, "source"))
		return rc;
	p->rule->limit.ban_source = 1;
	word_next(p);
	return 0;
}

static int over_mark(struct parser *p)
{
	uint64_t mark;
	int rc;

	if (!p->ctx->tc)
		return refuse(p, p->before,
			      "needs the hook ingress or egress, at xdp a packet has "
			      "no mark: write over drop or over count");
	rc = number_take(p, 0, UINT32_MAX, &mark);
	if (!rc)
		p->rule->limit.mark = mark;
	return rc;
}

static int option_over(struct parser *p)
{
	int over = word_find(p, over_words, ARRAY_SIZE(over_words));

	if (over < 0)
		return expected(p, "a consequence: write drop, ban DURATION, count or mark N");
	p->rule->limit.over = over;
	word_next(p);
	if (over == RL_OVER_BAN)
		return over_ban(p);
	return over == RL_OVER_MARK ? over_mark(p) : 0;
}

static int option_fleet(struct parser *p)
{
	p->rule->limit.fleet = 1;
	return 0;
}

static int option_for(struct parser *p)
{
	__u64 ns;
	int rc = duration_take(p, &ns);

	if (!rc)
		p->rule->for_ns = ns;
	return rc;
}

enum { ANY_LIMIT = RL_ALGORITHM_COUNT, ANY_ACTION };

static const struct option {
	const char *name;
	int algorithm; /* the only one it is for, or one of the above */
	int (*parse)(struct parser *p);
} options[OPTION_COUNT] = {
	[OPTION_BURST] = {"burst", RL_TOKEN_BUCKET, option_burst},
	[OPTION_QUEUE] = {"queue", RL_LEAKY_BUCKET, option_queue},
	[OPTION_SLOTS] = {"slots", RL_SLIDING_WINDOW, option_slots},
	[OPTION_RAMP] = {"ramp", RL_WARM_UP, option_ramp},
	[OPTION_COLD] = {"cold", RL_WARM_UP, option_cold},
	[OPTION_PER] = {"per", ANY_LIMIT, option_per},
	[OPTION_OVER] = {"over", ANY_LIMIT, option_over},
	[OPTION_FLEET] = {"fleet", ANY_LIMIT, option_fleet},
	[OPTION_FOR] = {"for", ANY_ACTION, option_for},
};

static bool option_given(const struct parser *p, enum option_name name)
{
	return p->option_at[name].len > 0;
}

static int option_find(const struct parser *p)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (word_is(p, options[i].name))
			return i;
	return -1;
}

/* Whether this word may stand behind this action. */
static int option_check(struct parser *p, int name)
{
	const struct rule *rule = p->rule;
	int algorithm = name < 0 ? ANY_LIMIT : options[name].algorithm;

	if (rule->action != RL_ACTION_LIMIT && algorithm != ANY_ACTION)
		return refuse(p, p->span,
			      "cannot stand behind %s: only \"for DURATION\" can, and "
			      "matches stand before it",
			      action_words[rule->action]);
	if (name < 0)
		return refuse(p, p->span,
			      "is not a word of a limit: burst, queue, slots, ramp, "
			      "cold, per, over, fleet and for are; matches stand "
			      "before the action");
	if (algorithm < ANY_LIMIT && algorithm != rule->limit.algorithm)
		return refuse(p, p->span, "does not go with %s: leave it out or write limit %s",
			      algorithm_words[rule->limit.algorithm], algorithm_words[algorithm]);
	return option_given(p, name) ? refuse_twice(p) : 0;
}

static int parse_options(struct parser *p)
{
	while (p->span.len) {
		int name = option_find(p);
		int rc = option_check(p, name);

		if (rc)
			return rc;
		p->option_at[name] = p->span;
		word_next(p);
		rc = options[name].parse(p);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- limits ---- */

static int bucket_finish(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	uint64_t full = packet_size(p, ETHERNET_VLAN_BYTES);
	uint64_t tenth = rate_amount_in(limit->amount, limit->period_ns, NS_PER_SECOND / 10);

	if (option_given(p, OPTION_BURST) || option_given(p, OPTION_QUEUE))
		return 0;
	if (limit->algorithm == RL_LEAKY_BUCKET)
		tenth = 0;
	limit->size = tenth > full ? tenth : full;
	return size_check(p, p->rate_at);
}

static int window_finish(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	uint64_t least = packet_size(p, ETHERNET_BYTES);

	if (limit->amount < least)
		return refuse_size(
			p, p->rate_at,
			"holds no full packet of this device: write a window of at least", least);
	if (limit->algorithm != RL_SLIDING_WINDOW)
		return 0;
	if (!limit->slots)
		limit->slots = 10;
	if (limit->period_ns < limit->slots)
		return refuse(p, p->rate_at,
			      "has a period too short for %u slots: write %uns or more",
			      limit->slots, limit->slots);
	return 0;
}

static int log_finish(struct parser *p)
{
	const struct rl_limit *limit = &p->rule->limit;

	if (!counts_packets(limit))
		return refuse(p, p->rate_at,
			      "counts bytes but sliding-log counts packets only: "
			      "write for example 100/second, or sliding-window");
	if (limit->amount > RL_SLIDING_LOG_MAX)
		return refuse(p, p->rate_at,
			      "is too much for a log: write at most %u packets a "
			      "period, or sliding-window",
			      RL_SLIDING_LOG_MAX);
	return 0;
}

static int warm_up_finish(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;

	if (!counts_packets(limit))
		return refuse(p, p->rate_at,
			      "counts bytes but warm-up counts packets only: write "
			      "for example 100/second");
	if (!option_given(p, OPTION_RAMP))
		return expected(p, "a ramp: write for example ramp 30s");
	if (!limit->cold)
		limit->cold = 3;
	return 0;
}

static int (*const limit_finish[RL_ALGORITHM_COUNT])(struct parser *p) = {
	[RL_TOKEN_BUCKET] = bucket_finish, [RL_LEAKY_BUCKET] = bucket_finish,
	[RL_FIXED_WINDOW] = window_finish, [RL_SLIDING_WINDOW] = window_finish,
	[RL_SLIDING_LOG] = log_finish,     [RL_WARM_UP] = warm_up_finish,
};

static int parse_limit(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	int algorithm = word_find(p, algorithm_words, ARRAY_SIZE(algorithm_words));
	int rc;

	limit->algorithm = algorithm < 0 ? RL_TOKEN_BUCKET : algorithm;
	if (algorithm >= 0)
		word_next(p);
	else if (p->span.len && !isdigit((unsigned char)p->span.at[0]))
		return expected(p, "an algorithm or a rate: write for example " RATE_EXAMPLES
				   ", or before it leaky-bucket, fixed-window, sliding-window, "
				   "sliding-log or warm-up");
	rc = parse_rate(p);
	if (!rc)
		rc = parse_options(p);
	if (rc)
		return rc;
	if (!option_given(p, OPTION_PER)) {
		limit->key = rule_default_key(p->rule, p->ctx);
		key_default_lengths(limit->key, &limit->key_len4, &limit->key_len6);
	}
	return limit_finish[limit->algorithm](p);
}

/* ---- statements ---- */

static int parse_action(struct parser *p)
{
	struct rule *rule = p->rule;
	int action = word_find(p, action_words, ARRAY_SIZE(action_words));

	if (action < 0)
		return expected(p, "a match (tcp, udp, icmp, icmp6, sctp, gre, esp, proto, sport, "
				   "dport, src, dst, syn, fragment, new-source) or an action "
				   "(allow, deny, limit)");
	if (action != RL_ACTION_LIMIT && rule->kind == PREFIX_DEVICE && !rule->match.flags)
		return refuse(p, p->span,
			      "for the whole device is a rule of every address: write "
			      "\"rule any %s\"",
			      action_words[action]);
	rule->action = action;
	word_next(p);
	return action == RL_ACTION_LIMIT ? parse_limit(p) : parse_options(p);
}

static int parse_rule(struct parser *p, bool selector)
{
	int rc = parse_prefix(p);

	if (!rc)
		rc = parse_matches(p);
	if (rc)
		return rc;
	if (selector && !p->span.len) {
		p->rule->action = RL_ACTION_COUNT;
		return 0;
	}
	return parse_action(p);
}

static int line_refuse(struct policy_error *err, size_t offset, const char *text)
{
	err->column = offset + 1;
	snprintf(err->text, sizeof(err->text), "%s", text);
	return -EINVAL;
}

/* The cursor before the first word. */
static int line_open(struct parser *p, const char *line, size_t len)
{
	const char *nul = memchr(line, '\0', len);
	const char *comment = memchr(line, '#', len);

	if (nul)
		return line_refuse(p->err, nul - line,
				   "a NUL byte: a policy is text, remove everything that is not");
	if (len > LINE_MAX_BYTES)
		return line_refuse(p->err, LINE_MAX_BYTES,
				   "the line is longer than 4096 bytes: write one rule per line");
	p->line = line;
	p->end = comment ? comment : line + len;
	p->span.at = line;
	word_next(p);
	return 0;
}

static int line_parse(const char *line, size_t len, const struct policy_context *ctx,
		      struct rule *out, bool *found, struct policy_error *err)
{
	struct rule rule = {0};
	struct parser p = {.ctx = ctx, .err = err, .rule = &rule};
	int rc = line_open(&p, line, len);

	if (rc)
		return rc;
	if (!p.span.len) {
		*found = false;
		return 0;
	}
	if (!word_is(&p, "rule"))
		return expected(&p, "a statement: every line begins with the word rule, as in "
				    "\"rule any limit 1000/second\"");
	word_next(&p);
	rc = parse_rule(&p, false);
	if (rc)
		return rc;
	*out = rule;
	*found = true;
	return 0;
}

/* Length without the line's end, LF or CRLF. */
static size_t line_length(const char *line, size_t len)
{
	if (len && line[len - 1] == '\n')
		len--;
	if (len && line[len - 1] == '\r')
		len--;
	return len;
}

int statement_parse(const char *line, const struct policy_context *ctx, struct rule *out,
		    bool *found, struct policy_error *err)
{
	return line_parse(line, line_length(line, strlen(line)), ctx, out, found, err);
}

int selector_parse(const char *words, const struct policy_context *ctx, struct rule *out,
		   struct policy_error *err)
{
	struct rule rule = {0};
	struct parser p = {.ctx = ctx, .err = err, .rule = &rule};
	int rc = line_open(&p, words, line_length(words, strlen(words)));

	if (!rc)
		rc = parse_rule(&p, true);
	if (!rc)
		*out = rule;
	return rc;
}

/* Appends every statement of the text. */
static int lines_parse(const char *text, size_t size, const struct policy_context *ctx,
		       struct policy *policy, struct policy_error *err)
{
	const char *end = text + size;
	uint32_t number = 0;

	for (const char *line = text, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', end - line);
		struct rule rule;
		bool found;
		int rc;

		next = newline ? newline + 1 : end;
		err->line = ++number;
		rc = line_parse(line, line_length(line, next - line), ctx, &rule, &found, err);
		if (rc)
			return rc;
		rule.line = number;
		rc = found ? policy_append(policy, &rule) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

int policy_parse(const char *text, size_t size, const struct policy_context *ctx,
		 void (*replaced)(const struct rule *earlier, const struct rule *later),
		 struct policy *out, struct policy_error *err)
{
	struct policy policy = {0};
	int rc = lines_parse(text, size, ctx, &policy, err);

	if (rc) {
		policy_clear(&policy);
		return rc;
	}
	policy_settle(&policy, replaced);
	*out = policy;
	return 0;
}
