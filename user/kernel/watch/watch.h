/* SPDX-License-Identifier: GPL-2.0-only */
/* Streams samples of packets, at most so many a second (bpf/watch.h, sampler.h). They come when
 * their slot is over: a tenth of a second, more where the rate is under 10 a second.
 * Poll a watch at least once a second to keep its entry on the board; otherwise it ends by itself.
 * Each function reports its own failures once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "kernel/watch/sampler.h"
#include "rlctl_abi.h"

struct watch_options {
	uint32_t reasons; /* bits of enum rl_reason: packets to sample */
	uint32_t rate;    /* samples per second, 1..WATCH_RATE_MAX; if packets of both verdicts are
			     watched, each gets half, and at least one */
	uint32_t counter_id; /* only packets of this rule; RL_WATCH_ANY */
	bool has_prefix;     /* only packets from or to this prefix (mapped) */
	uint8_t addr[16];
	uint8_t len;
	bool quiet; /* says nothing where there is no free entry, nor when the instance is gone */
};

#define WATCH_RATE_MAX 100000u

/* Since watch_open. The samples received stand for all packets but those of slots that are not
 * over. */
struct watch_figures {
	uint64_t packets[2]; /* matching packets: dropped, passed */
	uint64_t lost;       /* that might have been samples, but the ring was full */
};

struct watch;

/* Claims an entry on the board. The instance must stay open as long as the watch. */
int watch_open(const struct instance *instance, const struct watch_options *options,
	       struct watch **out);
void watch_close(struct watch *watch); /* NULL is allowed */

/* Readable when samples are available. */
int watch_fd(const struct watch *watch);

typedef int watch_sample_fn(void *arg, const struct sampled *sample);

/* Passes the available samples to `sample`, in the order of time, until it returns non-zero, and
 * renews the entry if due. Does not wait. 0; -ENODEV, with a note, if the instance was detached;
 * another negative errno. */
int watch_poll(struct watch *watch, watch_sample_fn *sample, void *arg);

/* The samples of all slots that began before until_ns, though they may not be over. Nothing comes
 * after it. 0 or a negative errno. */
int watch_finish(struct watch *watch, uint64_t until_ns, watch_sample_fn *sample, void *arg);

/* Passes samples, waiting for them, until that time of CLOCK_MONOTONIC, and then as watch_finish().
 */
int watch_until(struct watch *watch, uint64_t end_ns, watch_sample_fn *sample, void *arg);

int watch_figures(const struct watch *watch, struct watch_figures *out);

/* A sample's time in nanoseconds since 1970. */
uint64_t watch_realtime(const struct watch *watch, uint64_t monotonic_ns);
