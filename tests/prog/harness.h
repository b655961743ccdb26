/* SPDX-License-Identifier: GPL-2.0-only */
/* The real program with its maps, on no device: frames go in through BPF_PROG_TEST_RUN, time stands
 * until it is set, policies come as text. Whatever fails here ends the test.
 */
#pragma once

#include "algorithm/hot_key.h"
#include "cases.h"
#include "compile/compile.h"
#include "frame.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/object.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/state/alarms.h"
#include "kernel/state/bans.h"
#include "kernel/state/source.h"
#include "kernel/state/stats.h"
#include "random.h"

#define CPUS_MAX 256 /* that the counters can be read of */

struct harness_options {
	enum rl_hook hook;
	enum rl_table table;
	uint32_t sources, prefixes; /* 0: 4096 */
	uint32_t mtu;               /* 0: 1500 */
	uint32_t log_depth;         /* 0: RL_SLIDING_LOG_MAX */
	uint32_t bans;              /* 0: the usual */
	uint64_t program_uses;      /* of RL_USE_PROGRAM */
	const char *const *filters; /* that its policies may use, NULL behind the last; or NULL */
	enum rl_proof proof;
	uint64_t seed[2];
	uint32_t challenge_rate; /* 0: the usual */
	bool by_dest;
	bool real_time;    /* the machine's clock */
	bool no_shortcuts; /* include/abi/config.h */
	bool only_uses;    /* the program has no code but that of program_uses */
};

struct harness {
	int policy_maps[POLICY_MAP_COUNT];
	struct instance instance;
	struct hot_table table; /* sets NULL: not --table hot */
	struct rlctl_bpf *skel;
	struct sent_bpf *companion; /* NULL: it needs none */
	int program_fd;
	int entry_fd; /* the program to run: that one, or one that calls it */
	uint64_t now_ns;
};

/* NULL, and a line on stderr, where the program cannot be loaded. */
struct harness *harness_open(const struct harness_options *options);
void harness_close(struct harness *h);

/* The test fails where it cannot. */
struct harness *harness_must_open(const struct harness_options *options);

