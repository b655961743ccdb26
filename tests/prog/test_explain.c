// SPDX-License-Identifier: GPL-2.0-only
/* `rlctl explain` says of a packet what becomes of it: under random policies each random
 * packet is explained first, in the same instant, and then run. SEED chooses the first policy, RUNS
 * how many there are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/sets/sets.h"
#include "kernel/state/source.h"
#include "policy/packets/explain.h"
#include "harness.h"

#define RUNS    90
#define PACKETS 60

static uint64_t seed;

#define PICK(words) ((words)[random_under(&seed, ARRAY_SIZE(words))])

static struct place {
	const char *name;
	struct harness_options options;
	struct harness *h;
} places[] = {
	{.name = "xdp, hot", .options = {.table = RL_TABLE_HOT}},
	{.name = "xdp, lru", .options = {.table = RL_TABLE_LRU}},
	{.name = "egress by dest", .options = {.hook = RL_HOOK_EGRESS, .by_dest = true}},
	{.name = "ingress, lru", .options = {.table = RL_TABLE_LRU, .hook = RL_HOOK_INGRESS}},
	{.name = "xdp, hot, proof", .options = {.program_uses = RL_USE_PROGRAM}},
	{.name = "ingress, lru, proof",
	 .options = {.table = RL_TABLE_LRU,
		     .hook = RL_HOOK_INGRESS,
		     .program_uses = RL_USE_PROGRAM}},
};

/* ---- policies */

static const char *const prefixes[] = {"any",      "any",           "device",     "10.0.0.0/8",
				       "10.0.0.1", "2001:db8::/32", "2001:db8::1"};
static const char *const matches[] = {"",
				      "",
				      "",
				      "udp",
				      "tcp",
				      "tcp syn",
				      "icmp",
				      "dport 53",
				      "udp sport 7",
				      "sctp",
				      "fragment",
				      "new-source",
				      "dst 10.0.0.0/30",
				      "gre",
				      "dport 0-99",
				      "proto 50",
				      "tcp fragment",
				      "icmp",
				      "icmp6"};
static const char *const more_matches[] = {"udp dport 53 new-source",
					   "not udp",
					   "not dport 53",
					   "dport 7,2000",
					   "not sport 7,53",
					   "tcp not syn",
					   "not fragment",
					   "not dst 10.0.0.0/30",
					   "not src 10.0.0.1",
					   "not new-source",
					   "udp not dport 53 not fragment",
					   "not proto 50",
					   "not icmp not fragment"};
static const char *const proofs[] = {"", "", "", "", "", "", "established", "not established"};
static const char *const limits[] = {
	"3/second burst 2",           "leaky-bucket 4/second queue 3",
	"fixed-window 3/second",      "sliding-window 4/second slots 4",
	"sliding-log 3/second",       "warm-up 5/second ramp 2s",
	"2kbyte/second burst 2kbyte", "fixed-window 4kbyte/second",
	"50/second burst 20",         "20k/second burst 2000"};
static const char *const keys[] = {"",
				   "",
				   "per source",
				   "per dest",
				   "per rule",
				   "per flow",
				   "per source/24,56",
				   "per source+dport",
				   "per source+dest"};
static const char *const part_keys[] = {"per dest+dport", "per sport", "per proto+dport",
					"per source/24,56+dest/30,127", "per dest+sport+proto"};
static const char *const keeps[] = {"keep 3 for known", "keep 3 for @gold"};
static const char *const overs[] = {"", "", "", "over count", "over ban 2s", "over ban 1s source"};

static void rule_draw(char *out, size_t size, bool proves)
{
	const char *prefix = PICK(prefixes);
	const char *match = proves && random_under(&seed, 2) ? PICK(more_matches) : PICK(matches);
	const char *proof = proves ? PICK(proofs) : "";
	bool unless = proves && random_under(&seed, 4);
	bool by_parts = proves && !random_under(&seed, 3);

	if (proves && !random_under(&seed, 8)) {
		snprintf(out, size, "rule %s %s %s limit 3/second burst 5 %s %s\n", prefix, match,
			 proof, PICK(keeps), PICK(overs));
		return;
	}
	switch (random_under(&seed, 5)) {
	case 0:
		snprintf(out, size, "rule %s %s %s allow\n", prefix, match, proof);
		break;
	case 1:
		snprintf(out, size, "rule %s %s %s deny\n", prefix, match, proof);
		break;
	default:
		snprintf(out, size, "rule %s %s %s limit %s %s %s\n", prefix, match, proof,
			 PICK(limits), by_parts ? PICK(part_keys) : PICK(keys),
			 unless ? "over drop unless established" : PICK(overs));
	}
}

