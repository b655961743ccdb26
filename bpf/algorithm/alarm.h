/* SPDX-License-Identifier: GPL-2.0-only */
/* When an alarm goes on and off. Pure; also compiled into rlctl, which says the state of an alarm
 * between packets, and into tests.
 *
 * An alarm that is off goes on at the end of a tenth if the last `tenths` tenths, this one
 * included, each had more than phase[0].limit; or if the last three times as many had more than
 * `most` together, and ALARM_PULSES of them or more each had more than phase[0].limit. One that is
 * on goes off if the last `tenths` tenths each had less than phase[1].limit. After a change, tenths
 * begin anew at its instant, and what came before it counts no more. So between two changes at
 * least the time of the second condition passes, and to go on again at least three tenths.
 *
 * Arrivals in one or two tenths never turn it on, however many they are; a burst that is shorter
 * than a tenth is in two where it lies across the end of one. Arrivals of a mean above the rate
 * over three durations that begin with a tenth do, if ALARM_PULSES tenths were over. Three
 * durations that begin anywhere touch one tenth more, and one of the two windows of whole tenths
 * has all but the smaller of the two parts at the ends, that is at least half: so arrivals with a
 * mean of twice the rate do, by the end of the last tenth that is touched, if ALARM_PULSES + 1
 * tenths were over.
 */
#pragma once

#include <stdbool.h>

#include "rlctl_abi.h"

#define ALARM_PULSES 3 /* tenths over the rate that are no single bursts */

/* The last three durations with one tenth more. No branch: the verifier follows each. */
static inline void alarm_keep(struct rl_alarm_state *s, const struct rl_alarm *a, __u64 amount,
			      __u32 over)
{
	__u32 window = RL_ALARM_DURATIONS * a->phase[0].tenths;

	s->sum += amount - s->recent[(s->tenth - window) % RL_ALARM_RECENT];
	s->over = (s->over << 1 | over) & ((1u << (window % RL_ALARM_RECENT)) - 1);
	s->recent[s->tenth % RL_ALARM_RECENT] = amount;
	s->tenth++;
}

/* Were there ALARM_PULSES or more? */
static inline bool alarm_pulses(const struct rl_alarm_state *s, const struct rl_alarm *a)
{
	__u32 but_two = s->over & (s->over - 1);

	but_two &= but_two - 1;
	return s->sum > a->most && but_two;
}

/* May packets of now be those for which it is on, or for which it will be? */
static inline bool alarm_is_uneasy(const struct rl_alarm_state *s)
{
	return s->on || s->over;
}

/* A change at the end of a tenth. */
static inline void alarm_turn(struct rl_alarm_state *s, __u64 at_ns)
{
	s->on = !s->on;
	s->since_ns = at_ns;
	s->changes++;
	s->run = 0;
	s->tenth_began_ns = at_ns;
	s->sum = 0;
	s->over = 0;
	__builtin_memset(s->recent, 0, sizeof(s->recent));
}

/* The end of a tenth while it is off: does it go on? */
static inline bool alarm_goes_on(struct rl_alarm_state *s, const struct rl_alarm *a)
{
	const struct rl_alarm_phase *phase = &a->phase[0];
	bool over = s->last > phase->limit;

	alarm_keep(s, a, s->last, over);
	s->run = over ? s->run + 1 : 0;
	return s->run >= phase->tenths || alarm_pulses(s, a);
}

/* The same while it is on. */
static inline bool alarm_goes_off(struct rl_alarm_state *s, const struct rl_alarm *a)
{
	s->run = s->last < a->phase[1].limit ? s->run + 1 : 0;
	return s->run >= a->phase[1].tenths;
}

/* `empty` tenths without a packet, the first from tenth_began_ns on. They turn none on: what came
 * in the last three durations only becomes less. */
static inline void alarm_pass_empty(struct rl_alarm_state *s, const struct rl_alarm *a, __u64 empty)
{
	const struct rl_alarm_phase *phase = &a->phase[s->on & 1];
	__u64 left = phase->tenths - s->run;

	s->last = 0;
	if (s->on && empty >= left)
		return alarm_turn(s, s->tenth_began_ns + left * phase->tenth_ns);
	s->run = s->on ? s->run + (__u32)empty : 0;
	s->tenth_began_ns += empty * phase->tenth_ns;
	for (__u32 i = 0; i < RL_ALARM_RECENT && i < empty; i++)
		alarm_keep(s, a, 0, 0);
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
	__u64 ended, end_ns = s->tenth_began_ns + phase->tenth_ns;

	if (!s->tenth_began_ns) {
		s->tenth_began_ns = now_ns;
		s->counted = counted;
		return;
	}
	if (now_ns < end_ns)
		return;
	s->last = counted - s->counted;
	s->counted = counted;
	if (s->on ? alarm_goes_off(s, a) : alarm_goes_on(s, a))
		alarm_turn(s, end_ns);
	else
		s->tenth_began_ns = end_ns;
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
