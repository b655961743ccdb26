// SPDX-License-Identifier: GPL-2.0-only
/* From a device: samples of what arrives, until enough was seen. The policy is then tried on the
 * samples that follow, each as many times as it stands for packets. */
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/progress.h"
#include "cli/suggest/suggest.h"
#include "kernel/instance/open.h"
#include "kernel/watch/watch.h"

#define RATE_USUAL   10000u
#define WAIT_MS      200
#define CONCLUDE_NS  (5 * NS_PER_SECOND)
#define FOR_MIN_NS   (15 * NS_PER_SECOND)
#define FOR_MAX_NS   (7 * NS_PER_DAY)
#define IPV4_VERSION 4

struct live {
	struct suggest *suggest;
	struct instance instance;
	struct watch *watch;
	struct progress progress;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t for_ns;   /* 0: until enough was seen */
	uint64_t learn_ns,
		end_ns; /* when to stop learning, and trying; UINT64_MAX: not known yet */
	uint64_t next_conclusion_ns, paused_ns;
	bool learnt, said;
	struct suggest_trial *trial;
	int failed;
};

/* Denied and banned packets, and those without headers, say nothing of clients. */
static uint32_t reasons_wanted(void)
{
	return ((1u << RL_REASON_COUNT) - 1) &
	       ~(1u << RL_REASON_DENIED | 1u << RL_REASON_BANNED | 1u << RL_REASON_MALFORMED |
		 1u << RL_REASON_NON_IP);
}

/* The sample as a frame with an Ethernet header. */
static void sample_frame(const struct live *live, const struct rl_sample *sample,
			 uint8_t frame[ETH_HLEN + RL_FRAME_KEPT], struct captured *out)
{
	uint32_t head = live->instance.info.raw_ip ? ETH_HLEN : 0;
	bool ipv4 = sample->kept && sample->frame[0] >> 4 == IPV4_VERSION;
	uint32_t packets = sample->packets ? sample->packets : 1;

	memset(frame, 0, ETH_HLEN);
	frame[12] = ipv4 ? ETH_P_IP >> 8 : ETH_P_IPV6 >> 8;
	frame[13] = ipv4 ? ETH_P_IP & 0xff : ETH_P_IPV6 & 0xff;
	memcpy(frame + head, sample->frame, sample->kept);
	*out = (struct captured){
		.time_ns = watch_realtime(live->watch, sample->time_ns),
		.data = frame,
		.size = head + sample->kept,
		.bytes = head + sample->bytes / packets,
	};
	out->bytes = out->bytes > out->size ? out->bytes : out->size;
}

static int sample_try(struct live *live, const struct captured *frame, uint64_t packets)
{
	int ret = 0;

	while (!ret && packets--)
		ret = suggest_trial_run(live->trial, frame, true);
	return ret;
}

static int on_sample(void *arg, const struct sampled *sampled)
{
	const struct rl_sample *sample = &sampled->packet;
	uint8_t bytes[ETH_HLEN + RL_FRAME_KEPT];
	struct live *live = arg;
	struct captured frame;
	uint64_t packets = sampled->stands_for * (sample->packets ? sample->packets : 1);

	sample_frame(live, sample, bytes, &frame);
	live->failed = live->trial ? sample_try(live, &frame, packets)
				   : suggest_learn(live->suggest, &frame, packets);
	return live->failed;
}

static int drain(struct live *live)
{
	int ret = watch_poll(live->watch, on_sample, live);

	return ret ? ret : live->failed;
}

/* ---- when it is enough */

static int watch_begin(struct live *live)
{
	const struct watch_options options = {.reasons = reasons_wanted(),
					      .rate = live->suggest->rate,
					      .counter_id = RL_WATCH_ANY};

	return watch_open(&live->instance, &options, &live->watch);
}

/* The samples of slots that are not over, too. */
static int watch_end(struct live *live)
{
	struct watch_figures figures;
	int ret = watch_finish(live->watch, UINT64_MAX, on_sample, live);

	ret = ret ? ret : live->failed;
	ret = ret ? ret : watch_figures(live->watch, &figures);
	if (!ret)
		live->suggest->lost += figures.lost;
	watch_close(live->watch);
	live->watch = NULL;
	return ret;
}

static void enough_note(struct live *live)
{
	char elapsed[NUMBER_TEXT_MAX];

	if (live->said || live->suggest->suggestion.confidence < SUGGEST_ENOUGH)
		return;
	live->said = true;
	wait_print(elapsed, live->suggest->cut_ns);
	note("%s: seen enough after %s: confidence %u.%u %%", live->instance.device, elapsed,
	     live->suggest->suggestion.confidence / 10, live->suggest->suggestion.confidence % 10);
}

static int conclude(struct live *live, uint64_t now_ns)
{
	int ret;

	live->suggest->cut_ns = now_ns - live->begin_ns;
	ret = suggest_conclude(live->suggest, live->suggest->cut_ns);
	if (ret)
		return ret;
	if (live->suggest->seen.packets >= SUGGEST_PACKETS_MIN)
		enough_note(live);
	/* Judging much takes a while: no more than a tenth of the time. */
	live->next_conclusion_ns = clock_ns(CLOCK_MONOTONIC);
	live->next_conclusion_ns += CONCLUDE_NS + 10 * (live->next_conclusion_ns - now_ns);
	return 0;
}

/* To load the program takes seconds on some machines, in which the watch would be lost. */
static int trial_begin(struct live *live)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int ret = suggest_trial_open(live->suggest, NULL, clock_ns(CLOCK_REALTIME), &live->trial);

	if (!ret)
		ret = watch_begin(live);
	live->paused_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	live->end_ns += live->paused_ns;
	return ret;
}

