/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of `rlctl suggest`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/cmd.h"
#include "watch/local/local.h"
#include "watch/suggest/suggest.h"
#include "watch/suggest/seen.h"

#define SUGGEST_SECONDS_MIN 10u  /* that are watched before limits are suggested */
#define SUGGEST_PACKETS_MIN 500u /* fewer say nothing of those that follow */

/* From `at_ns` on, clocks are ahead by `ahead_ns` (modulo 2^64) of the time that packets are put
 * at. */
struct stretch {
	uint64_t at_ns, ahead_ns;
};

struct suggest {
	const struct command *command;
	unsigned int headroom; /* per cent */
	bool enforce;
	struct seen seen;
	struct suggestion suggestion;
	struct pattern_bands patterns;
	struct pattern_busy pattern; /* of a flood */
	struct stretch *stretches;   /* of captures */
	size_t stretch_count;
	uint64_t watched_ns;
	uint64_t lost; /* samples */
	uint32_t rate; /* samples a second; 0: from captures */
};

/* ---- suggest_capture.c */

/* 0, -1 or EXIT_USAGE; reports. */
int suggest_from_captures(struct suggest *s);

/* ---- suggest_live.c */

int suggest_from_device(struct suggest *s);

/* ---- suggest.c */

/* Time of a clock, since 1970, so many seconds after the first packet that was learnt from. */
uint64_t suggest_clock(const struct suggest *s, uint32_t seconds);
/* A packet that arrives; it stands for so many. 0 or -1; reports. */
int suggest_learn(struct suggest *s, const struct captured *captured,
		  const struct local_packet *local, uint64_t packets);

/* ---- suggest_text.c, suggest_json.c */

void suggest_print_text(const struct suggest *s);
void suggest_print_json(const struct suggest *s);