static bool proves(const struct harness *h)
{
	return h->instance.info.program_uses & RL_USE_PROOF;
}

/* Rules that make no sense are drawn again. */
static void policy_draw(const struct harness *h, char *out, size_t size)
{
	uint64_t rules = 1 + random_under(&seed, 6);
	struct policy_context ctx;
	struct policy_error err;
	struct rule rule;
	bool found;

	instance_context(&h->instance, &ctx);
	snprintf(out, size, "%s", proves(h) ? "set gold\n" : "");
	while (rules) {
		size_t used = strlen(out);

		rule_draw(out + used, size - used, proves(h));
		if (statement_parse(out + used, &ctx, &rule, &found, &err))
			out[used] = '\0';
		else
			rules--;
	}
}

/* ---- packets */

struct drawn {
	char frame[160], words[192];
	bool established;
};

static const char *const addresses4[] = {"10.0.0.1", "10.0.0.2", "10.9.9.9", "192.0.2.1"};
static const char *const addresses6[] = {"2001:db8::1", "2001:db8::2", "2001:db8:5::1", "fd00::1"};
static const char *const protocols[] = {"udp",  "udp",  "tcp", "tcp syn",
					"sctp", "icmp", "gre", "esp"};
static const char *const fragments[] = {"", "", "", "", " frag=0+", " frag=64"};
static const uint16_t ports[] = {7, 53, 2000};

/* Packets that are never established need not say so. Pings of this machine are not in these
 * frames. */
static const char *proof_draw(struct drawn *out, const char *proto, bool later)
{
	bool may_be = !later && (!strcmp(proto, "udp") || !strcmp(proto, "tcp"));

	out->established = may_be && random_under(&seed, 4);
	if (out->established)
		return " established";
	return may_be || !strcmp(proto, "icmp") || random_under(&seed, 2) ? " not established" : "";
}

static void packet_draw(struct drawn *out, bool by_dest)
{
	bool ipv4 = random_under(&seed, 2);
	const char *src = ipv4 ? PICK(addresses4) : PICK(addresses6);
	const char *dst = ipv4 ? PICK(addresses4) : PICK(addresses6);
	const char *fragment = PICK(fragments), *proto = PICK(protocols);
	bool syn = strstr(proto, "syn"), has_ports = !!strchr("uts", proto[0]);
	bool later = !strcmp(fragment, " frag=64");
	char words_ports[48] = "", frame_ports[24] = "", name[8];
	uint16_t sport = PICK(ports), dport = PICK(ports);

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(proto, " "), proto);
	if (!strcmp(name, "icmp") && !ipv4)
		strcpy(name, "icmp6");
	if (has_ports)
		snprintf(frame_ports, sizeof(frame_ports), "=%u>%u", sport, dport);
	if (has_ports && !later)
		snprintf(words_ports, sizeof(words_ports), " sport %u dport %u", sport, dport);
	snprintf(out->frame, sizeof(out->frame), "%s=%s>%s%s %s%s data=%u", ipv4 ? "ip4" : "ip6",
		 src, dst, fragment, syn ? "syn" : name, frame_ports,
		 (unsigned int)(80 + random_under(&seed, 1000)));
	snprintf(out->words, sizeof(out->words), "%s %s%s%s%s %s %s%s", by_dest ? dst : src, name,
		 words_ports, syn && !later ? " syn" : "", *fragment ? " fragment" : "",
		 by_dest ? "src" : "dst", by_dest ? src : dst, proof_draw(out, proto, later));
}

/* ---- what is said of one */

struct asked {
	const struct harness *h;
	const struct policy *policy;
	const struct rl_sample *packet;
};

static int look(void *arg, const struct rule *rule, bool kept, struct limit_look *out)
{
	const struct asked *asked = arg;

	return instance_limit_look(&asked->h->instance, asked->policy, rule, asked->packet, kept,
				   out);
}

static void probe_parse(const struct harness *h, const char *words, struct probe *out)
{
	struct policy_error err = {0};
	struct policy_context ctx;
	const char *wrong;
	struct rule rule;
	bool known;

	instance_context(&h->instance, &ctx);
	if (selector_parse(words, &ctx, &rule, &err))
		fail_msg("%s: %s", words, err.text);
	wrong = probe_make(&rule, ctx.by_dest, out);
	if (wrong)
		fail_msg("%s: %s", words, wrong);
	assert_int_equal(instance_source_is_known(&h->instance, out->src, &known), 0);
	probe_know_source(out, known);
}

