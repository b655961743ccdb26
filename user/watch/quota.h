/* SPDX-License-Identifier: GPL-2.0-only */
/* How many events of an instance are told: at most QUOTA_RATE a second of each kind, and at once if
 * there were none for a second. Others are counted, and told of together, once a second. Pure. */
#pragma once

#include "watch/event.h"

#define QUOTA_RATE 20

struct quota {                              /* zero-initialised */
	uint64_t free_ns[EVENT_KIND_COUNT]; /* as a GCRA: when the allowance is full again */
	uint64_t lost[EVENT_KIND_COUNT];
	uint64_t told_ns; /* when losses were last told */
};

/* May the event be told? If not, it is counted. */
bool quota_take(struct quota *quota, enum event_kind kind, uint64_t now_ns);

/* Counts events that were not even made. */
void quota_lose(struct quota *quota, enum event_kind kind, uint64_t count);

/* Fills in an EVENT_LOST of what was lost, if there is any and the last one was a second ago, or
 * `at_once`. */
bool quota_tell(struct quota *quota, uint64_t now_ns, bool at_once, struct event *out);
