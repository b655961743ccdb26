// SPDX-License-Identifier: GPL-2.0-only
#include "watch/affected.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "kernel/watch/watch.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/shares.h"
#include "watch/talkers.h"

#define RATE 20000u /* samples a second: up to half of it, each packet of a verdict is one */

/* By what the packets were dropped. */
struct cause {
	uint32_t counter_id;
	uint8_t reason;
} __attribute__((packed));

struct watching {
	struct affected *out;
	bool by_dest;
	struct shares causes;
};

static int on_sample(void *arg, const struct sampled *sample)
{
	struct watching *w = arg;
	const struct rl_sample *packet = &sample->packet;
	const uint8_t *addr = w->by_dest ? packet->dst : packet->src;
	struct cause cause = {.counter_id = packet->counter_id, .reason = packet->reason};

	if (!prefix_contains(w->out->addr, w->out->len, addr))
		return 0;
	if (reason_rows[packet->reason].passes) {
		estimate_add(&w->out->passed, sample->stands_for, 1);
	} else {
		estimate_add(&w->out->dropped, sample->stands_for, 1);
		shares_add(&w->causes, &cause, sizeof(cause), sample->stands_for);
	}
	return 0;
}

int affected_watch(const struct instance *instance, const uint8_t addr[16], bool by_dest,
		   uint32_t seconds, struct affected *out)
{
	struct watching w = {.out = out, .by_dest = by_dest};
	struct watch_options options = {
		.rate = RATE, .counter_id = RL_WATCH_ANY, .has_prefix = true};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_SECOND;
	struct shares_part worst;
	struct watch *watch;
	struct cause cause;
	int ret;

	*out = (struct affected){.len = talker_bits(by_dest, addr)};
	prefix_mask(out->addr, addr, out->len);
	memcpy(options.addr, out->addr, sizeof(options.addr));
	options.len = out->len;
	for (int reason = 0; reason < RL_REASON_COUNT; reason++)
		options.reasons |= 1u << reason;
	ret = watch_open(instance, &options, &watch);
	if (ret)
		return ret;
	ret = watch_until(watch, end_ns, on_sample, &w);
	watch_close(watch);
	if (!ret && shares_list(&w.causes, w.causes.total, 0, &worst, 1)) {
		memcpy(&cause, worst.value, sizeof(cause));
		out->counter_id = cause.counter_id;
		out->reason = cause.reason;
	}
	return ret;
}
