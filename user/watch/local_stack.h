/* SPDX-License-Identifier: GPL-2.0-only */
/* The sockets of a machine, as the packets of a capture show them: those that it sent, and those
 * that arrived and passed. Pure.
 *
 * Memory is bounded: conversations that the machine has begun or accepted, and those that a peer
 * has begun alone (a handshake that is not complete, UDP that nobody asked for), have
 * LOCAL_CONVERSATIONS_MAX each, so that a flood pushes out none of the first. Beyond that, the one
 * without packets for longest is forgotten.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "watch/local_packet.h"
#include "watch/local_proof.h"

#define LOCAL_CONVERSATIONS_MAX (1u << 18) /* about 200 bytes each */

struct local_stack;

/* max: of each kind. NULL: out of memory. */
struct local_stack *local_stack_new(size_t max);
void local_stack_free(struct local_stack *stack);

/* The machine sent it. 0 or -ENOMEM. */
int local_stack_sent(struct local_stack *stack, const struct local_packet *packet);

/* Is the packet established, if it arrives now? */
struct local_proof local_stack_proof(const struct local_stack *stack,
				     const struct local_packet *packet);

/* It has arrived; a packet that was dropped reaches no socket. 0 or -ENOMEM. */
int local_stack_arrived(struct local_stack *stack, const struct local_packet *packet, bool passed);

/* Forgets all conversations, but not how many it has forgotten. */
void local_stack_clear(struct local_stack *stack);

/* Conversations of the machine that were forgotten for want of room. */
uint64_t local_stack_forgotten(const struct local_stack *stack);