static int hold_out_begin(struct live *live, uint64_t now_ns)
{
	uint64_t elapsed = now_ns - live->begin_ns;
	unsigned int percent;
	int ret = watch_end(live);

	ret = ret ? ret : conclude(live, now_ns);
	if (ret)
		return ret;
	live->learnt = true;
	percent = live->suggest->seen.packets ? live->suggest->hold_out : 0;
	if (!percent) {
		live->end_ns = now_ns;
		return 0;
	}
	if (live->end_ns == UINT64_MAX)
		live->end_ns = now_ns + elapsed / (100 - percent) * percent;
	return trial_begin(live);
}

/* Goes on to trying, if it is time to, or enough was seen. */
static int turn(struct live *live)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int ret;

	if (live->learnt)
		return 0;
	if (now_ns >= live->learn_ns)
		return hold_out_begin(live, now_ns);
	if (now_ns < live->next_conclusion_ns)
		return 0;
	ret = conclude(live, now_ns);
	if (!ret && live->learn_ns == UINT64_MAX && live->said)
		ret = hold_out_begin(live, now_ns);
	return ret;
}

/* How many tests would give this confidence, if all were passed: they take the same time each. */
static double tests_of(unsigned int confidence)
{
	return confidence <= 500 ? 0 : (2.0 * confidence - 1000) / (1000.0 - confidence);
}

/* The share of the time, if its end is known; else of what is to be learnt, which the trial
 * follows. */
static int permille_done(const struct live *live, unsigned int confidence)
{
	uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - live->begin_ns;
	double part = tests_of(confidence) / tests_of(SUGGEST_ENOUGH);

	if (live->end_ns == UINT64_MAX)
		part = fmin(part, 1) * (100 - live->suggest->hold_out) / 100;
	else
		part = fmin((double)elapsed / (double)(live->end_ns - live->begin_ns), 1);
	return (int)(1000 * part);
}

static void bar_draw(struct live *live)
{
	const struct suggestion *suggestion = &live->suggest->suggestion;
	unsigned int confidence = live->suggest->seen.packets ? suggestion->confidence : 0;
	char noun[80];

	if (!progress_due(&live->progress))
		return;
	snprintf(noun, sizeof(noun), "packets, confidence %u.%u %% of 95 %%%s", confidence / 10,
		 confidence % 10, live->learnt ? ", trying the limits" : "");
	progress_draw(live->suggest->seen.packets, noun, permille_done(live, confidence));
}

static int device_watch(struct live *live)
{
	int signals = signals_open(), ret = 0;
	bool end = signals < 0;

	while (!ret && !end && live->watch && clock_ns(CLOCK_MONOTONIC) < live->end_ns) {
		struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
				       {.fd = watch_fd(live->watch), .events = POLLIN}};

		if (poll(fds, 2, WAIT_MS) < 0 && errno != EINTR)
			return fail("%s: waiting failed: %s", live->instance.device,
				    strerror(errno));
		end = fds[0].revents;
		ret = drain(live);
		if (!ret)
			ret = turn(live);
		bar_draw(live);
	}
	progress_end();
	if (signals >= 0)
		close(signals);
	return ret;
}

/* ---- */

static int finish(struct live *live, int ret)
{
	struct suggest *s = live->suggest;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (ret && ret != -ENODEV) /* the end of the device is an end */
		return ret;
	ret = live->watch ? watch_end(live) : 0;
	if (!ret && !live->learnt)
		ret = conclude(live, now_ns);
	if (!ret && live->trial)
		ret = suggest_trial_outcome(live->trial, &s->held_out);
	s->held_out.seconds =
		(now_ns - live->begin_ns - live->paused_ns - s->cut_ns) / NS_PER_SECOND;
	if (!ret && !s->seen.packets)
		ret = fail("%s: no packets arrived: try again while clients are served",
			   live->instance.device);
	return ret ? ret : suggest_suffices(s);
}

static int times_set(struct live *live)
{
	const char *word = live->suggest->command->arguments[OPTION_FOR];

	live->learn_ns = live->end_ns = UINT64_MAX;
	if (!word)
		return 0;
	if (duration_parse(word, &live->for_ns) || live->for_ns < FOR_MIN_NS ||
	    live->for_ns > FOR_MAX_NS)
		return wrong("invalid --for '%s': use a time from 15s to 7d, such as 10m", word);
	return 0;
}

static void times_begin(struct live *live)
{
	live->begin_ns = clock_ns(CLOCK_MONOTONIC);
	live->next_conclusion_ns = live->begin_ns + CONCLUDE_NS;
	if (!live->for_ns)
		return;
	live->end_ns = live->begin_ns + live->for_ns;
	live->learn_ns = live->begin_ns + live->for_ns / 100 * (100 - live->suggest->hold_out);
}

static int live_run(struct live *live)
{
	struct suggest *s = live->suggest;
	int ret = watch_begin(live);

	if (ret)
		return ret;
	times_begin(live);
	s->begin_ns = clock_ns(CLOCK_REALTIME);
	progress_begin(&live->progress);
	ret = finish(live, device_watch(live));
	suggest_trial_close(live->trial);
	watch_close(live->watch);
	return ret;
}

int suggest_from_device(struct suggest *s)
{
	struct live live = {.suggest = s};
	int ret = option_number(s->command, OPTION_RATE, WATCH_RATE_MAX, RATE_USUAL, &s->rate);

	ret = ret ? ret : times_set(&live);
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
