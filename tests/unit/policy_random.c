// SPDX-License-Identifier: GPL-2.0-only
/* Random rules from the grammar, the same on every run. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "policy_helpers.h"
#include "random.h"

static uint64_t random_state;

void random_start(uint64_t seed)
{
	random_state = seed;
}

uint64_t random_below(uint64_t bound)
{
	return random_under(&random_state, bound);
}

#define PICK(words) ((words)[random_below(ARRAY_SIZE(words))])

__attribute__((format(printf, 2, 3))) static void say(char *line, const char *format, ...)
{
	size_t used = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, RULE_TEXT_MAX - used, format, args);
	va_end(args);
}

/* IPv6 includes prefixes that begin like the mapped addresses, from ::/0 to ::fffe:0:0/95. */
static void say_address(char *line, bool ipv4)
{
	bool zeros = !random_below(4);
	unsigned int first = ipv4 ? 96 : zeros ? 0 : 8;
	unsigned int len = first + random_below((zeros && !ipv4 ? 96 : 129) - first);
	char text[PREFIX_TEXT_MAX];
	uint8_t addr[16] = {0};

	if (ipv4)
		addr[10] = addr[11] = 0xff;
	else if (!zeros)
		addr[0] = 0x20;
	for (unsigned int bit = first; bit < len; bit++)
		if (zeros && !ipv4 ? bit >= 80 : random_below(2))
			addr[bit / 8] |= 0x80 >> bit % 8;
	prefix_print(text, sizeof(text), addr, len);
	say(line, " %s", text);
}

/* A member of a set may be of either family. */
static const char *const sets[] = {"bad", "worse"};

static const char *const alarms[] = {"attack", "busy"};

static bool may_be_proven(const char *line)
{
	static const char *const never[] = {" sctp",    " gre",      " esp",       " proto gre",
					    " proto 0", " proto 89", " proto 255", " syn"};

	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (strstr(line, never[i]))
			return false;
	return true;
}

/* Sometimes. */
static void say_not(char *line)
{
	if (!random_below(4))
		say(line, " not");
}

static void say_proof(char *line)
{
	if (!may_be_proven(line) || random_below(2))
		say(line, " not");
	say(line, " established");
}

/* Lists overlap, touch and repeat. */
static void say_ports(char *line, const char *word)
{
	uint64_t count = random_below(3) ? 1 : 1 + random_below(RL_PORT_RANGES_MAX);

	say_not(line);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t port = 1 + random_below(random_below(2) ? 60 : 65535);
		uint64_t last = port + random_below(random_below(2) ? 3 : 65536 - port);

		say(line, "%s%" PRIu64, i ? "," : word, port);
		if (random_below(2))
			say(line, "-%" PRIu64, last < UINT16_MAX ? last : UINT16_MAX);
	}
}

static void say_range(char *line, const char *word, uint64_t least, uint64_t most)
{
	uint64_t first = least + random_below(most - least);

	say_not(line);
	say(line, " %s %" PRIu64, word, first);
	if (random_below(2))
		say(line, "-%" PRIu64, first + random_below(most - first + 1));
}

static void say_tcp_flags(char *line)
{
	static const char *const flags[] = {"none",
					    "syn",
					    "rst",
					    "fin,psh,urg",
					    "syn/syn,ack",
					    "syn/syn",
					    "none/rst",
					    "ack,psh/ack,psh",
					    "syn,ack/syn,ack",
					    "ece,cwr/cwr,ece",
					    "none/fin,syn,rst,psh,ack,urg,ece,cwr"};

	say_not(line);
	say(line, " flags %s", PICK(flags));
}

static void say_icmp(char *line, bool ipv6)
{
	static const char *const types[] = {"echo-request", "echo-reply",   "3", "0",
					    "255",          "time-exceeded"};

	say(line, ipv6 ? " icmp6" : " icmp");
	if (random_below(2))
		return;
	say_not(line);
	say(line, " icmp-type %s", PICK(types));
	if (random_below(2))
		say(line, " code %" PRIu64, random_below(256));
}

static void say_payload(char *line)
{
	uint64_t len = 1 + random_below(RL_PAYLOAD_MAX), mask = random_below(2) ? 0xff : 0xf8;

	say_not(line);
	say(line, " payload %" PRIu64 " ", random_below(RL_PAYLOAD_OFFSET_MAX + 1));
	for (uint64_t i = 0; i < len; i++)
		say(line, "%02" PRIX64, random_below(256) & mask);
	for (uint64_t i = 0; mask != 0xff && i < len; i++)
		say(line, "%s%02" PRIx64, i ? "" : "/", mask);
}

