/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of `rlctl suggest`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/captured.h"
#include "cli/cmd.h"
#include "cli/simulate/simulate_local.h"
#include "cli/suggest/suggest_axis.h"
#include "rlctl_abi.h"
#include "watch/seen.h"
#include "watch/suggest_limits.h"

#define SUGGEST_SECONDS_MIN 10u  /* that are watched before limits are suggested */
#define SUGGEST_PACKETS_MIN 500u /* fewer say nothing of those that follow */

/* Captures are put end to end, each on its own axis, which is moved by whole seconds. */
struct suggest_capture {
	const char *path;
	struct axis axis;
	uint64_t shift_ns;          /* of the axis, modulo 2^64 */
	uint64_t first_ns, last_ns; /* of packets that arrive, on the unmoved axis */
	uint64_t packets, arrived;
	uint64_t cut; /* packets without all headers */
};

/* Verdicts of the policy, in force. */
struct suggest_outcome {
	bool known;
	struct rl_amount arrived, refused; /* refused: over a limit */
	uint64_t malformed;                /* dropped as such, with and without a policy */
	uint64_t seconds;
	/* By class: refused by the limit of a source, and of all together. */
	uint64_t by_rule[SUGGEST_CLASSES_MAX][2];
};

struct suggest {
	const struct command *command;
	struct simulate_local local;
	struct suggest_capture *captures; /* in order of time, once they were surveyed */
	size_t capture_count;
	const char *attack_path;         /* NULL: none */
	unsigned int headroom, hold_out; /* per cent */
	bool enforce;
	struct seen seen;
	struct suggestion suggestion;
	uint64_t begin_ns;        /* since 1970 */
	uint64_t span_ns, cut_ns; /* since then: the end, and that of what is learnt from */
	uint64_t lost;            /* samples */
	uint32_t rate;            /* samples a second; 0: from captures */
	struct suggest_outcome held_out, attack;
};

/* ---- suggest_capture.c */

/* Learns from the captures, and holds the suggestion to the rest of them. 0 or -1; reports. */
int suggest_from_captures(struct suggest *s);
void suggest_captures_clear(struct suggest *s);
/* Time of a clock, since 1970, so many seconds after the first packet that was learnt from. */
uint64_t suggest_clock(const struct suggest *s, uint32_t seconds);
/* Whether the attack can be read. 0 or -1; reports. */
int suggest_attack_check(struct suggest *s);
/* Runs the suggestion over the attack. 0 or -1; reports. */
int suggest_attack(struct suggest *s);
/* A packet that arrives. 0 or -1; reports. */
int suggest_learn(struct suggest *s, const struct captured *captured, uint64_t packets);
/* Whether so many were learnt from that limits may be suggested. 0 or -1; reports. */
int suggest_suffices(const struct suggest *s);
/* 0 or -1; reports. */
int suggest_conclude(struct suggest *s, uint64_t watched_ns);

/* ---- suggest_trial.c: a simulation of the suggestion as if it were enforced */

struct suggest_trial;
/* 0 or -1; reports. `local` may be NULL: every packet arrives that its link header does not call
 * sent. */
int suggest_trial_open(const struct suggest *s, struct simulate_local *local, uint64_t now_ns,
		       struct suggest_trial **out);
void suggest_trial_close(struct suggest_trial *trial); /* NULL is allowed */
/* Counts the packet or not. Their times do not jump. */
int suggest_trial_run(struct suggest_trial *trial, const struct captured *captured, bool counts);
int suggest_trial_outcome(struct suggest_trial *trial, struct suggest_outcome *out);

/* ---- suggest_live.c */

int suggest_from_device(struct suggest *s);

/* ---- suggest_text.c, suggest_json.c */

void suggest_print_text(const struct suggest *s);
void suggest_print_json(const struct suggest *s);
/* The suggested policy without comments; the caller frees it. */
char *suggest_policy_text(const struct suggest *s, bool enforce);
