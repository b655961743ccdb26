// SPDX-License-Identifier: GPL-2.0-only
/* From a device: samples of what arrives. */
#include <errno.h>
#include <linux/if_ether.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/suggest/suggest.h"
#include "kernel/instance/open.h"
#include "kernel/watch/watch.h"

#define RATE_USUAL   10000u
#define WAIT_MS      200
#define FOR_USUAL_NS (10 * NS_PER_MINUTE)
#define FOR_MIN_NS   (15 * NS_PER_SECOND)
#define FOR_MAX_NS   (7 * NS_PER_DAY)
#define IPV4_VERSION 4

struct live {
	struct suggest *suggest;
	struct instance instance;
	struct watch *watch;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t for_ns;
	int failed;
};

static int on_sample(void *arg, const struct sampled *sampled)
{
	const struct rl_sample *sample = &sampled->packet;
	uint8_t bytes[ETH_HLEN + RL_FRAME_KEPT] = {0};
	struct live *live = arg;
	uint32_t head = live->instance.info.raw_ip ? ETH_HLEN : 0;
	bool ipv4 = sample->kept && sample->frame[0] >> 4 == IPV4_VERSION;
	uint32_t packets = sample->packets ? sample->packets : 1;
	struct captured frame = {
		.time_ns = watch_realtime(live->watch, sample->time_ns),
		.data = bytes,
		.size = head + sample->kept,
		.bytes = head + sample->bytes / packets,
	};
	struct local_packet local;

	/* With an Ethernet header. */
	bytes[12] = ipv4 ? ETH_P_IP >> 8 : ETH_P_IPV6 >> 8;
	bytes[13] = ipv4 ? ETH_P_IP & 0xff : ETH_P_IPV6 & 0xff;
	memcpy(bytes + head, sample->frame, sample->kept);
	frame.bytes = frame.bytes > frame.size ? frame.bytes : frame.size;
	local_packet_parse(&frame, &local);
	live->failed = suggest_learn(live->suggest, &frame, &local, sampled->stands_for * packets);
	return live->failed;
}

static int device_watch(struct live *live)
{
	uint64_t end_ns = live->begin_ns + live->for_ns;
	int signals = signals_open(), ret = 0;
	bool end = signals < 0;
	struct progress progress;

	progress_begin(&progress);
	while (!ret && !end && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
				       {.fd = watch_fd(live->watch), .events = POLLIN}};
		uint64_t elapsed_ns;

		if (poll(fds, 2, WAIT_MS) < 0 && errno != EINTR) {
			ret = fail("%s: waiting failed: %s", live->instance.device,
				   strerror(errno));
			break;
		}
		end = fds[0].revents;
		ret = watch_poll(live->watch, on_sample, live);
		ret = ret ? ret : live->failed;
		elapsed_ns = clock_ns(CLOCK_MONOTONIC) - live->begin_ns;
		if (progress_due(&progress))
			progress_draw(live->suggest->seen.packets, "packets",
				      (int)(elapsed_ns / (live->for_ns / 1000)));
	}
	progress_end();
	if (signals >= 0)
		close(signals);
	return ret == -ENODEV ? 0 : ret; /* the end of the device is an end */
}

static int live_run(struct live *live)
{
	struct suggest *s = live->suggest;
	/* Denied and banned packets, and those without headers, say nothing of clients. */
	const uint32_t unwanted = 1u << RL_REASON_DENIED | 1u << RL_REASON_BANNED |
				  1u << RL_REASON_MALFORMED | 1u << RL_REASON_NON_IP;
	const struct watch_options options = {.reasons = ((1u << RL_REASON_COUNT) - 1) & ~unwanted,
					      .rate = s->rate,
					      .counter_id = RL_WATCH_ANY};
	struct watch_figures figures = {0};
	int ret = watch_open(&live->instance, &options, &live->watch);

	if (ret)
		return ret;
	live->begin_ns = clock_ns(CLOCK_MONOTONIC);
	ret = device_watch(live);
	s->watched_ns = clock_ns(CLOCK_MONOTONIC) - live->begin_ns;
	/* The samples of slots that are not over, too. */
	ret = ret ? ret : watch_finish(live->watch, UINT64_MAX, on_sample, live);
	ret = ret ? ret : live->failed;
	ret = ret ? ret : watch_figures(live->watch, &figures);
	s->lost = figures.lost;
	watch_close(live->watch);
	if (!ret && !s->seen.packets)
		ret = fail("%s: no packets arrived: try again while clients are served",
			   live->instance.device);
	return ret;
}

int suggest_from_device(struct suggest *s)
{
	const char *word = s->command->arguments[OPTION_FOR];
	struct live live = {.suggest = s, .for_ns = FOR_USUAL_NS};
	int ret = option_number(s->command, OPTION_RATE, WATCH_RATE_MAX, RATE_USUAL, &s->rate);

	if (!ret && word &&
	    (duration_parse(word, &live.for_ns) || live.for_ns < FOR_MIN_NS ||
	     live.for_ns > FOR_MAX_NS))
		return wrong("invalid --for '%s': use a time from 15s to 7d, such as 10m", word);
	ret = ret ? ret : instance_open_shared(&s->command->target, &live.instance);
	if (ret)
		return ret;
	if (live.instance.info.by_dest)
		ret = fail(
			"%s: the instance goes by destination, but limits are suggested for sources "
			"that arrive: attach at --hook xdp or ingress",
			live.instance.device);
	ret = ret ? ret : live_run(&live);
	instance_close(&live.instance);
	return ret;
}
