/* SPDX-License-Identifier: GPL-2.0-only */
/* The answer of `over challenge` to a SYN, checked byte by byte. */
#pragma once

#include <stdint.h>

#include "frame.h"

/* Fails the test unless out is the SYN and ACK with which a host whose MSS is that answers the SYN,
 * by the cookie alone. */
void answer_check(const struct frame *in, const struct frame *out, uint16_t mss);
