// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): `established` for UDP and echo replies, by who sent first. The program and its
 * companion at egress see the packets of both sides; each row is a scenario (scenario.h).
 */
#include "base/units.h"
#include "scenario.h"

/* A packet that is not established passes as within, or is denied; one that is, is unmatched. */
#define PASSING "= any not established limit 1m/s burst 1m | ! bound | "
#define DENYING "= any not established deny | ! bound | "

/* This machine is 198.51.100.1, or 2001:db8:1::1. Its port 4000 asks port 53 of a peer. */
#define ASKS    "> ip4=198.51.100.1>192.0.2.1 udp=4000>53 | "
#define ANSWER  "ip4=192.0.2.1>198.51.100.1 udp=53>4000 : "
#define ASKS6   "> ip6=2001:db8:1::1>2001:db8::1 udp=4000>53 | "
#define ANSWER6 "ip6=2001:db8::1>2001:db8:1::1 udp=53>4000 : "

/* And its port 443 serves. */
#define REQUEST "ip4=192.0.2.1>198.51.100.1 udp=5000>443 : "
#define REPLIES "> ip4=198.51.100.1>192.0.2.1 udp=443>5000 | "

#define PINGS   "> ip4=198.51.100.1>192.0.2.1 ping=77 data=56 | "
#define PONG    "ip4=192.0.2.1>198.51.100.1 pong=77 data=56 : "
#define PINGS6  "> ip6=2001:db8:1::1>2001:db8::1 ping=77 data=56 | "
#define PONG6   "ip6=2001:db8::1>2001:db8:1::1 pong=77 data=56 : "