static enum rl_reason explained_reason(struct harness *h, const char *words, uint32_t bytes)
{
	struct rl_sample packet = {.bytes = bytes};
	CLEARED_POLICY struct policy policy = {0};
	struct asked asked = {h, &policy, &packet};
	struct explain_source source = {.look = look, .arg = &asked};
	struct explanation e;
	struct set_live sets;
	struct probe probe;

	probe_parse(h, words, &probe);
	packet.sport = probe.sport;
	packet.dport = probe.dport;
	packet.proto = probe.proto;
	memcpy(packet.src, probe.src, sizeof(packet.src));
	memcpy(packet.dst, probe.dst, sizeof(packet.dst));
	set_live_open(&h->instance, &sets);
	probe.members = &sets.members;
	source.source_banned = instance_source_ban(&h->instance, probe.src);
	assert_int_equal(
		instance_address_read(&h->instance, probe.by_dest ? probe.dst : probe.src, &policy),
		0);
	assert_int_equal(packet_explain(&policy, &probe, &source, &e), 0);
	assert_int_equal(e.depends, 0);
	set_live_close(&sets);
	free(e.rules);
	return e.reason;
}

/* ---- a run */

static uint64_t reasons[RL_REASON_COUNT];

static void packet_check(struct place *place, const char *policy, uint64_t run)
{
	static struct frame frame;
	struct drawn drawn = {0};
	enum rl_reason said, is;

	packet_draw(&drawn, place->options.by_dest);
	frame_build(&frame, drawn.frame);
	said = explained_reason(place->h, drawn.words, frame.size);
	harness_sockets(place->h, drawn.established ? RL_SIMULATED_ESTABLISHED : RL_SIMULATED_NONE);
	is = harness_run(place->h, &frame);
	reasons[is]++;
	if (said != is)
		fail_msg("%s, SEED=%llu RUNS=1: \"%s\" of %u bytes, \"%s\", is said to be %s, and "
			 "is %s, under\n%s",
			 place->name, (unsigned long long)run, drawn.words, frame.size, drawn.frame,
			 reason_name(said), reason_name(is), policy);
	if (random_under(&seed, 3) == 0)
		harness_clock(place->h, place->h->now_ns + random_under(&seed, 400 * NS_PER_MS));
}

static void policy_check(struct place *place, uint64_t run)
{
	char policy[2048];

	policy_draw(place->h, policy, sizeof(policy));
	harness_clock(place->h, place->h->now_ns + NS_PER_HOUR);
	harness_renew(place->h, policy);
	if (proves(place->h))
		harness_set_add(place->h, "gold", "10.0.0.1,2001:db8::/48");
	for (int i = 0; i < PACKETS; i++)
		packet_check(place, policy, run);
}

static uint64_t environment_number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : usual;
}

TEST(test_random)
{
	uint64_t from = environment_number("SEED", 1), runs = environment_number("RUNS", RUNS);
	static const enum rl_reason wanted[] = {
		RL_REASON_ALLOWED, RL_REASON_WITHIN, RL_REASON_UNMATCHED, RL_REASON_SHADOW,
		RL_REASON_DENIED,  RL_REASON_OVER,   RL_REASON_BANNED};

	printf("# SEED=%llu RUNS=%llu\n", (unsigned long long)from, (unsigned long long)runs);
	for (uint64_t run = from; run < from + runs; run++) {
		seed = run * 0x9e3779b97f4a7c15ull;
		policy_check(&places[run % ARRAY_SIZE(places)], run);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted) && runs >= RUNS; i++)
		if (reasons[wanted[i]] < runs / 10)
			fail_msg("%s was tried %llu times only", reason_name(wanted[i]),
				 (unsigned long long)reasons[wanted[i]]);
	if (runs >= RUNS && reasons[RL_REASON_ESTABLISHED] < runs / 30) /* two places alone */
		fail_msg("few packets were spared");
}

static int set_up(void **state)
{
	(void)state;
	cpu_stay(0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		places[i].h = harness_open(&places[i].options);
		if (!places[i].h)
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		harness_close(places[i].h);
	return 0;
}

FIXTURE(set_up, tear_down)
