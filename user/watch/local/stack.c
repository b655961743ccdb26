// SPDX-License-Identifier: GPL-2.0-only
/* Two tables of conversations: OURS and THEIRS (local.h). uthash keeps them in the order in
 * which they were put in; one with packets is put in again, at most once a second.
 */
#include "watch/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"

#define FRESH_NS NS_PER_SECOND
/* How long a port from which the machine has sent is taken as bound. */
#define BOUND_NS NS_PER_SECOND

enum side { OURS, THEIRS, SIDES };

/* Without padding, as it is hashed whole. A port of the machine that has sent UDP, whoever to, has
 * an entry without a peer. */
struct key {
	uint8_t own[16], peer[16];
	uint16_t own_port, peer_port;
	uint32_t kind; /* LOCAL_TCP, LOCAL_UDP or LOCAL_ECHO_REQUEST */
};

struct conversation {
	struct key key;
	uint64_t latest_ns; /* when it was put into the table */
	uint8_t side;       /* enum side */
	union {
		struct local_tcp tcp;
		struct local_udp udp;
	};
	UT_hash_handle hh;
};

struct local_stack {
	struct conversation *sides[SIDES];
	size_t max;
	uint64_t forgotten;
};

struct local_stack *local_stack_new(size_t max)
{
	struct local_stack *stack = calloc(1, sizeof(*stack));

	if (stack)
		stack->max = max;
	return stack;
}

static void conversation_remove(struct local_stack *stack, struct conversation *c)
{
	hash_remove(stack->sides[c->side], c);
	free(c);
}

void local_stack_clear(struct local_stack *stack)
{
	for (int side = 0; side < SIDES; side++)
		for (struct conversation *c = stack->sides[side], *next; c; c = next) {
			next = c->hh.next;
			conversation_remove(stack, c);
		}
}

void local_stack_free(struct local_stack *stack)
{
	if (stack)
		local_stack_clear(stack);
	free(stack);
}

uint64_t local_stack_forgotten(const struct local_stack *stack)
{
	return stack->forgotten;
}

/* ---- the tables */

/* The machine has sent the packet, or it arrives. An echo has one identifier. */
static struct key key_of(const struct local_packet *p, bool arrives)
{
	bool echo = p->kind == LOCAL_ECHO_REQUEST || p->kind == LOCAL_ECHO_REPLY;
	struct key key = {.own_port = arrives ? p->dport : p->sport,
			  .peer_port = echo      ? 0
				       : arrives ? p->sport
						 : p->dport,
			  .kind = echo ? LOCAL_ECHO_REQUEST : p->kind};

	memcpy(key.own, arrives ? p->dst : p->src, sizeof(key.own));
	memcpy(key.peer, arrives ? p->src : p->dst, sizeof(key.peer));
	return key;
}

static struct key key_of_port(const struct key *key)
{
	struct key port = *key;

	memset(port.peer, 0, sizeof(port.peer));
	port.peer_port = 0;
	return port;
}

static struct conversation *conversation_find(const struct local_stack *stack,
					      const struct key *key)
{
	struct conversation *found = NULL;
	unsigned int hash;

	HASH_VALUE(key, sizeof(*key), hash);
	for (int side = 0; side < SIDES && !found; side++)
		HASH_FIND_BYHASHVALUE(hh, stack->sides[side], key, sizeof(*key), hash, found);
	return found;
}

/* Puts it in as the latest. Frees it on -ENOMEM. */
static int conversation_put(struct local_stack *stack, struct conversation *c, enum side side,
			    uint64_t now_ns)
{
	c->side = side;
	c->latest_ns = now_ns;
	HASH_ADD(hh, stack->sides[side], key, sizeof(c->key), c);
	if (!c->hh.tbl) {
		free(c);
		return -ENOMEM;
	}
	if (HASH_COUNT(stack->sides[side]) <= stack->max)
		return 0;
	conversation_remove(stack, stack->sides[side]); /* the oldest */
	stack->forgotten += side == OURS;
	return 0;
}