static const struct scenario rows[] = {
	/* ---- who sent first */

	{"an answer", DENYING ASKS ANSWER "unmatched | " ANSWER "unmatched"},
	{"an answer, IPv6", DENYING ASKS6 ANSWER6 "unmatched"},
	{"reflection", DENYING ANSWER "denied | " ANSWER6 "denied"},
	{"another peer, another port, another's answer",
	 DENYING ASKS ASKS6 "ip4=192.0.2.2>198.51.100.1 udp=53>4000 : denied | "
			    "ip4=192.0.2.1>198.51.100.1 udp=54>4000 : denied | "
			    "ip4=192.0.2.1>198.51.100.1 udp=53>4001 : denied | "
			    "ip4=192.0.2.1>198.51.100.1 udp=4000>53 : denied | "
			    "ip6=2001:db8::2>2001:db8:1::1 udp=53>4000 : denied | "
			    "ip6=2001:db8:0:1::1>2001:db8:1::1 udp=53>4000 : denied | "
			    "ip4=192.0.2.1>198.51.100.1 tcp=53>4000 : denied"},
	{"answers to another address of this machine",
	 DENYING ASKS ASKS6 "ip4=192.0.2.1>198.51.100.2 udp=53>4000 : denied | "
			    "ip6=2001:db8::1>2001:db8:1::2 udp=53>4000 : denied"},
	{"what is forwarded is no question of this machine",
	 DENYING ">" ASKS ANSWER "denied | >" PINGS PONG "denied | >" ASKS6 ANSWER6
		 "denied | >" PINGS6 PONG6 "denied"},
	{"a client is not established by being answered",
	 PASSING REQUEST "within | " REPLIES REQUEST "within | " REPLIES REQUEST "within"},
	{"nor one of IPv6", PASSING "ip6 udp=5000>443 : within | "
				    "> ip6=2001:db8:1::1>2001:db8::1 udp=443>5000 | "
				    "ip6 udp=5000>443 : within"},
	{"what is dropped leaves no mark", DENYING ANSWER "denied | " ASKS ANSWER "unmatched"},
	{"what is malformed leaves none",
	 PASSING "ip4=192.0.2.1>198.51.100.1 udp=53>4000 udplen=9000 : malformed | " ASKS ANSWER
		 "unmatched"},
	{"what is allowed leaves one",
	 "= any udp sport 53 allow; any not established deny | "
	 "! bound | " ANSWER "allowed | " ASKS "= any not established deny | " ANSWER "denied"},
	{"an answer that passes leaves none",
	 PASSING ASKS ANSWER "unmatched | + 50s | " ASKS ANSWER "unmatched"},
	{"a client beside questions",
	 PASSING REQUEST "within | " ASKS REPLIES ANSWER "unmatched | " REQUEST "within"},

	/* ---- for how long */

	{"a minute after the question",
	 DENYING ASKS "+ 60s | " ANSWER "unmatched | + 400ms | " ANSWER "denied"},
	{"answers do not prolong it",
	 DENYING ASKS "+ 40s | " ANSWER "unmatched | + 40s | " ANSWER "denied"},
	{"questions do", DENYING ASKS "+ 40s | " ASKS "+ 40s | " ANSWER "unmatched"},
	{"a minute after the client's last packet, this machine may begin",
	 PASSING REQUEST "within | + 61s | " REPLIES REQUEST "unmatched"},
	{"not earlier", PASSING REQUEST "within | + 59s | " REPLIES REQUEST "within"},
	{"packets of either side prolong that they began",
	 PASSING REQUEST "within | + 50s | " REPLIES "+ 50s | " REPLIES "+ 50s | " REQUEST
			 "within | + 50s | " REPLIES REQUEST "within"},
	{"a quarter second is not written, and not lost",
	 DENYING ASKS "+ 200ms | " ASKS "+ 60s | " ANSWER "unmatched"},

	/* ---- sockets */

	{"a socket that is closed meanwhile",
	 DENYING ASKS ANSWER "unmatched | ! not established | " ANSWER "denied"},
	{"a connected socket needs no question", DENYING "! established | " ANSWER "unmatched"},
	{"where there is no socket, no mark is left",
	 PASSING "! not established | " ANSWER "within | ! bound | " ASKS ANSWER "unmatched"},
	{"nor by packets for a connected one",
	 PASSING "! established | " ANSWER "unmatched | ! bound | " ASKS ANSWER "unmatched"},

	/* ---- headers */

	{"tags", DENYING "> 8021q ip4=198.51.100.1>192.0.2.1 udp=4000>53 | "
			 "8021q=9 ip4=192.0.2.1>198.51.100.1 udp=53>4000 : unmatched | "
			 "> 8021ad 8021q ip6=2001:db8:1::1>2001:db8::1 udp=4000>53 | "
			 "8021ad 8021q ip6=2001:db8::1>2001:db8:1::1 udp=53>4000 : unmatched"},
	{"extension headers and options",
	 DENYING "> ip6=2001:db8:1::1>2001:db8::1 hop dst=2 udp=4000>53 | "
		 "ip6=2001:db8::1>2001:db8:1::1 routing hop=3 udp=53>4000 : unmatched | "
		 "> ip4=198.51.100.1>192.0.2.1 options=40 udp=4000>53 | "
		 "ip4=192.0.2.1>198.51.100.1 options=4 udp=53>4000 : unmatched"},
	{"a first fragment asks, and answers",
	 DENYING "> ip4=198.51.100.1>192.0.2.1 frag=0+ udp=4000>53 data=800 | "
		 "ip4=192.0.2.1>198.51.100.1 frag=0+ udp=53>4000 data=800 : unmatched | "
		 "> ip6=2001:db8:1::1>2001:db8::1 frag=0+ udp=4000>53 data=800 | "
		 "ip6=2001:db8::1>2001:db8:1::1 frag=0+ udp=53>4000 data=800 : unmatched"},
	{"a later one does neither", DENYING
	 "> ip4=198.51.100.1>192.0.2.1 frag=800 udp=4000>53 data=800 | " ANSWER "denied | " ASKS
	 "ip4=192.0.2.1>198.51.100.1 frag=800 udp=53>4000 data=800 : denied | " ASKS6
	 "ip6=2001:db8::1>2001:db8:1::1 frag=800 udp=53>4000 data=800 : denied"},
	{"what this machine sends otherwise is no question",
	 DENYING "> ip4=198.51.100.1>192.0.2.1 tcp=4000>53 | "
		 "> ip4=198.51.100.1>192.0.2.1 sctp=4000>53 | "
		 "> ip4=198.51.100.1>192.0.2.1 udp=4000>53 udplen=7 | "
		 "> ip4=198.51.100.1>192.0.2.1 icmp | > type=0x806 data=46 | " ANSWER "denied"},

	/* ---- ICMP */

	{"ping", DENYING PONG "denied | " PINGS PONG "unmatched | " PONG "unmatched | + 61s | " PONG
			      "denied"},
	{"ping, IPv6",
	 DENYING PONG6 "denied | " PINGS6 PONG6 "unmatched | + 61s | " PONG6 "denied"},
	{"ping, behind tags and extension headers",
	 DENYING "> 8021q ip6=2001:db8:1::1>2001:db8::1 hop ping=77 | "
		 "8021q ip6=2001:db8::1>2001:db8:1::1 dst=1 pong=77 data=9 : unmatched"},
	{"ping, in fragments",
	 DENYING "> ip4=198.51.100.1>192.0.2.1 frag=0+ ping=77 data=800 | "
		 "ip4=192.0.2.1>198.51.100.1 frag=0+ pong=77 data=800 : unmatched | "
		 "ip4=192.0.2.1>198.51.100.1 frag=808 pong=77 data=8 : denied"},
	{"another's reply",
	 DENYING PINGS PINGS6 "ip4=192.0.2.1>198.51.100.1 pong=78 : denied | "
			      "ip4=192.0.2.2>198.51.100.1 pong=77 : denied | "
			      "ip6=2001:db8::1>2001:db8:1::1 pong=78 : denied | "
			      "ip4=192.0.2.1>198.51.100.1 pong=77 code=1 : denied | "
			      "ip4=192.0.2.1>198.51.100.1 udp=0>77 : denied"},
	{"being pinged proves nothing", PASSING
	 "ip4=192.0.2.1>198.51.100.1 ping=77 : within | "
	 "> ip4=198.51.100.1>192.0.2.1 pong=77 | "
	 "ip4=192.0.2.1>198.51.100.1 ping=77 : within | " PONG "within | " PINGS PONG "unmatched"},
	{"ICMP of the other family",
	 DENYING PINGS PINGS6 "ip4=192.0.2.1>198.51.100.1 icmp6 : denied | "
			      "ip6=2001:db8::1>2001:db8:1::1 icmp : denied"},
	{"errors", DENYING ASKS PINGS "ip4=192.0.2.1>198.51.100.1 proto=1 : denied"},

	/* ---- what a policy makes of it */

	{"a resolver under a limit", "= any limit 1/h burst 1 over drop unless established | "
				     "! bound | " REQUEST "within | " REQUEST "over | " ASKS ANSWER
				     "established | " ANSWER "established | " REQUEST "over"},
	{"one rule against reflection", "= any udp sport 53 not established deny | "
					"! bound | " ANSWER "denied | " ASKS ANSWER
					"unmatched | " REQUEST "unmatched | ip4 tcp : unmatched"},
	{"a policy that asks of TCP alone keeps nothing",
	 "= any tcp established limit 1m/s burst 1m | ! bound | " ANSWER "unmatched"},
};