/* HARNESS(h, .hook = RL_HOOK_INGRESS): the variable h, open while the program's tests run. */
#define HARNESS(h, ...)                                                      \
	static struct harness *h;                                            \
	AT_START(h##_add)                                                    \
	{                                                                    \
		static const struct harness_options options = {__VA_ARGS__}; \
		harness_add(&h, &options);                                   \
	}
void harness_add(struct harness **h, const struct harness_options *options);

/* Functions that set a test up with a harness of its own, in the variable h, and tear it down. */
#define HARNESS_OF_EACH(set_up, tear_down, h, ...)                           \
	static int set_up(void **state)                                      \
	{                                                                    \
		static const struct harness_options options = {__VA_ARGS__}; \
		(void)state;                                                 \
		h = harness_open(&options);                                  \
		return h ? 0 : -1;                                           \
	}                                                                    \
	static int tear_down(void **state)                                   \
	{                                                                    \
		(void)state;                                                 \
		harness_close(h);                                            \
		return 0;                                                    \
	}

/* Statements apart by '\n' or ';'; the word rule may be left out. The policy in force is swapped
 * out as by `rlctl apply`; harness_renew: and no state is kept. */
void harness_policy(struct harness *h, const char *text);
void harness_renew(struct harness *h, const char *text);

/* Both clocks, and what `for` counts from. */
void harness_clock(struct harness *h, uint64_t now_ns);

/* The alarm of that name, as of the present; the test fails where there is none. */
struct alarm_now harness_alarm(struct harness *h, const char *name);

/* Sets what the sockets say of the packets that come from now on. Only where the program asks, and
 * not in real time. */
void harness_sockets(struct harness *h, enum rl_simulated_proof sockets);

/* ---- packets */

/* One system call: the frame's reason, with the verdict that goes with it. Not in real time. */
enum rl_reason harness_run(struct harness *h, const struct frame *frame);

/* The same, and checks the counters: one packet and all its bytes more under one reason. */
enum rl_reason harness_count(struct harness *h, const struct frame *frame);

/* harness_count, and what the frame has become: an answer. */
enum rl_reason harness_answer(struct harness *h, const struct frame *frame, struct frame *out);

/* harness_count for a frame in pieces, at hook xdp: so many bytes can be read in place. False, and
 * nothing was run, where the kernel's test run makes no such frames. */
bool harness_pieces(struct harness *h, const struct frame *frame, uint32_t linear,
		    enum rl_reason *reason);

/* Does the kernel's test run make frames of which nothing can be read in place? */
bool harness_has_empty_linear(struct harness *h);

/* harness_count for an skb, of hooks ingress and egress: in *skb goes what it is besides its data,
 * and what became of it comes out. It has to count as so many packets and bytes. */
struct __sk_buff;
enum rl_reason harness_skb(struct harness *h, const struct frame *frame, struct __sk_buff *skb,
			   uint64_t packets, uint64_t bytes);

/* This machine sends it, or forwards it: the companion of programs that keep whom it asked sees it.
 */
void harness_send(struct harness *h, const struct frame *frame, bool forwarded);

/* harness_run of a frame in words; harness_expect: harness_count, and it must come to this. */
enum rl_reason harness_words(struct harness *h, const char *words);
void harness_expect(struct harness *h, const char *name, const char *words, enum rl_reason reason);

/* From any thread: did it pass? Runs it so many times in one call. */
bool harness_passes(struct harness *h, const struct frame *frame);
void harness_repeat(struct harness *h, const struct frame *frame, uint32_t times);

/* harness_run of "ip4 udp" from that source; how many of so many packets were within. */
enum rl_reason harness_run_from(struct harness *h, const uint8_t addr[16]);
uint32_t harness_within(struct harness *h, const uint8_t addr[16], uint32_t packets);

/* ---- contents of the maps */

/* How often each reason was given since it was opened; how many packets passed. */
void harness_reasons(struct harness *h, struct rl_amount out[RL_REASON_COUNT]);
uint64_t harness_passed(struct harness *h);
uint64_t harness_pressure(struct harness *h, enum rl_pressure what);

/* The rule of that identity ("any udp deny"), and its counters. */
struct rule harness_rule(struct harness *h, const char *rule);
struct rule_counters harness_counters(struct harness *h, const char *rule);
struct rule_counters harness_counters_of(struct harness *h, const struct rule *rule);

/* The rule of that place in the policy, as the packets see it. */
struct rl_rule harness_numbers(struct harness *h, uint32_t index);

/* Where the hot table keeps the source under a limit per source; NULL: nowhere. */
struct hot_key harness_key(struct harness *h, const struct rl_rule *numbers,
			   const uint8_t addr[16]);
struct rl_hot_slot *harness_slot(struct harness *h, const struct rl_rule *numbers,
				 const uint8_t addr[16]);

/* `count` IPv4 sources from 10.FROM.0.0 on that share the set of the first. */
void harness_neighbours(struct harness *h, const struct rl_rule *numbers, uint8_t from,
			uint8_t (*out)[16], uint32_t count);

/* As `rlctl set add`, `del` and `swap` with members apart by ','; each may end in "for DURATION".
 * An empty list: `set flush`. */
void harness_set_add(struct harness *h, const char *set, const char *members);
void harness_set_delete(struct harness *h, const char *set, const char *members);
void harness_set_swap(struct harness *h, const char *set, const char *members);

/* Packets that members of the set sent or received. */
uint64_t harness_set_matched(struct harness *h, const char *set);

/* As `rlctl source forgive`. Answers how many states were found. */
size_t harness_forgive(struct harness *h, const uint8_t addr[16]);

/* ---- words */

const char *reason_name(enum rl_reason reason);
enum rl_reason reason_by_name(const char *name);
bool reason_is_pass(enum rl_reason reason);

/* Where several rules of a packet would drop it, any of them counts it, as rlctl-policy(5) says. */
bool reason_is_same(enum rl_reason a, enum rl_reason b);

/* A limit that lets n packets pass at once (warm-up: one), and then none for an hour. */
void limit_of(char *out, size_t size, enum rl_algorithm algorithm, unsigned int n);

/* ---- CPUs */

/* How many CPUs the program may use; the thread stays on the n-th of them, counted round. */
unsigned int cpus_usable(void);
void cpu_stay(unsigned int n);

/* How many CPUs share a rate with --table cpu. */
unsigned int cpus_sharing(void);
