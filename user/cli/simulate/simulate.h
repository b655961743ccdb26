/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of `rlctl simulate`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/captured.h"
#include "cli/cmd.h"
#include "cli/report/record.h"
#include "kernel/simulation.h"
#include "policy/policy.h"
#include "rlctl_abi.h"
#include "watch/capture/capture.h"
#include "watch/local/local.h"

struct json_object;

/* ---- simulate_capture.c: properties of a capture that affect a result, and have to be said
 *
 * Jumps of its clock, packets without all headers, invalid timestamps. */

/* The time since the clock last jumped. Zero before the first packet. */
struct epoch {
	bool begun;
	uint64_t first_ns, latest_ns;
	uint64_t jumps;
	uint64_t jump_packet, jump_ns; /* the first of them */
	bool jump_back;
};

/* Whether the packet's time is too far from the earlier ones to use their states: back by more than
 * a second, or forward by more than their times reach. The next epoch begins with it. */
bool epoch_ends(struct epoch *epoch, uint64_t number, uint64_t now_ns);

/* Notes, if there is something to be said. `then`: what follows from a jump, or from missing
 * headers. */
void epoch_note(const struct epoch *epoch, const char *name, const char *then);
void headers_note(uint64_t cut, const char *name, const char *then);

/* ... have not all bytes that rules compare. */
void payload_note(uint64_t cut, const char *name);
void timestamps_note(const struct capture *capture);

/* "NUMBER SECONDS.NANOSECONDS pass|drop REASON", the last two for each side. */
void verdict_print(const struct captured *packet, uint64_t number,
		   const struct record_verdict *verdicts, int sides);

/* ---- simulate_local.c: --local
 *
 * The capture is that of a machine with these addresses, whose sockets are followed through it. */

struct simulate_local {
	struct local_addresses addresses; /* none: without --local */
	struct local_stack *stack;        /* NULL then */
	struct rl_amount sent, elsewhere; /* packets that were not run */
	uint64_t asked[LOCAL_CERTAINTY_COUNT];
};

/* Reads the addresses of --local. 0, -1 or EXIT_USAGE; reports. */
int simulate_local_open(const struct command *command, struct simulate_local *out);
void simulate_local_close(struct simulate_local *local);

/* With a stack: runs the packet if it arrives; *ran says so, and only then *out is set. 0 or <
 * 0; reports. */
int simulate_local_run(struct simulate_local *local, struct simulation *simulation,
		       const struct captured *packet, bool *ran, struct simulated *out);

/* Time has jumped: no conversation goes on. */
void simulate_local_restart(struct simulate_local *local);

uint64_t simulate_local_not_run(const struct simulate_local *local);
void simulate_local_json(const struct simulate_local *local, struct json_object *object);
void simulate_local_print(const struct simulate_local *local);
void simulate_local_note(const struct simulate_local *local, const struct policy *policy,
			 const char *capture);

/* ---- simulate_against.c: --against
 *
 * It says, as text and as JSON, what two policies do differently to the same packets. */

/* The record has two sides. */
void simulate_against_print(const struct record *record);
/* Puts the member "against". 0 or -1; reports. */
int simulate_against_json(const struct record *record, struct json_object *object);

/* The sources of most packets with which the policies deal differently; `folded`: those of one
 * packet are one element, of which "source" is their number. */
struct json_object *json_differing(const struct record *record, size_t max, bool folded);

/* All differences, those of most packets first, an array of as many as HASH_COUNT says, which the
 * caller frees. Exits if out of memory. */
const struct difference **differences_sorted(const struct record *record, size_t *count);