/* Words whose conditions are in rl_extra, and which any protocol has. */
static void say_extras(char *line, bool payload)
{
	static const char *const dscps[] = {"cs0", "ef", "af41", "46", "5", "63", "cs7"};
	static const char *const filters[] = {"udp", "ip[8] < 5", "tcp  port 80",
					      "src net 10.0.0.0/8 or ip6"};

	if (!random_below(6))
		say_range(line, "length", 20, 65535);
	if (!random_below(6))
		say_range(line, "ttl", 1, 255);
	if (!random_below(6)) {
		say_not(line);
		say(line, " dscp %s", PICK(dscps));
	}
	if (!random_below(6))
		say_range(line, "vlan", 0, 4095);
	if (payload && !random_below(6))
		say_payload(line);
	if (!random_below(8)) {
		say_not(line);
		say(line, " filter \"%s\"", PICK(filters));
	}
}

static void say_protocol(char *line, const char *protocol, bool ipv4)
{
	if (!strcmp(protocol, " icmp"))
		say_icmp(line, !ipv4);
	else
		say(line, "%s", protocol);
}

/* Not behind its protocol. */
static bool is_tcp(const char *protocol)
{
	return !protocol[0] || !strcmp(protocol, " tcp") || !strcmp(protocol, " proto tcp");
}

static void say_shapes(char *line, bool tcp)
{
	if (tcp && !random_below(3)) {
		say_not(line);
		say(line, " syn");
	} else if (tcp && !random_below(3)) {
		say_tcp_flags(line);
	}
	if (!random_below(5)) {
		say_not(line);
		say(line, " fragment");
	}
	if (!random_below(5)) {
		say_not(line);
		say(line, " new-source");
	}
}

static void say_matches(char *line, bool ipv4, const struct policy_context *ctx)
{
	static const char *const with_ports[] = {"",      " tcp",      " udp",
						 " sctp", " proto 17", " proto tcp"};
	static const char *const others[] = {" gre",     " esp",      " proto gre",
					     " proto 0", " proto 89", " proto 255",
					     " icmp",    " not sctp", " not udp"};
	const char *protocol = random_below(4) ? PICK(with_ports) : PICK(others);
	bool no = strstr(protocol, " not");
	bool ports = no || protocol[0] == '\0' || !strcmp(protocol, " tcp") ||
		     !strcmp(protocol, " udp") || !strcmp(protocol, " sctp");

	if (ports && !random_below(3))
		say_ports(line, " sport ");
	say_protocol(line, protocol, ipv4);
	if (ports && !random_below(3))
		say_ports(line, " dport ");
	if (!random_below(4)) {
		say_not(line);
		say(line, ctx->by_dest ? " src" : " dst");
		if (random_below(4))
			say_address(line, ipv4);
		else
			say(line, " @%s", PICK(sets));
	}
	if (!random_below(12)) {
		say_not(line);
		say(line, ctx->by_dest ? " dst @%s" : " src @%s", PICK(sets));
	}
	say_shapes(line, is_tcp(protocol));
	say_extras(line, is_tcp(protocol) || no || strstr(protocol, " udp"));
	if (!random_below(4))
		say_proof(line);
}

static void say_packet_rate(char *line, uint64_t most)
{
	static const char *const periods[] = {"second", "s",     "min", "10s",  "5 minutes",
					      "ms",     "100ms", "h",   "1day", "20us"};
	const char *period = PICK(periods);

	say(line, " %" PRIu64 "/%s", 1 + random_below(most), period);
}

static void say_byte_rate(char *line)
{
	static const char *const units[] = {"kbit",         " mbit",     "kbyte/s",
					    "kibit/second", " mibyte/s", "mbits/minute",
					    "kbytes/10ms",  "mbyte/hour"};

	say(line, " %" PRIu64 "%s", 1 + random_below(1000), PICK(units));
}

static void say_bucket(char *line)
{
	static const char *const byte_sizes[] = {"kbyte", "kibyte", " kibit", "00 bytes", "00bits"};

	switch (random_below(6)) {
	case 5:
		say(line, " leaky-bucket %" PRIu64 "/min queue %" PRIu64 "ms",
		    1 + random_below(1000), 1 + random_below(100000));
		return;
	case 0:
		say(line, " token-bucket");
		say_packet_rate(line, 1000);
		return;
	case 1:
		say(line, " %" PRIu64 "/second burst %" PRIu64, 1000 + random_below(1000),
		    1 + random_below(100000));
		return;
	case 2:
		say_byte_rate(line);
		say(line, " burst %" PRIu64 "%s", 122 + random_below(900), PICK(byte_sizes));
		return;
	case 3:
		say(line, " leaky-bucket %" PRIu64 "mbit queue %" PRIu64 "ms",
		    1 + random_below(1000), 13 + random_below(1000));
		return;
	default:
		say(line, " leaky-bucket");
		say_packet_rate(line, 1000);
	}
}

