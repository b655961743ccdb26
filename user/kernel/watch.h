/* SPDX-License-Identifier: GPL-2.0-only */
/* Watching the packets of an instance: a stream of samples, one packet in so many, under a rate
 * that the kernel holds (bpf/watch.h). A watch has to be polled at least each second, for that
 * renews its place; one that is not ends by itself. Every function reports its own failure once.
 */
#ifndef RLCTL_KERNEL_WATCH_H
#define RLCTL_KERNEL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "instance.h"
#include "rlctl_abi.h"

struct watch_options {
	uint32_t reasons;    /* bits, by enum rl_reason: which packets */
	uint32_t rate;       /* samples a second at most, 1..WATCH_RATE_MAX; where packets of both
			      * verdicts are watched, a half for each, and at least one */
	uint32_t counter_id; /* only of this rule; RL_WATCH_ANY */
	bool has_prefix;     /* only from or to addresses in this prefix (mapped) */
	uint8_t addr[16];
	uint8_t len;
};

#define WATCH_RATE_MAX 100000u

/* Since watch_open. What is neither lost nor waiting is what samples stood for. */
struct watch_figures {
	uint64_t packets[2]; /* that were asked for: dropped, passed */
	uint64_t lost;       /* samples that found the ring full */
};

struct watch;

/* Takes a place among those who watch. The instance must stay open as long as the watch. */
int watch_open(const struct instance *instance, const struct watch_options *options,
	       struct watch **out);
void watch_close(struct watch *watch); /* NULL is allowed */

/* Readable when there are samples. */
int watch_fd(const struct watch *watch);

/* Hands over the samples that are there, until `sample` returns non-zero, and renews the place
 * where that is due. Does not wait. 0; -ENODEV: the instance is gone, said in words; below 0. */
int watch_poll(struct watch *watch, int (*sample)(void *arg, const struct rl_sample *sample),
	       void *arg);

int watch_figures(const struct watch *watch, struct watch_figures *out);

/* A sample's time since 1970. */
uint64_t watch_realtime(const struct watch *watch, uint64_t monotonic_ns);

#endif
