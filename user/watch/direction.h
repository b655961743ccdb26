/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the packets of a capture are those of both directions: what a device received and what it
 * sent. Pure, in bounded memory.
 *
 * A cooked link header says which packets were sent. Ethernet frames are those of both directions
 * if one station, the device itself, is sender or receiver of nearly all of them, and sends a part;
 * in a capture of one direction no station both sends and receives. Frames without two stations
 * (tunnels, loopback) are, if a fifth of the packets is between addresses that send to each other.
 */
#pragma once

#include <stdbool.h>

#include "base/captured.h"

struct directions;

/* NULL: out of memory. */
struct directions *directions_new(void);
void directions_free(struct directions *directions);

void directions_count(struct directions *directions, const struct captured *packet);

bool directions_both(const struct directions *directions);
