// SPDX-License-Identifier: GPL-2.0-only
/* Answers of explain for packets that are not stated in full, and why a rule does not hold; that a
 * packet in full meets what it says is tested in tests/prog/test_explain.c.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/packets/explain.h"
#include "policy_helpers.h"

#define SETS           "set a\nset c\n"
#define ALARM_OF(name) "alarm " name " when over 99/s for 1s until under 9/s for 9s\n"
#define ALARMS         ALARM_OF("on") ALARM_OF("off") ALARM_OF("x")

static const struct row {
	const char *policy, *words;
	bool by_dest;
	const char *said; /* of each rule: its text, or "not asked"; joined by "; " */
	enum rl_reason reason;
	const char *depends;
} rows[] = {
	{"rule any udp dport 53 deny", "192.0.2.1 udp dport 7", false, "dport 7 is not 53",
	 RL_REASON_UNMATCHED, ""},
	{"rule any udp dport 50-60 deny", "192.0.2.1 udp dport 7", false, "dport 7 is not in 50-60",
	 RL_REASON_UNMATCHED, ""},
	{"rule any limit 9/s share", "192.0.2.1", false,
	 "it passes while the limit has room for its class of senders", RL_REASON_WITHIN, ""},
	{"rule any limit 9/s share per source", "192.0.2.1", false,
	 "it passes while the limit has room for its source", RL_REASON_WITHIN, ""},
	{"rule any limit 9/s share per source over count\nrule any tcp deny", "192.0.2.1", false,
	 "depends on protocol; within it while the limit has room for its source", RL_REASON_WITHIN,
	 "protocol"},
	{SETS "rule @a deny", "192.0.2.1", false, "no match to hold", RL_REASON_DENIED, ""},
	{SETS "rule @a deny", "192.0.2.2", false, "", RL_REASON_UNMATCHED, ""},
	{SETS "rule @a deny\nrule 192.0.2.1 allow", "192.0.2.1", false,
	 "no match to hold; not asked", RL_REASON_ALLOWED, ""},
	{SETS "rule @a deny\nrule 192.0.2.0/23 allow", "192.0.2.1", false,
	 "no match to hold; not asked", RL_REASON_DENIED, ""},
	{SETS "rule @a deny\nrule 192.0.2.0/24 udp allow", "192.0.2.1 udp", false,
	 "all matches hold; not asked", RL_REASON_ALLOWED, ""},
	{SETS "rule @c deny", "192.0.2.1", false, "depends on whether 192.0.2.1 is in @c",
	 RL_REASON_UNMATCHED, "members"},
	{SETS "rule @c udp dport 53 deny", "2001:db8::2 udp", false,
	 "depends on whether 2001:db8::2 is in @c, and on dport", RL_REASON_UNMATCHED,
	 "dport, members"},
	{SETS "rule @c tcp deny", "192.0.2.1 udp", false, "protocol udp is not tcp",
	 RL_REASON_UNMATCHED, ""},
	{SETS "rule @c deny\nrule any limit 9/s", "192.0.2.1", false,
	 "depends on whether 192.0.2.1 is in @c; no match to hold", RL_REASON_WITHIN, "members"},
	{SETS "rule any src @a deny", "192.0.2.1", false, "all matches hold", RL_REASON_DENIED, ""},
	{SETS "rule any src @a deny", "192.0.2.2", false, "src 192.0.2.2 is not in @a",
	 RL_REASON_UNMATCHED, ""},
	{SETS "rule any not src @a deny", "192.0.2.1", false, "src 192.0.2.1 is in @a",
	 RL_REASON_UNMATCHED, ""},
	{SETS "rule any not src @a deny", "192.0.2.2", false, "all matches hold", RL_REASON_DENIED,
	 ""},
	{SETS "rule any src @c deny", "192.0.2.1", false, "depends on members", RL_REASON_UNMATCHED,
	 "members"},
	{SETS "rule any dst @a deny", "192.0.2.1", false, "depends on dst", RL_REASON_UNMATCHED,
	 "dst"},
	{SETS "rule any dst @a deny", "192.0.2.1 dst 192.0.2.1", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{SETS "rule @a dst 198.51.100.0/24 deny", "198.51.100.1", true, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any udp dport 53 deny", "192.0.2.1 udp", false, "depends on dport",
	 RL_REASON_UNMATCHED, "dport"},
	{"rule any udp dport 53 deny", "192.0.2.1 dport 53", false, "depends on protocol",
	 RL_REASON_UNMATCHED, "protocol"},
	{"rule any udp dport 53 deny", "192.0.2.1 dport 7", false, "dport 7 is not 53",
	 RL_REASON_UNMATCHED, ""},
	{"rule any icmp deny", "192.0.2.1 dport 7", false, "icmp has no ports", RL_REASON_UNMATCHED,
	 ""},
	{"rule any dport 0-65535 deny", "192.0.2.1", false, "depends on dport", RL_REASON_UNMATCHED,
	 "dport"},
	{"rule any tcp not established deny", "192.0.2.1 tcp flags syn", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any sctp deny", "192.0.2.1 payload 0 11", false, "no payload is read of sctp",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not sctp deny", "192.0.2.1 payload 0 11", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any gre deny", "192.0.2.1 established", false, "protocol gre is never established",
	 RL_REASON_UNMATCHED, ""},
	{"rule any tcp not syn deny", "192.0.2.1 tcp fragment", false,
	 "a later fragment has no flags", RL_REASON_UNMATCHED, ""},
	{"rule any dport 53 deny", "192.0.2.1 icmp", false, "icmp has no ports",
	 RL_REASON_UNMATCHED, ""},
	{"rule any dport 53 deny", "192.0.2.1 proto 89", false, "89 has no ports",
	 RL_REASON_UNMATCHED, ""},
	{"rule any dport 53 deny", "192.0.2.1 udp fragment", false, "a later fragment has no ports",
	 RL_REASON_UNMATCHED, ""},
	{"rule any dport 53 deny", "192.0.2.1 udp fragment dport 53", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any fragment deny", "192.0.2.1", false, "it is not a fragment", RL_REASON_UNMATCHED,
	 ""},
	{"rule any tcp syn deny", "192.0.2.1 tcp", false, "it is not a SYN", RL_REASON_UNMATCHED,
	 ""},
	{"rule any tcp deny", "192.0.2.1 syn", false, "all matches hold", RL_REASON_DENIED, ""},
	{"rule any udp deny", "192.0.2.1 syn", false, "protocol tcp is not udp",
	 RL_REASON_UNMATCHED, ""},
	{"rule any new-source deny", "192.0.2.1 new-source", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any new-source deny", "192.0.2.1", false, "depends on new-source",
	 RL_REASON_UNMATCHED, "new-source"},
	{"rule any established deny", "192.0.2.1 tcp established", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any established deny", "192.0.2.1 tcp not established", false,
	 "it is not established", RL_REASON_UNMATCHED, ""},
	{"rule any not established deny", "192.0.2.1 tcp established", false, "it is established",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not established deny", "192.0.2.1 udp", false, "depends on established",
	 RL_REASON_UNMATCHED, "established"},
	{"rule any established deny", "192.0.2.1 syn", false, "it is not established",
	 RL_REASON_UNMATCHED, ""},
	{"rule any established deny", "192.0.2.1 gre", false, "it is not established",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not established deny", "192.0.2.1 udp fragment", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any not established deny", "192.0.2.1 udp fragment dport 53", false,
	 "depends on established", RL_REASON_UNMATCHED, "established"},
	{"rule any dst 10.0.0.0/8 deny", "192.0.2.1", false, "depends on dst", RL_REASON_UNMATCHED,
	 "dst"},
	{"rule any dst 10.0.0.0/8 deny", "192.0.2.1 dst 10.1.1.1", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any dst 10.0.0.1 deny", "192.0.2.1 dst 10.1.1.1", false,
	 "dst 10.1.1.1 is not 10.0.0.1", RL_REASON_UNMATCHED, ""},
	{"rule any dst 2001:db8::/32 deny", "192.0.2.1", false,
	 "2001:db8::/32 is of another family", RL_REASON_UNMATCHED, ""},
	{"rule any src 10.0.0.0/8 deny", "192.0.2.1", true, "depends on src", RL_REASON_UNMATCHED,
	 "src"},
	{"rule any src 10.0.0.0/8 deny", "192.0.2.1 src 10.0.0.1", true, "all matches hold",
	 RL_REASON_DENIED, ""},
	/* the other matches, and not */
	{"rule any udp dport 1,3,9 deny", "192.0.2.1 udp dport 7", false,
	 "dport 7 is not in the list", RL_REASON_UNMATCHED, ""},
	{"rule any not udp deny", "192.0.2.1 udp", false, "protocol udp is left out",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not udp deny", "192.0.2.1 tcp", false, "all matches hold", RL_REASON_DENIED, ""},
	{"rule any not udp deny", "192.0.2.1", false, "depends on protocol", RL_REASON_UNMATCHED,
	 "protocol"},
	{"rule any not dport 53 deny", "192.0.2.1 udp dport 53", false, "dport 53 is left out",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not dport 53 deny", "192.0.2.1 udp fragment", false,
	 "a later fragment has no ports", RL_REASON_UNMATCHED, ""},
	{"rule any not src 192.0.2.0/24 deny", "192.0.2.1", false, "src 192.0.2.1 is left out",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not dst 10.0.0.0/8 deny", "192.0.2.1", false, "depends on dst",
	 RL_REASON_UNMATCHED, "dst"},
	{"rule any not dst 10.0.0.0/8 deny", "2001:db8::1", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any not syn deny", "192.0.2.1 syn", false, "it is a SYN", RL_REASON_UNMATCHED, ""},
	{"rule any not syn deny", "192.0.2.1 tcp", false, "all matches hold", RL_REASON_DENIED, ""},
	{"rule any not fragment deny", "192.0.2.1 fragment", false, "it is a fragment",
	 RL_REASON_UNMATCHED, ""},
	{"rule any not new-source deny", "192.0.2.1 not new-source", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any tcp flags fin,psh,urg deny", "192.0.2.1 tcp flags fin,psh,urg", false,
	 "all matches hold", RL_REASON_DENIED, ""},
	{"rule any tcp flags none/rst deny", "192.0.2.1 tcp flags rst,ack", false,
	 "its flags are others", RL_REASON_UNMATCHED, ""},
	{"rule any tcp flags none/rst deny", "192.0.2.1 tcp", false, "depends on flags",
	 RL_REASON_UNMATCHED, "flags"},
	{"rule any tcp flags fin/fin deny", "192.0.2.1 tcp fragment", false,
	 "a later fragment has no flags", RL_REASON_UNMATCHED, ""},
	{"rule any syn deny", "192.0.2.1 tcp flags syn,ece,cwr", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any syn deny", "192.0.2.1 tcp flags syn/syn", false, "depends on flags",
	 RL_REASON_UNMATCHED, "flags"},
	{"rule any syn deny", "192.0.2.1 tcp flags syn,ack", false, "it is not a SYN",
	 RL_REASON_UNMATCHED, ""},
	{"rule any length 0-99 deny", "192.0.2.1 length 60", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any length 0-99 deny", "192.0.2.1 length 100", false, "length 100 is not in 0-99",
	 RL_REASON_UNMATCHED, ""},
	{"rule any length 0-99 deny", "192.0.2.1", false, "depends on length", RL_REASON_UNMATCHED,
	 "length"},
	{"rule any not ttl 255 dscp ef deny", "192.0.2.1 ttl 64", false, "depends on dscp",
	 RL_REASON_UNMATCHED, "dscp"},
	{"rule any not ttl 255 dscp ef deny", "192.0.2.1 ttl 255", false, "ttl 255 is left out",
	 RL_REASON_UNMATCHED, ""},
	{"rule any vlan 5-9 deny", "192.0.2.1 vlan 4", false, "vlan 4 is not in 5-9",
	 RL_REASON_UNMATCHED, ""},
	{"rule any vlan 5-9 deny", "192.0.2.1", false, "depends on vlan", RL_REASON_UNMATCHED,
	 "vlan"},
	{"rule any dscp ef deny", "192.0.2.1 dscp 46", false, "all matches hold", RL_REASON_DENIED,
	 ""},
	{"rule any icmp icmp-type 3 code 4 deny", "192.0.2.1 icmp icmp-type 3", false,
	 "depends on icmp-type", RL_REASON_UNMATCHED, "icmp-type"},
	{"rule any icmp icmp-type 3 deny", "192.0.2.1 icmp icmp-type 3 code 4", false,
	 "all matches hold", RL_REASON_DENIED, ""},
	{"rule any icmp not icmp-type 3 code 4 deny", "192.0.2.1 icmp icmp-type 3 code 4", false,
	 "its ICMP type or code is another", RL_REASON_UNMATCHED, ""},
	{"rule any icmp icmp-type 3 deny", "192.0.2.1 icmp fragment", false,
	 "a later fragment has no ICMP type", RL_REASON_UNMATCHED, ""},
	{"rule any udp payload 1 41 deny", "192.0.2.1 udp payload 0 4041", false,
	 "all matches hold", RL_REASON_DENIED, ""},
	{"rule any udp payload 1 4142 deny", "192.0.2.1 udp payload 0 4041", false,
	 "depends on payload", RL_REASON_UNMATCHED, "payload"},
	{"rule any udp payload 1 4142 deny", "192.0.2.1 udp payload 0 4040", false,
	 "its payload is another", RL_REASON_UNMATCHED, ""},
	{"rule any udp not payload 1 4142 deny", "192.0.2.1 udp payload 0 4040", false,
	 "depends on payload", RL_REASON_UNMATCHED, "payload"},
	{"rule any udp not payload 1 40/f0 deny", "192.0.2.1 udp payload 1 41", false,
	 "its payload is left out", RL_REASON_UNMATCHED, ""},
	{"rule any not payload 1 40 deny", "192.0.2.1 gre", false, "no payload is read of gre",
	 RL_REASON_UNMATCHED, ""},
	{"rule any filter \"udp\" deny", "192.0.2.1 udp", false, "depends on filter",
	 RL_REASON_UNMATCHED, "filter"},
	{"rule any filter \"udp\" deny", "192.0.2.1 filter \"udp\"", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{"rule any not filter \"udp\" deny", "192.0.2.1 filter \"udp\"", false, "the filter holds",
	 RL_REASON_UNMATCHED, ""},
	/* alarms */
	{ALARMS "rule any deny while on", "192.0.2.1", false, "no match to hold", RL_REASON_DENIED,
	 ""},
	{ALARMS "rule any deny while not on", "192.0.2.1", false, "alarm on is on",
	 RL_REASON_UNMATCHED, ""},
	{ALARMS "rule any deny while off", "192.0.2.1", false, "alarm off is off",
	 RL_REASON_UNMATCHED, ""},
	{ALARMS "rule any udp deny while not off", "192.0.2.1 udp", false, "all matches hold",
	 RL_REASON_DENIED, ""},
	{ALARMS "rule any udp deny while off", "192.0.2.1 tcp", false, "alarm off is off",
	 RL_REASON_UNMATCHED, ""},
	{ALARMS "rule 192.0.2.1 udp deny while x\nrule any allow", "192.0.2.1 udp", false,
	 "depends on whether alarm x is on; no match to hold", RL_REASON_ALLOWED, "alarm"},
	{ALARMS "rule 192.0.2.1 udp deny while not x\nrule any allow", "192.0.2.1", false,
	 "depends on whether alarm x is on, and on protocol; no match to hold", RL_REASON_ALLOWED,
	 "protocol, alarm"},
	{ALARMS "rule any udp deny while x", "192.0.2.1 tcp", false, "protocol tcp is not udp",
	 RL_REASON_UNMATCHED, ""},
	{ALARMS SETS "rule @c deny while x", "192.0.2.1", false,
	 "depends on whether 192.0.2.1 is in @c, and on alarm", RL_REASON_UNMATCHED,
	 "alarm, members"},
	{ALARMS "rule any deny while x", "192.0.2.1 while x", false, "no match to hold",
	 RL_REASON_DENIED, ""},
	{ALARMS "rule any deny while x", "192.0.2.1 while not x", false, "alarm x is off",
	 RL_REASON_UNMATCHED, ""},
	{ALARMS "rule any deny while not on", "192.0.2.1 while not on", false, "no match to hold",
	 RL_REASON_DENIED, ""},
	/* what a limit counts by */
	{"rule any limit 9/s", "192.0.2.1", false, "no match to hold", RL_REASON_WITHIN, ""},
	{"rule any limit 9/s per flow", "192.0.2.1 udp", false, "no match to hold",
	 RL_REASON_WITHIN, "sport, dport, dst"},
	{"rule any limit 9/s per flow", "192.0.2.1 icmp dst 10.0.0.1", false, "no match to hold",
	 RL_REASON_WITHIN, ""},
	{"rule any limit 9/s per dest", "192.0.2.1", false, "no match to hold", RL_REASON_WITHIN,
	 "dst"},
	{"rule any limit 9/s", "192.0.2.1", true, "no match to hold", RL_REASON_WITHIN, ""},
	{"rule any limit 9/s per source", "192.0.2.1", true, "no match to hold", RL_REASON_WITHIN,
	 "src"},
	{"rule any limit 9/s per rule", "192.0.2.1", true, "no match to hold", RL_REASON_WITHIN,
	 ""},
	/* the order */
	{"rule 192.0.2.1 limit 9/s\nrule 192.0.2.0/24 deny\nrule any allow", "192.0.2.1", false,
	 "no match to hold; not asked; not asked", RL_REASON_WITHIN, ""},
	{"rule 192.0.2.1 udp deny\nrule 192.0.2.0/24 deny", "192.0.2.1 tcp", false,
	 "protocol tcp is not udp; no match to hold", RL_REASON_DENIED, ""},
	{"rule 192.0.2.1 udp deny\nrule 192.0.2.0/24 allow", "192.0.2.1", false,
	 "depends on protocol; no match to hold", RL_REASON_ALLOWED, "protocol"},
	{"rule any udp deny\nrule any udp sport 5 allow", "192.0.2.1 udp sport 5", false,
	 "all matches hold; not asked", RL_REASON_ALLOWED, ""},
	{"rule any allow\nrule device limit 9/s", "192.0.2.1", false, "no match to hold; not asked",
	 RL_REASON_ALLOWED, ""},
	{"rule any limit 9/s\nrule device udp deny\nrule device limit 8/s", "192.0.2.1 udp", false,
	 "no match to hold; all matches hold; not asked", RL_REASON_DENIED, ""},
	{"rule any limit 9/s\nrule device udp allow", "192.0.2.1 udp", false,
	 "no match to hold; all matches hold", RL_REASON_WITHIN, ""},
	{"rule device udp allow\nrule device limit 8/s", "192.0.2.1 udp", false,
	 "all matches hold; not asked", RL_REASON_ALLOWED, ""},
	{"rule ::/0 deny", "192.0.2.1", false, "", RL_REASON_UNMATCHED, ""},
	{"rule ::/0 deny\nrule any allow", "2001:db8::1", false, "no match to hold; not asked",
	 RL_REASON_DENIED, ""},
};

/* Every limit admits. */
static int look_within(void *arg, const struct rule *rule, bool kept, struct limit_look *out)
{
	(void)arg;
	(void)kept;
	(void)rule;
	*out = (struct limit_look){.admits = true};
	return 0;
}

static const struct explain_source within = {.look = look_within};

/* No limit does, but of 5 packets, and but for those for whom it keeps a part. */
static int look_over(void *arg, const struct rule *rule, bool kept, struct limit_look *out)
{
	(void)arg;
	*out = (struct limit_look){.admits = rule->limit.amount == 5 ||
					     (rule->limit.keep_for && kept)};
	return 0;
}

/* All members of a are known, and none of c. */
static int known_len(const char *name, const uint8_t addr[16], void *arg)
{
	(void)arg;
	if (!strcmp(name, "c"))
		return SET_UNKNOWN;
	return addr[15] == 1 ? 120 : SET_NO_MEMBER;
}

static const struct set_members known = {.len = known_len};

/* It is not known whether x is on. */
static enum alarm_is known_state(const char *name, void *arg)
{
	(void)arg;
	if (!strcmp(name, "x"))
		return ALARM_IS_UNKNOWN;
	return strcmp(name, "on") ? ALARM_IS_OFF : ALARM_IS_ON;
}

static const struct alarm_states states = {.of = known_state};

static const char *probe_of(const char *words, const struct policy_context *ctx, struct probe *out)
{
	struct policy_error err = {0};
	struct rule rule;

	if (selector_parse(words, ctx, &rule, &err))
		fail_msg("%s: %s", words, err.text);
	return probe_make(&rule, ctx->by_dest, out);
}

static void said_print(char out[1024], const struct explanation *e)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < e->count; i++)
		used += (size_t)snprintf(out + used, 1024 - used, "%s%s", i ? "; " : "",
					 e->rules[i].reached ? e->rules[i].why : "not asked");
}

TEST(test_rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct policy_context ctx = {.mtu = 1500, .by_dest = rows[i].by_dest};
		CLEARED_POLICY struct policy policy = must_parse_lines(rows[i].policy, &ctx);
		char said[1024], depends[FIELDS_TEXT_MAX];
		struct explanation e;
		struct probe probe;

		assert_null(probe_of(rows[i].words, &ctx, &probe));
		probe.members = &known;
		probe.alarms = &states;
		assert_int_equal(packet_explain(&policy, &probe, &within, &e), 0);
		said_print(said, &e);
		fields_print(depends, e.depends);
		if (strcmp(said, rows[i].said) != 0 || strcmp(depends, rows[i].depends) != 0 ||
		    e.reason != rows[i].reason)
			fail_msg("%s, %s:\nis     %s, %d, \"%s\"\nwanted %s, %d, \"%s\"",
				 rows[i].policy, rows[i].words, said, e.reason, depends,
				 rows[i].said, rows[i].reason, rows[i].depends);
		free(e.rules);
	}
}

#define KEEP   "rule any limit 9/s keep 1 for "
#define KEPT   "any limit 9/second burst 5 keep 1 for "
#define UNLESS "rule any limit 9/s over drop unless established\n"

/* Over every limit that is not of 5 packets. */
static const struct {
	const char *policy, *words;
	enum rl_reason reason;
	const char *depends, *decided; /* "": by none */
} overs[] = {
	{"rule any limit 9/s", "192.0.2.1", RL_REASON_OVER, "", "any limit 9/second burst 5"},
	{"rule any limit 9/s over count", "192.0.2.1", RL_REASON_SHADOW, "", ""},
	{UNLESS, "192.0.2.1 tcp established", RL_REASON_ESTABLISHED, "", ""},
	{UNLESS, "192.0.2.1 tcp not established", RL_REASON_OVER, "",
	 "any limit 9/second burst 5 over drop unless established"},
	{UNLESS, "192.0.2.1 tcp", RL_REASON_OVER, "established",
	 "any limit 9/second burst 5 over drop unless established"},
	{UNLESS, "192.0.2.1 syn", RL_REASON_OVER, "",
	 "any limit 9/second burst 5 over drop unless established"},
	{UNLESS "rule any tcp limit 5/s", "192.0.2.1 tcp established", RL_REASON_ESTABLISHED, "",
	 ""},
	{UNLESS "rule any tcp limit 9/s", "192.0.2.1 tcp established", RL_REASON_OVER, "",
	 "any tcp limit 9/second burst 5"},
	{UNLESS "rule any tcp limit 9/s over count", "192.0.2.1 tcp established",
	 RL_REASON_ESTABLISHED, "", ""},
	{"rule any limit 9/s over count\nrule any tcp limit 9/s over drop unless established",
	 "192.0.2.1 tcp established", RL_REASON_ESTABLISHED, "", ""},
	{"rule any syn limit 9/s over challenge", "192.0.2.1 syn", RL_REASON_CHALLENGED, "",
	 "any tcp syn limit 9/second burst 5 over challenge"},
	{"rule any tcp limit 9/s over challenge", "192.0.2.1 tcp", RL_REASON_OVER, "",
	 "any tcp limit 9/second burst 5 over challenge"},
	{"rule any limit 9/s over challenge\nrule any syn limit 9/s", "192.0.2.1 syn",
	 RL_REASON_OVER, "", "any tcp syn limit 9/second burst 5"},
	{"rule any limit 9/s over challenge\nrule any syn limit 9/s over count", "192.0.2.1 syn",
	 RL_REASON_CHALLENGED, "", "any limit 9/second burst 5 over challenge"},
	{"rule any udp limit 9/s over truncate", "192.0.2.1 udp dport 53", RL_REASON_TRUNCATED, "",
	 "any udp limit 9/second burst 5 over truncate"},
	{"rule any udp limit 9/s over truncate", "192.0.2.1 udp fragment", RL_REASON_OVER, "",
	 "any udp limit 9/second burst 5 over truncate"},
	{KEEP "established", "192.0.2.1 tcp established", RL_REASON_WITHIN, "", ""},
	{KEEP "established", "192.0.2.1 tcp not established", RL_REASON_OVER, "",
	 KEPT "established"},
	{KEEP "established", "192.0.2.1 tcp", RL_REASON_OVER, "established", KEPT "established"},
	{KEEP "established\nrule device limit 5/s keep 1 for known", "192.0.2.1 tcp established",
	 RL_REASON_WITHIN, "", ""},
	{KEEP "known", "192.0.2.1 new-source", RL_REASON_OVER, "", KEPT "known"},
	{KEEP "known", "192.0.2.1", RL_REASON_OVER, "new-source", KEPT "known"},
	{"set a\n" KEEP "@a", "192.0.2.1", RL_REASON_WITHIN, "", ""},
	{"set a\n" KEEP "@a", "192.0.2.2", RL_REASON_OVER, "", KEPT "@a"},
	{"set a\n" KEEP "@a over count", "192.0.2.2", RL_REASON_SHADOW, "", ""},
	{"set c\n" KEEP "@c", "192.0.2.1", RL_REASON_OVER, "members", KEPT "@c"},
};

TEST(test_overs)
{
	static const struct explain_source source = {.look = look_over};

	for (size_t i = 0; i < ARRAY_SIZE(overs); i++) {
		CLEARED_POLICY struct policy policy = must_parse_lines(overs[i].policy, &on_xdp);
		char decided[RULE_TEXT_MAX] = "", depends[FIELDS_TEXT_MAX];
		struct explanation e;
		struct probe probe;

		assert_null(probe_of(overs[i].words, &on_xdp, &probe));
		probe.members = &known;
		assert_int_equal(packet_explain(&policy, &probe, &source, &e), 0);
		fields_print(depends, e.depends);
		if (e.decided)
			rule_format(decided, e.decided, &on_xdp);
		if (e.reason != overs[i].reason || strcmp(depends, overs[i].depends) != 0 ||
		    strcmp(decided, overs[i].decided) != 0)
			fail_msg("%s, %s:\nis     %d, \"%s\", %s\nwanted %d, \"%s\", %s",
				 overs[i].policy, overs[i].words, e.reason, depends, decided,
				 overs[i].reason, overs[i].depends, overs[i].decided);
		free(e.rules);
	}
}

/* No packet has these. */
static const char *const no_packets[] = {
	"any udp",
	"device",
	"192.0.2.0/24 udp",
	"192.0.2.1 deny",
	"192.0.2.1 limit 9/s",
	"192.0.2.1 sport 1-2",
	"192.0.2.1 dport 1-2",
	"192.0.2.1 dst 10.0.0.0/8",
	"2001:db8::1 proto 0",
	"2001:db8::1 proto 44",
	"@a udp",
	"192.0.2.1 src @a",
	"192.0.2.1 dst @a",
};

TEST(test_no_packets)
{
	for (size_t i = 0; i < ARRAY_SIZE(no_packets); i++) {
		struct probe probe;

		if (!probe_of(no_packets[i], &on_xdp, &probe))
			fail_msg("%s is a packet", no_packets[i]);
	}
}

/* A ban of the source comes before what denies, and not before what allows. */
TEST(test_source_banned)
{
	static const char *const texts[] = {"rule any deny", "rule any limit 9/s", "",
					    "rule any allow"};
	static const enum rl_reason reasons[] = {RL_REASON_BANNED, RL_REASON_BANNED,
						 RL_REASON_BANNED, RL_REASON_ALLOWED};
	struct explain_source banned = within;
	struct explanation e;
	struct probe probe;

	banned.source_banned = true;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEARED_POLICY struct policy policy = must_parse_lines(texts[i], &on_xdp);

		assert_null(probe_of("192.0.2.1", &on_xdp, &probe));
		assert_int_equal(packet_explain(&policy, &probe, &banned, &e), 0);
		assert_int_equal(e.reason, reasons[i]);
		free(e.rules);
	}
}
