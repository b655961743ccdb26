// SPDX-License-Identifier: GPL-2.0-only
/* Waits for Redis no longer than until an answer is due, and less once the agent is to end. */
#include "fleet/link.h"

#include <poll.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"

#define POLL_NS   (50 * NS_PER_MS)
#define SIGNAL_NS (100 * NS_PER_MS) /* left to an answer after a signal to end */

short socket_wait(int fd, short events, uint64_t *end_ns)
{
	struct pollfd one = {.fd = fd, .events = events};

	for (;;) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), left;

		if (signals_held() && *end_ns > now_ns + SIGNAL_NS)
			*end_ns = now_ns + SIGNAL_NS;
		if (now_ns >= *end_ns)
			return 0;
		left = *end_ns - now_ns < POLL_NS ? *end_ns - now_ns : POLL_NS;
		if (poll(&one, 1, (int)(left / NS_PER_MS) + 1) > 0)
			return one.revents;
	}
}
