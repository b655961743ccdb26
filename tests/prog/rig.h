/* SPDX-License-Identifier: GPL-2.0-only */
/* The program with any table, size and seed, and a look into its hot table. What bed.h has and this
 * has not (counters, scripts) is left out so that a frame costs one system call.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "algorithm/hot_hash.h"
#include "bed.h"
#include "hot_table.h"
#include "bans.h"
#include "compile.h"
#include "instance.h"
#include "map_in_map.h"
#include "object.h"
#include "slots.h"

struct rig_options {
	uint32_t sources;   /* 0: 4096 */
	uint32_t bans;      /* 0: the usual */
	uint32_t log_depth; /* 0: 64 */
	enum rl_table table;
	uint64_t seed[2];
	bool by_dest;
};

struct rig {
	struct instance instance;
	struct hot_table table; /* sets NULL: --table lru */
	struct rlctl_bpf *skel;
	int program_fd;
	uint64_t now_ns;
};

/* NULL, and a line on stderr, where the program cannot be loaded. */
struct rig *rig_open(const struct rig_options *options);
void rig_close(struct rig *rig);

/* A frame whose addresses change from packet to packet. */
struct frame {
	struct shape shape;
};

/* words as of shape.h. Addresses are mapped, ports in host order; ports are those of UDP or TCP. */
void frame_build(struct frame *frame, const char *words);
void frame_source(struct frame *frame, const uint8_t addr[16]);
void frame_dest(struct frame *frame, const uint8_t addr[16]);
void frame_ports(struct frame *frame, uint16_t sport, uint16_t dport);

/* 10.0.0.0/8 and 2001:db8::/32, by number. */
void address_ip4(uint8_t out[16], uint32_t number);
void address_ip6(uint8_t out[16], uint32_t network, uint32_t host);

/* Statements apart by ';', without the word rule. */
void rig_policy(struct rig *rig, const char *rules);
void rig_clock(struct rig *rig, uint64_t now_ns);

/* From one thread at a time. */
enum rl_reason rig_run(struct rig *rig, const struct frame *frame);

/* From any thread: only whether it passed. */
bool rig_passes(struct rig *rig, const struct frame *frame);

/* rig_run of "ip4 udp" from that source. */
enum rl_reason rig_run_from(struct rig *rig, const uint8_t addr[16]);

/* How many of so many packets from the source, at this instant, were within. */
uint32_t rig_within(struct rig *rig, const uint8_t addr[16], uint32_t packets);

/* The rule of that place in the policy, as the packets see it. */
struct rl_rule rig_numbers(struct rig *rig, uint32_t index);

/* Where the table keeps the source under a limit per source; NULL: nowhere. */
struct hot_key rig_key(struct rig *rig, const struct rl_rule *numbers, const uint8_t addr[16]);
struct rl_hot_slot *rig_slot(struct rig *rig, const struct rl_rule *numbers,
			     const uint8_t addr[16]);

/* `count` IPv4 sources from 10.FROM.0.0 on that share the set of the first. */
void rig_neighbours(struct rig *rig, const struct rl_rule *numbers, uint8_t from,
		    uint8_t (*out)[16], uint32_t count);

uint64_t rig_pressure(struct rig *rig, enum rl_pressure what);

/* As `rlctl source forgive`. Answers how many states were found. */
size_t rig_forgive(struct rig *rig, const uint8_t addr[16]);

uint64_t random_next(uint64_t *seed);
uint32_t random_of(uint64_t *seed, uint32_t bound);

#endif
