// SPDX-License-Identifier: GPL-2.0-only
/* The sockets of a machine, as a capture shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "local_scripts.h"
#include "watch/local/local.h"

static const char *const certainties[] = {"known", "guessed", "unseen"};

static const uint8_t own[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t peer[16] = {[10] = 0xff, 0xff, 198, 51, 100, 7};

static uint8_t flags_of(const char *words)
{
	return (strchr(words, 'S') ? TCP_SYN : 0) | (strchr(words, 'A') ? TCP_ACK : 0) |
	       (strchr(words, 'F') ? TCP_FIN : 0) | (strchr(words, 'R') ? TCP_RST : 0);
}

static enum local_kind kind_of(const char *words)
{
	return words[0] == 'u'   ? LOCAL_UDP
	       : words[0] == 'q' ? LOCAL_ECHO_REQUEST
	       : words[0] == 'r' ? LOCAL_ECHO_REPLY
				 : LOCAL_TCP;
}

static void packet_turn(struct local_packet *p, bool arrives, const struct script *s)
{
	uint16_t own_port = s->own_port ? s->own_port : OWN_PORT;
	uint16_t peer_port = s->peer_port ? s->peer_port : PEER_PORT;

	if (p->kind == LOCAL_ECHO_REQUEST || p->kind == LOCAL_ECHO_REPLY)
		peer_port = own_port;
	memcpy(p->src, arrives ? peer : own, sizeof(p->src));
	memcpy(p->dst, arrives ? own : peer, sizeof(p->dst));
	p->sport = arrives ? peer_port : own_port;
	p->dport = arrives ? own_port : peer_port;
}

/* "FLAGS SEQ ACK [LENGTH]"; the rest of the line. */
static const char *packet_read(const char *line, struct local_packet *out)
{
	char words[8];
	int used = 0, more = 0;

	assert_int_equal(sscanf(line, "%7s %u %u%n", words, &out->seq, &out->ack, &used), 3);
	if (sscanf(line + used, "%u%n", &out->length, &more) == 1)
		used += more;
	out->kind = kind_of(words);
	out->flags = out->kind == LOCAL_TCP ? flags_of(words) : 0;
	out->has_addresses = true;
	return line + used;
}

static void arrives(struct local_stack *stack, const struct local_packet *p, const char *rest,
		    const char *line)
{
	struct local_proof proof = local_stack_proof(stack, p);
	char wanted[8], certainty[16], verdict[8] = "";

	assert_true(sscanf(rest, "%7s %15s %7s", wanted, certainty, verdict) >= 2);
	if (proof.established != !strcmp(wanted, "yes") ||
	    strcmp(certainties[proof.certainty], certainty) != 0)
		fail_msg("%s: got %s %s", line, proof.established ? "yes" : "no",
			 certainties[proof.certainty]);
	assert_int_equal(local_stack_arrived(stack, p, strcmp(verdict, "drop") != 0), 0);
}

ROWS(script_runs, scripts, script)
{
	struct local_stack *stack = local_stack_new(100);
	char *text = strdup(script->text), *rest = text, *line;
	uint64_t now_ns = 1000 * NS_PER_SECOND;

	assert_non_null(stack);
	while ((line = strsep(&rest, "\n")) && *line) {
		struct local_packet p = {0};
		const char *proof;

		if (*line == '@') {
			now_ns = (1000 + strtoull(line + 1, NULL, 10)) * NS_PER_SECOND;
			continue;
		}
		proof = packet_read(line + 1, &p);
		p.time_ns = now_ns;
		packet_turn(&p, *line == '<', script);
		if (*line == '<')
			arrives(stack, &p, proof, line);
		else
			assert_int_equal(local_stack_sent(stack, &p), 0);
	}
	free(text);
	local_stack_free(stack);
}

/* ---- floods */

#define FLOOD 1000

static struct local_packet packet_of(enum local_kind kind, uint8_t flags, uint32_t who)
{
	struct local_packet p = {.kind = kind,
				 .flags = flags,
				 .has_addresses = true,
				 .sport = 1000,
				 .dport = 80,
				 .time_ns = NS_PER_SECOND};

	memcpy(p.dst, own, sizeof(own));
	memcpy(p.src, peer, sizeof(peer));
	memcpy(p.src + 12, &who, sizeof(who));
	return p;
}

static struct local_packet reverse(struct local_packet p, uint8_t flags)
{
	struct local_packet back = p;

	memcpy(back.src, p.dst, sizeof(back.src));
	memcpy(back.dst, p.src, sizeof(back.dst));
	back.sport = p.dport;
	back.dport = p.sport;
	back.flags = flags;
	back.ack = p.seq + 1;
	return back;
}

static void connection_open(struct local_stack *stack, uint32_t who)
{
	struct local_packet syn = packet_of(LOCAL_TCP, TCP_SYN, who);
	struct local_packet answer = reverse(syn, TCP_SYN | TCP_ACK);
	struct local_packet ack = packet_of(LOCAL_TCP, TCP_ACK, who);

	ack.seq = ack.ack = 1;
	local_stack_arrived(stack, &syn, true);
	local_stack_sent(stack, &answer);
	local_stack_arrived(stack, &ack, true);
}