static void say_window(char *line)
{
	switch (random_below(4)) {
	case 0:
		say(line, " fixed-window %" PRIu64 "kibyte/10s", 2 + random_below(9999));
		return;
	case 1:
		say(line, " sliding-window");
		say_packet_rate(line, 2000);
		say(line, " slots %" PRIu64, 2 + random_below(15));
		return;
	case 2:
		say(line, " sliding-log");
		say_packet_rate(line, 1024);
		return;
	default:
		say(line, " warm-up");
		say_packet_rate(line, 1000);
		say(line, " ramp %" PRIu64 "ms cold %" PRIu64, 1 + random_below(99999),
		    2 + random_below(99));
	}
}

/* Only keys that do not include all packets, unless the source is banned. */
static void say_ban(char *line, const struct policy_context *ctx)
{
	static const char *const keys[] = {
		" per source",      " per flow",         " per source+dport",
		" per source+dest", " per source/24,56", " per dest/16,48",
		" per dest",        " per vlan+source",  " per proto+source/9+sport"};
	static const char *const shared[] = {"", " per rule", " per source/0,64"};

	if (ctx->leaving || random_below(2))
		say(line, "%s over ban 90s", PICK(keys));
	else if (random_below(2))
		say(line, "%s over ban 10 minutes source", PICK(keys));
	else
		say(line, "%s over ban 10 minutes source", PICK(shared));
}

/* Only where some packet of the rule can be spared or answered. */
static bool say_answer(char *line, const struct policy_context *ctx)
{
	bool udp = strstr(line, " udp") || strstr(line, " proto 17");
	bool tcp = strstr(line, " tcp") || strstr(line, " syn");

	if (may_be_proven(line) && !strstr(line, " established") && random_below(2))
		say(line, " over drop unless established");
	else if (ctx->tc || strstr(line, " fragment") || strstr(line, " established") ||
		 strstr(line, " not syn") || strstr(line, " flags ") || strstr(line, " not udp"))
		return false;
	else if (tcp)
		say(line, " over challenge");
	else if (udp)
		say(line, " over truncate");
	else
		return false;
	return true;
}

/* One to six parts in any order, addresses with lengths or without. */
static void say_parts(char *line)
{
	const char *parts[] = {"source", "dest", "sport", "dport", "proto", "vlan"};
	size_t count = 1 + random_below(6);

	for (size_t i = 0; i < count; i++) {
		size_t at = i + random_below(6 - i);
		const char *part = parts[at];

		parts[at] = parts[i];
		say(line, "%s%s", i ? "+" : " per ", part);
		if ((strcmp(part, "source") && strcmp(part, "dest")) || random_below(2))
			continue;
		say(line, "/%" PRIu64, random_below(33));
		if (random_below(2))
			say(line, ",%" PRIu64, random_below(129));
	}
}

static void say_consequences(char *line, const struct policy_context *ctx)
{
	static const char *const keys[] = {
		"",          " per source",      " per dest", " per source+dport",
		" per flow", " per source+dest", " per rule"};
	static const char *const overs[] = {"", " over drop", " over count"};

	if (!random_below(3)) {
		say_ban(line, ctx);
		return;
	}
	if (strstr(line, "rule @") && !random_below(3))
		say(line, " per set%s", random_below(2) ? " member" : "");
	else if (random_below(3))
		say(line, "%s", PICK(keys));
	else if (random_below(2))
		say_parts(line);
	else
		say(line, " per %s/%" PRIu64 ",%" PRIu64, random_below(2) ? "source" : "dest",
		    random_below(33), random_below(129));
	if (!random_below(4) && say_answer(line, ctx))
		;
	else if (ctx->tc && !random_below(3))
		say(line, " over mark %" PRIu64, random_below(1ull << 32));
	else
		say(line, "%s", PICK(overs));
	if (!random_below(4))
		say(line, " fleet");
}

