/* SPDX-License-Identifier: GPL-2.0-only */
/* The real program with its maps, on no device: frames go in through BPF_PROG_TEST_RUN, time stands
 * until it is set, policies come as text. Whatever fails here ends the test.
 */
#ifndef TESTS_BED_H
#define TESTS_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "instance.h"
#include "policy_write.h"
#include "source.h"
#include "stats.h"
#include "shape.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct bed;

struct bed_options {
	uint32_t sources, prefixes; /* 0: 4096, 128 */
	uint32_t mtu;               /* 0: 1500 */
	bool by_dest;
	enum rl_hook hook;
};

/* NULL, and a line on stderr, where the program cannot be loaded. */
struct bed *bed_open(const struct bed_options *options);
void bed_close(struct bed *bed);

/* Statements apart by '\n' or ';'. What was in force is swapped out as by `rlctl apply`. */
void bed_policy(struct bed *bed, const char *text);

/* Both clocks, and what `for` counts from. */
void bed_clock(struct bed *bed, uint64_t now_ns);

/* Runs the frame, and checks what holds for each: one packet and all its bytes more under one
 * reason, and the verdict that goes with that. */
enum rl_reason bed_run(struct bed *bed, const struct shape *shape);

/* The same for a frame in pieces, at hook xdp: so many bytes can be read in place. False, and
 * nothing was run, where the kernel's test run makes no such frames. */
bool bed_run_pieces(struct bed *bed, const struct shape *shape, uint32_t linear,
		    enum rl_reason *reason);

/* The same for an skb, of hooks ingress and egress: in *skb goes what it is besides its data, and
 * what became of it comes out. It has to count as so many packets and bytes. */
struct __sk_buff;
enum rl_reason bed_run_skb(struct bed *bed, const struct shape *shape, struct __sk_buff *skb,
			   uint64_t packets, uint64_t bytes);

/* Another program to run instead, that runs this one; the program's own descriptor. */
void bed_enter_by(struct bed *bed, int program_fd);
int bed_program(const struct bed *bed);

/* Runs it so many times in one call, and checks nothing: threads may. bed_resync comes before the
 * next bed_run then. */
void bed_repeat(struct bed *bed, const struct shape *shape, uint32_t times);
void bed_resync(struct bed *bed);

/* bed_run of a frame in words. */
enum rl_reason bed_run_words(struct bed *bed, const char *words);

/* bed_run_words, and it must come to this. `name` is said where it does not. */
void bed_expect(struct bed *bed, const char *name, const char *words, enum rl_reason reason);

/* How often each reason was given since the bed was opened. */
void bed_reasons(struct bed *bed, struct rl_amount out[RL_REASON_COUNT]);

/* The counters of the rule of that identity ("any udp deny"), and the rule itself. */
struct rl_rule_counters bed_counters(struct bed *bed, const char *rule);
struct rule bed_rule(struct bed *bed, const char *rule);

/* Entries of the state map. */
uint32_t bed_states(struct bed *bed);

const char *reason_name(enum rl_reason reason);
enum rl_reason reason_by_name(const char *name);
bool reason_is_pass(enum rl_reason reason);

#endif