static int conversation_move(struct local_stack *stack, struct conversation *c, enum side side,
			     uint64_t now_ns)
{
	bool fresh = now_ns < c->latest_ns + FRESH_NS;

	if (side == c->side && fresh)
		return 0;
	hash_remove(stack->sides[c->side], c);
	return conversation_put(stack, c, side, now_ns);
}

/* The side that has begun it, or keeps it up. */
static enum side side_of(const struct conversation *c)
{
	if (c->key.kind == LOCAL_TCP)
		return c->tcp.state == LOCAL_TCP_NEW_SYN_RECV ? THEIRS : OURS;
	return c->udp.ours ? OURS : THEIRS;
}

static struct conversation *conversation_new(const struct key *key)
{
	struct conversation *c = calloc(1, sizeof(*c));

	if (c)
		c->key = *key;
	return c;
}

/* ---- what the machine sends */

static int key_is_sent(struct local_stack *stack, const struct key *key,
		       const struct local_packet *p)
{
	struct conversation *c = conversation_find(stack, key);
	bool is_new = !c;

	if (is_new)
		c = conversation_new(key);
	if (!c)
		return -ENOMEM;
	if (p->kind == LOCAL_TCP)
		local_tcp_sent(&c->tcp, p);
	else
		local_udp_sent(&c->udp, p->time_ns, key->own_port, key->peer_port);
	return is_new ? conversation_put(stack, c, side_of(c), p->time_ns)
		      : conversation_move(stack, c, side_of(c), p->time_ns);
}

int local_stack_sent(struct local_stack *stack, const struct local_packet *p)
{
	struct key key, port;
	int ret;

	if (p->kind != LOCAL_TCP && p->kind != LOCAL_UDP && p->kind != LOCAL_ECHO_REQUEST)
		return 0;
	key = key_of(p, false);
	ret = key_is_sent(stack, &key, p);
	if (ret || p->kind != LOCAL_UDP)
		return ret;
	port = key_of_port(&key);
	return key_is_sent(stack, &port, p);
}

/* ---- what arrives */

struct local_proof local_stack_proof(const struct local_stack *stack, const struct local_packet *p)
{
	const struct conversation *c;
	struct key key;

	if (p->kind != LOCAL_TCP && p->kind != LOCAL_UDP && p->kind != LOCAL_ECHO_REPLY)
		return (struct local_proof){.certainty = LOCAL_KNOWN}; /* never established */
	key = key_of(p, true);
	c = conversation_find(stack, &key);
	if (!c)
		return (struct local_proof){.certainty = LOCAL_UNSEEN};
	return p->kind == LOCAL_TCP ? local_tcp_proof(&c->tcp, p->time_ns)
				    : local_udp_proof(&c->udp, p->time_ns);
}

int local_stack_arrived(struct local_stack *stack, const struct local_packet *p, bool passed)
{
	const struct conversation *sent;
	uint64_t now_ns = p->time_ns;
	struct conversation *c;
	struct key key, port;
	bool is_new;

	if (p->kind != LOCAL_TCP && p->kind != LOCAL_UDP)
		return 0;
	key = key_of(p, true);
	c = conversation_find(stack, &key);
	if (p->kind == LOCAL_TCP) {
		if (c)
			local_tcp_arrived(&c->tcp, p, passed);
		return c && passed ? conversation_move(stack, c, side_of(c), now_ns) : 0;
	}
	/* A peer may begin a conversation of UDP, but none of TCP. */
	port = key_of_port(&key);
	sent = conversation_find(stack, &port);
	is_new = !c;
	if (is_new)
		c = conversation_new(&key);
	if (!c)
		return -ENOMEM;
	local_udp_arrived(&c->udp, now_ns, sent && now_ns < sent->udp.ours_ns + BOUND_NS, passed);
	return is_new ? conversation_put(stack, c, THEIRS, now_ns)
		      : conversation_move(stack, c, side_of(c), now_ns);
}
