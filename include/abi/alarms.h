/* SPDX-License-Identifier: GPL-2.0-only */
/* Alarms of a policy: what they count, and whether they are on. Part of rlctl_abi.h.
 *
 * An alarm counts by a rule of the group rl_policy_header.alarms: element `first + n` of the
 * rules array is that of alarm n. Packets count for each alarm whose rule holds, before any rule
 * decides. The first packet after the end of a tenth moves all alarms on whose tenth has ended,
 * before it is counted itself: bpf/algorithm/alarm.h. A reader of an alarm does the same with a
 * copy, because an alarm ends without packets, too.
 *
 * A manual alarm counts nothing and has no rule; those stand after the others. It is one whose
 * first rate is never reached, and whose second is never reached either: it goes off after the one
 * tenth of phase[1], which is as long as `rlctl alarm on NAME for DURATION` says. The command
 * writes its state while packets read it: user/kernel/state/alarms.c.
 */
#pragma once

#include <linux/types.h>

#include "abi/policy.h"
#include "abi/state.h"

#define RL_ALARM_TENTH_MIN 100000000ull /* nanoseconds */
#define RL_ALARM_TENTHS    10
#define RL_ALARM_DURATIONS 3  /* over so many of the first, pulses and pauses are summed up */
#define RL_ALARM_RECENT    32 /* tenths that are kept: those, as a power of two */
#define RL_ALARM_NEVER     (1ull << 62) /* a tenth that does not end: 146 years */

/* One of an alarm's two conditions, as the operator wrote it and as packets read it. */
struct rl_alarm_phase {
	__u64 amount;    /* N of RATE, in the alarm's unit; > 0 */
	__u64 period_ns; /* P of RATE */
	__u64 for_ns;    /* DURATION */
	__u64 tenth_ns;  /* for_ns / tenths, at least RL_ALARM_TENTH_MIN */
	__u64 limit;     /* packets or bytes in a tenth. On: it was more than this in each tenth;
			  * off: it was less than this */
	__u32 tenths;    /* 1..RL_ALARM_TENTHS */
	__u32 pad;
};
_Static_assert(sizeof(struct rl_alarm_phase) == 48, "rl_alarm_phase");

/* Where it stands. The one packet that moves alarms on writes it. */
struct rl_alarm_state {
	__u64 tenth_began_ns; /* CLOCK_MONOTONIC; 0: no packet has come yet */
	__u64 counted;        /* rl_alarm_counts of all CPUs when this tenth began */
	__u64 last;           /* packets or bytes in the last tenth that has ended */
	__u64 since_ns;       /* CLOCK_MONOTONIC of the last change; 0: it has not been on yet */
	__u64 changes;        /* times that it went on or off */
	__u32 run;            /* tenths in a row for which the condition of the change held */
	__u32 on;             /* 1: it is */
	__u32 tenth;          /* of `recent`, by its remainder: the one after the last that ended */
	__u32 over;           /* bits: which of the last three durations' tenths were over the first
			       * rate, the last that ended lowest */
	__u64 sum;            /* packets or bytes in all of them, */
	__u64 recent[RL_ALARM_RECENT]; /* and in each; all of them only while it is off */
};
_Static_assert(sizeof(struct rl_alarm_state) == 320, "rl_alarm_state");

struct rl_alarm {
	char name[RL_ALARM_NAME_MAX + 1];
	struct rl_alarm_phase phase[2]; /* to go on, to go off: that which is asked is phase[on] */
	__u64 most; /* packets or bytes that the first rate gives in the tenths of three DURATIONs
		     */
	struct rl_alarm_state state;
	__u8 unit; /* enum rl_unit of both; bits are counted as bytes */
	__u8 manual;
	__u8 pad[6];
	char comment[RL_COMMENT_MAX + 8];
};
_Static_assert(sizeof(struct rl_alarm) == 592, "rl_alarm");

/* All alarms of a policy, those that count first, each kind in the order of names: the one element
 * of a map for each half. */
struct rl_alarms {
	__u64 next_ns;   /* when a tenth of one of them ends; ~0: a packet is at it */
	__u32 on;        /* a bit for each that is on */
	__u32 count;     /* 0..RL_ALARMS_MAX */
	__u64 uneasy_ns; /* until when one of rl_policy_header.guards is on, or had a tenth over its
			  * first rate in the last three DURATIONs; CLOCK_MONOTONIC */
	struct rl_alarm alarm[RL_ALARMS_MAX];
};
_Static_assert(sizeof(struct rl_alarms) == 24 + RL_ALARMS_MAX * sizeof(struct rl_alarm),
	       "rl_alarms");

/* The counts of one CPU, by number of the alarm: packets or bytes. One after the other for each
 * possible CPU, they are the one element of a map for each half. */
struct rl_alarm_counts {
	__u64 count[RL_ALARMS_MAX];
};
_Static_assert(sizeof(struct rl_alarm_counts) == 128, "rl_alarm_counts: two cache lines");