/* All bytes but NUL and LF, which end a line; letters and blanks are the most frequent. */
static void say_comment(char *line)
{
	char text[RL_COMMENT_MAX + 16] = "";
	size_t len = random_below(sizeof(text));

	for (size_t i = 0; i < len; i++) {
		char c = (char)(1 + random_below(255));

		text[i] = random_below(4) ? "e \tz#"[random_below(5)] : c == '\n' ? 'n' : c;
	}
	say(line, "#%s", text);
}

/* Pairs of rates in one unit or two, the second not above the first. */
static void say_alarm_rates(char *line, const char *durations[2])
{
	static const char *const pairs[][2] = {
		{"000/second", "00/second"},   {"k/minute", "00/minute"},   {"mbit", "0kbit"},
		{" kbytes/second", "kbit"},    {"mbit", "0kbyte/s"},        {"pps", "0/s"},
		{" gibyte/hour", " mibyte/h"}, {"00000/1day", "00000/day"},
	};
	const char *const *pair = pairs[random_below(ARRAY_SIZE(pairs))];
	uint64_t on = 900 + random_below(100), off = 20 + random_below(60);

	say(line, " over %" PRIu64 "%s for %s", on, pair[0], durations[0]);
	say(line, " until under %" PRIu64 "%s for %s", off, pair[1], durations[1]);
}

void random_alarm(char line[RULE_TEXT_MAX], const char *name, const struct policy_context *ctx)
{
	static const char *const durations[] = {"10s", "1 minute", "61s", "15 seconds", "1d"};

	line[0] = '\0';
	if (!random_below(4)) {
		say(line, "alarm %s manual", name);
	} else {
		say(line, "alarm %s when", name);
		say_matches(line, random_below(2), ctx);
		say_alarm_rates(line, (const char *[]){PICK(durations), PICK(durations)});
	}
	if (!random_below(4))
		say_comment(line);
}

/* Classes only where there are sources, and of a bucket of 1000 packets or more. */
static void say_division(char *line, const struct policy_context *ctx)
{
	static const char *const keys[] = {"", " per source", " per dest", " per source/24,56"};
	static const char *const whole[] = {"", " per rule"};
	static const char *const classes[] = {"established", "known", "@gold"};
	static const char *const overs[] = {"", " over drop", " over count"};
	static const char *const amounts[] = {"kbit", "byte", "000bit", " kibyte"};
	uint64_t most = random_below(97) + 1, known = 1 + random_below(99 - most);
	bool bytes = random_below(2);

	say(line, bytes ? " 800mbit burst 1%s" : " 1m/s burst 1%s", bytes ? "mbyte" : "k");
	if (random_below(3)) {
		const char *key = ctx->by_dest ? " per dest" : PICK(keys);

		say(line, " share");
		if (!key[0] && random_below(2))
			say(line, " %" PRIu64 "/%" PRIu64 "/%" PRIu64, most, known,
			    100 - most - known);
		say(line, "%s", key);
	} else {
		say(line, " keep %" PRIu64 "%s for %s%s", 1 + random_below(900),
		    bytes ? PICK(amounts) : "", PICK(classes), PICK(whole));
	}
	say(line, "%s", PICK(overs));
}

void random_divided(char line[RULE_TEXT_MAX], const struct policy_context *ctx)
{
	line[0] = '\0';
	say(line, random_below(2) ? "rule device" : "rule any");
	say_matches(line, random_below(2), ctx);
	say(line, " limit");
	say_division(line, ctx);
	if (!random_below(4))
		say(line, " for %" PRIu64 "ms", 1 + random_below(1ull << 40));
}

void random_rule(char line[RULE_TEXT_MAX], const struct policy_context *ctx)
{
	bool ipv4 = random_below(2);
	unsigned int action = random_below(4);
	bool device = action > 1 && !random_below(5);

	line[0] = '\0';
	say(line, device ? "rule device" : "rule");
	if (!device && !random_below(4))
		say(line, " any");
	else if (!device && !random_below(8))
		say(line, " @%s", PICK(sets));
	else if (!device)
		say_address(line, ipv4);
	say_matches(line, ipv4, ctx);
	if (action > 1) {
		say(line, " limit");
		if (random_below(2))
			say_bucket(line);
		else
			say_window(line);
		say_consequences(line, ctx);
	} else {
		say(line, action ? " allow" : " deny");
	}
	if (!random_below(4))
		say(line, " for %" PRIu64 "ms", 1 + random_below(1ull << 40));
	if (!random_below(8))
		say(line, " while%s %s", random_below(2) ? " not" : "", PICK(alarms));
	if (!random_below(4))
		say_comment(line);
}
