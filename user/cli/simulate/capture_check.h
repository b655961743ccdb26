/* SPDX-License-Identifier: GPL-2.0-only */
/* Properties of a capture that affect a result, and have to be said: jumps of its clock, packets
 * without all headers, invalid timestamps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watch/capture.h"

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
