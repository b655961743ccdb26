/* SPDX-License-Identifier: GPL-2.0-only */
/* Sliding log. Pure; compiles for BPF and for the host.
 *
 * Source: the sorted-set recipe of Redis (ZREMRANGEBYSCORE + ZCARD), made O(1): fewer than N
 * packets were admitted in (t - P, t] exactly if the N-th last admission is P or more ago, or never
 * was.
 *
 * State: a ring of `depth` times of admission (+ 1, 0 = none) and its head, the number of
 * admissions so far. An admission is the compare-and-swap of the head's place from the value of a
 * lap before, which is P or more ago, to now; then whoever comes first moves the head on. N and P
 * may change while a state lives.
 *
 * Range: N up to the depth; P up to 2^62 ns; any clock value.
 *
 * Race: none that admits too much. For places j and j + N hold times P or more apart, so of N + 1
 * times in one window two would be of one residue modulo N, and those are P or more apart: no
 * window of length P ever holds more than N, whatever order CPUs came in. A CPU that finds the
 * head's place taken moves the head on and looks again; after SLIDING_LOG_TRIES it refuses.
 */
#pragma once

#include <stdbool.h>

#include "algorithm/once.h"
#include "rlctl_abi.h"

#define SLIDING_LOG_TRIES 8

/* Was the admission kept in `entry` less than P before now (or after it, by another CPU)? */
static __always_inline bool sliding_log_recent(const struct rl_window *w, __u64 entry, __u64 now)
{
	return entry && (__s64)(now + 1 - entry) < (__s64)w->period_ns;
}

/* depth: a power of two, the size of the ring. */
static __always_inline __u64 *sliding_log_place(struct rl_log *log, __u64 index, __u32 depth)
{
	return &log->time[index & (depth - 1)];
}

/* Would `count` packets be admitted at once, 1..N? */
static __always_inline bool sliding_log_admits(const struct rl_window *w, struct rl_log *log,
					       __u64 now, __u32 depth, __u64 count)
{
	__u64 last = READ_ONCE(log->head) + count - 1;

	return !sliding_log_recent(w, READ_ONCE(*sliding_log_place(log, last - w->amount, depth)),
				   now);
}

/* When the N-th last admission, which refuses now, leaves the window. Nanoseconds. */
static __always_inline __u64 sliding_log_end(const struct rl_window *w, struct rl_log *log,
					     __u32 depth)
{
	__u64 head = READ_ONCE(log->head);

	return READ_ONCE(*sliding_log_place(log, head - w->amount, depth)) - 1 + w->period_ns;
}

/* Admits and consumes, or refuses and changes nothing. *taken is what sliding_log_refund needs. */
static __always_inline bool sliding_log_consume(const struct rl_window *w, struct rl_log *log,
						__u64 now, __u32 depth, __u64 *taken)
{
	for (int i = 0; i < SLIDING_LOG_TRIES; i++) {
		__u64 head = READ_ONCE(log->head);
		__u64 *place = sliding_log_place(log, head, depth);
		__u64 old = READ_ONCE(*place);
		bool won = false;

		if (sliding_log_recent(
			    w, READ_ONCE(*sliding_log_place(log, head - w->amount, depth)), now))
			return false;
		if (!sliding_log_recent(w, old, now))
			won = __sync_val_compare_and_swap(place, old, now + 1) == old;
		__sync_val_compare_and_swap(&log->head, head, head + 1);
		if (won) {
			*taken = head;
			return true;
		}
	}
	return false;
}

/* Gives back the admission in the newest place, or moves the newest into the place of `taken`;
 * false: another CPU was first. *hole is the place that is free then. */
static __always_inline bool sliding_log_shrink(struct rl_log *log, __u32 depth, __u64 head,
					       __u64 *hole)
{
	__u64 *newest = sliding_log_place(log, head - 1, depth);
	__u64 time = READ_ONCE(*newest);

	if (head - 1 != *hole) {
		if (!time || __sync_val_compare_and_swap(newest, time, 0) != time)
			return false;
		WRITE_ONCE(*sliding_log_place(log, *hole, depth), time);
		*hole = head - 1;
	} else {
		WRITE_ONCE(*newest, 0);
	}
	return __sync_val_compare_and_swap(&log->head, head, head - 1) == head;
}

/* May an admission of another place, at entry - 1, stand in this one, where `least` stood? Its
 * clock may be a little behind; then what stands N places before has to be P before it too. */
static __always_inline bool sliding_log_fits(const struct rl_window *w, struct rl_log *log,
					     __u32 depth, __u64 place, __u64 entry, __u64 least)
{
	if ((__s64)(entry - least) >= 0)
		return true;
	return w->amount < depth &&
	       !sliding_log_recent(w, READ_ONCE(*sliding_log_place(log, place - w->amount, depth)),
				   entry - 1);
}

/* Gives back. Admissions of other CPUs since then stay: their newest takes the free place, so that
 * only the newest place is ever empty and the head goes back over it. Bound: at most one packet too
 * few is admitted, and never one too many. That is where so much was admitted since that the place
 * counts for others, or where all SLIDING_LOG_TRIES were lost: the packet then counts until the one
 * before it leaves the window, less than P. */
static __always_inline void sliding_log_refund(const struct rl_window *w, struct rl_log *log,
					       __u32 depth, __u64 taken)
{
	__u64 least = READ_ONCE(*sliding_log_place(log, taken, depth)), hole = taken;

	for (int i = 0; i < SLIDING_LOG_TRIES; i++) {
		__u64 head = READ_ONCE(log->head);
		__u64 newest = READ_ONCE(*sliding_log_place(log, head - 1, depth));

		if ((__s64)(head - hole) <= 0) {
			WRITE_ONCE(*sliding_log_place(log, hole, depth), 0);
			return; /* it is not counted yet */
		}
		if (head - hole > w->amount ||
		    (newest && !sliding_log_fits(w, log, depth, hole, newest, least)))
			break;
		if (sliding_log_shrink(log, depth, head, &hole))
			return;
	}
	if (depth > 1)
		WRITE_ONCE(*sliding_log_place(log, hole, depth),
			   READ_ONCE(*sliding_log_place(log, hole - 1, depth)));
}