/* ---- neither pushes out the other */

#define PEERS (16 * RL_ASKED_SETS) /* sixteen in each set, on average, which has four ways */

static struct harness *h;

static void begin(void)
{
	h = harness_must_open(
		&(struct harness_options){.program_uses = RL_USE_PROGRAM, .seed = {3, 5}});
	harness_policy(h, "any not established limit 10m/s burst 10m");
	harness_sockets(h, RL_SIMULATED_BOUND);
}

static void crowd_comes(uint16_t port)
{
	struct frame frame;
	uint8_t addr[16];
	char text[64];

	snprintf(text, sizeof(text), "ip4=192.0.2.1>198.51.100.1 udp=5000>%u", port);
	frame_build(&frame, text);
	for (uint32_t i = 0; i < PEERS; i++) {
		address_ip4(addr, i);
		frame_source(&frame, addr);
		assert_int_equal(harness_run(h, &frame), RL_REASON_WITHIN);
	}
}

static void crowd_is_asked(void)
{
	struct frame frame;
	uint8_t addr[16];

	frame_build(&frame, "ip4=198.51.100.1>192.0.2.1 udp=4000>53");
	for (uint32_t i = 0; i < PEERS; i++) {
		address_ip4(addr, i);
		frame_dest(&frame, addr);
		harness_send(h, &frame, false);
	}
}

TEST(marks_test)
{
	begin();
	scenario_run(h, ASKS PINGS "! bound");
	crowd_comes(443);
	scenario_run(h, ANSWER "unmatched | " PONG "unmatched");
	harness_close(h);
}

/* By pushing out a client's mark, at whichever port, none becomes established by an answer; a port
 * that does not serve may still ask, and one that does where its question is noted already. */
TEST(pushed_out_test)
{
	begin();
	scenario_run(h, REQUEST "within");
	crowd_comes(9999);
	scenario_run(h, REPLIES REQUEST "within | " ASKS ANSWER "unmatched");
	crowd_comes(9999);
	scenario_run(h, "+ 40s | " ASKS "+ 40s | " ANSWER "unmatched");
	harness_close(h);
}

TEST(questions_test)
{
	begin();
	scenario_run(h, REQUEST "within");
	crowd_is_asked();
	scenario_run(h, REPLIES REQUEST "within");
	harness_close(h);
}

/* At egress only sockets that are connected count. */
TEST(egress_test)
{
	h = harness_must_open(
		&(struct harness_options){.program_uses = RL_USE_PROGRAM, .hook = RL_HOOK_EGRESS});
	assert_null(h->companion);
	scenario_run(h, DENYING "ip4 udp : denied | ip4 pong=77 : denied | "
				"! established | ip4 udp : unmatched");
	harness_close(h);
}

SCENARIOS(rows, .program_uses = RL_USE_PROGRAM, .seed = {3, 5})
SCENARIOS(rows, .hook = RL_HOOK_INGRESS, .program_uses = RL_USE_PROGRAM, .seed = {3, 5})
