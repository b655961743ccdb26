/* SPDX-License-Identifier: GPL-2.0-only */
/* When an alarm goes on and off. Pure; also compiled into rlctl, which tells the state of an alarm
 * between packets, and into tests.
 *
 * An alarm that is off goes on at the end of a tenth if the last `tenths` tenths, this one
 * included, each had more than phase[0].limit; one that is on goes off if they each had less than
 * phase[1].limit. After a change, tenths begin anew at its instant. So between two changes at least
 * the time of the second condition passes, whatever the packets do.
 */
#ifndef RLCTL_BPF_ALGORITHM_ALARM_H
#define RLCTL_BPF_ALGORITHM_ALARM_H

#include <stdbool.h>

#include "rlctl_abi.h"

/* A change at the end of `run` tenths in a row from tenth_began_ns on. */
static inline void alarm_turn(struct rl_alarm_state *s, __u64 at_ns)
{
	s->on = !s->on;
	s->since_ns = at_ns;
	s->changes++;
	s->run = 0;
	s->tenth_began_ns = at_ns;
}

/* `empty` tenths without a packet, the first from tenth_began_ns on. */
static inline void alarm_pass_empty(struct rl_alarm_state *s, const struct rl_alarm *a, __u64 empty)
{
	const struct rl_alarm_phase *phase = &a->phase[s->on & 1];
	__u64 left = phase->tenths - s->run;

	s->last = 0;
	if (s->on && empty >= left)
		return alarm_turn(s, s->tenth_began_ns + left * phase->tenth_ns);
	s->run = s->on ? s->run + (__u32)empty : 0;
	s->tenth_began_ns += empty * phase->tenth_ns;
}

/* Tenths that have ended by now. */
static inline __u64 alarm_ended(const struct rl_alarm_state *s, const struct rl_alarm *a,
				__u64 now_ns)
{
	return (now_ns - s->tenth_began_ns) / a->phase[s->on & 1].tenth_ns;
}

/* Brings the state to `now_ns`, which is no earlier than in former calls, before a packet of that
 * time is counted; `counted`: all that was counted so far. It belongs to the tenth that was
 * current, because every packet calls this first. */
static inline void alarm_advance(struct rl_alarm_state *s, const struct rl_alarm *a, __u64 now_ns,
				 __u64 counted)
{
	const struct rl_alarm_phase *phase = &a->phase[s->on & 1];
	__u64 ended;
	bool holds;

	if (!s->tenth_began_ns) {
		s->tenth_began_ns = now_ns;
		s->counted = counted;
	}
	if (now_ns < s->tenth_began_ns + phase->tenth_ns)
		return;
	s->last = counted - s->counted;
	s->counted = counted;
	holds = s->on ? s->last < phase->limit : s->last > phase->limit;
	s->run = holds ? s->run + 1 : 0;
	if (s->run >= phase->tenths)
		alarm_turn(s, s->tenth_began_ns + phase->tenth_ns);
	else
		s->tenth_began_ns += phase->tenth_ns;
	/* The rest is empty: at most it ends an alarm, and then nothing begins one. */
	ended = alarm_ended(s, a, now_ns);
	if (ended)
		alarm_pass_empty(s, a, ended);
	ended = alarm_ended(s, a, now_ns);
	if (ended)
		alarm_pass_empty(s, a, ended);
}

/* When the tenth that is current ends. */
static inline __u64 alarm_next(const struct rl_alarm_state *s, const struct rl_alarm *a)
{
	return s->tenth_began_ns + a->phase[s->on & 1].tenth_ns;
}

#endif