static bool is_open(struct local_stack *stack, uint32_t who)
{
	struct local_packet ack = packet_of(LOCAL_TCP, TCP_ACK, who);

	return local_stack_proof(stack, &ack).established;
}

/* Answered SYNs, ACKs, RSTs and UDP of strangers push out no connection, and make none. */
TEST(flood_pushes_out_nothing)
{
	struct local_stack *stack = local_stack_new(FLOOD / 10);

	connection_open(stack, 1);
	for (uint32_t who = 2; who < FLOOD; who++) {
		struct local_packet syn = packet_of(LOCAL_TCP, TCP_SYN, who);
		struct local_packet answer = reverse(syn, TCP_SYN | TCP_ACK);
		struct local_packet ack = packet_of(LOCAL_TCP, TCP_ACK, who);
		struct local_packet rst = packet_of(LOCAL_TCP, TCP_RST, who);
		struct local_packet udp = packet_of(LOCAL_UDP, 0, who);
		struct local_packet answered = reverse(udp, 0);

		local_stack_arrived(stack, &syn, true);
		local_stack_sent(stack, &answer);
		ack.ack = 77;
		local_stack_arrived(stack, &ack, true);
		local_stack_arrived(stack, &rst, true);
		local_stack_arrived(stack, &udp, true);
		local_stack_sent(stack, &answered);
		assert_false(is_open(stack, who));
		assert_false(local_stack_proof(stack, &udp).established);
	}
	assert_true(is_open(stack, 1));
	assert_int_equal(local_stack_forgotten(stack), 0);
	local_stack_free(stack);
}

/* Where connections are too many, that without packets for longest goes. */
TEST(oldest_is_forgotten)
{
	struct local_stack *stack = local_stack_new(10);
	struct local_packet again = packet_of(LOCAL_TCP, TCP_ACK, 1);

	for (uint32_t who = 1; who <= 10; who++)
		connection_open(stack, who);
	again.time_ns = 3 * NS_PER_SECOND;
	local_stack_arrived(stack, &again, true);
	connection_open(stack, 11);
	assert_int_equal(local_stack_forgotten(stack), 1);
	assert_true(is_open(stack, 1));
	assert_false(is_open(stack, 2));
	assert_true(is_open(stack, 3));
	assert_true(is_open(stack, 11));
	local_stack_clear(stack);
	assert_false(is_open(stack, 1));
	assert_int_equal(local_stack_forgotten(stack), 1);
	local_stack_free(stack);
}

/* ---- which way */

static const struct way_row {
	const char *name;
	const char *src, *dst;
	enum local_way way;
	bool sent; /* by its link header */
} ways[] = {
	{"to the machine", "198.51.100.7", "192.0.2.1", LOCAL_ARRIVES, false},
	{"from it", "192.0.2.1", "198.51.100.7", LOCAL_SENT, false},
	{"from it to everybody", "192.0.2.1", "224.0.0.251", LOCAL_SENT, false},
	{"from its network", "2001:db8::9", "2001:db8:1::1", LOCAL_SENT, false},
	{"to its network", "2001:db8:1::1", "2001:db8::9", LOCAL_ARRIVES, false},
	{"in its own name", "192.0.2.1", "192.0.2.1", LOCAL_ARRIVES, false},
	{"to itself, as its link header says", "192.0.2.1", "192.0.2.1", LOCAL_SENT, true},
	{"between others", "198.51.100.7", "192.0.2.2", LOCAL_ELSEWHERE, false},
	{"multicast", "198.51.100.7", "239.1.2.3", LOCAL_ARRIVES, false},
	{"broadcast", "0.0.0.0", "255.255.255.255", LOCAL_ARRIVES, false},
	{"IPv6 multicast", "2001:db8:1::1", "ff02::fb", LOCAL_ARRIVES, false},
	{"a network's last address", "198.51.100.7", "192.0.3.255", LOCAL_ELSEWHERE, false},
	{"no addresses", NULL, NULL, LOCAL_ARRIVES, false},
	{"no addresses, sent", NULL, NULL, LOCAL_SENT, true},
};

static void address_read(const char *word, uint8_t addr[16])
{
	uint8_t len;

	assert_int_equal(prefix_parse(word, addr, &len, NULL), 0);
}

ROWS(way_is, ways, row)
{
	struct local_addresses local = {.count = 2, .list = {{.len = 128}, {.len = 48}}};
	struct captured captured = {.sent = row->sent};
	struct local_packet p = {.has_addresses = row->src};

	address_read("192.0.2.1", local.list[0].addr);
	address_read("2001:db8::", local.list[1].addr);
	if (row->src) {
		address_read(row->src, p.src);
		address_read(row->dst, p.dst);
	}
	assert_int_equal(local_way_of(&local, &captured, &p), row->way);
}
