/* SPDX-License-Identifier: GPL-2.0-only */
/* The only contract between the BPF programs and the command line: enums with their spellings, and
 * the layout of every map's keys and values. Both sides compile it; it has no behaviour. Times are
 * nanoseconds of CLOCK_MONOTONIC, addresses are 16 bytes in network order with IPv4 mapped into
 * ::ffff:0:0/96, ports are in host order.
 *
 * Maps (bpf/maps.h), and where their values are described. "by number" is a __u32 index.
 *
 *   map                          key                value                          in
 *   policy                       0                  rl_policy_header               abi/policy.h
 *   rules                        by number          rl_rule
 *   tries                        rl_prefix_key      rl_prefix_value
 *   extras                       by number          rl_extra
 *   sources, flows               rl_state_key (1)   rl_state                       abi/state.h
 *   windows                      rl_state_key       rl_slots
 *   logs                         rl_state_key       rl_log
 *   shared, shared_chunks        counter_id         rl_shared_state
 *   batches                      counter_id         rl_batch, per CPU
 *   bans, ban_seats              rl_state_key, seat rl_ban, rl_ban_seat
 *   hot                          by hash            rl_hot_set
 *   spilled                      fingerprint        __u64: the word of an rl_hot_slot
 *   refusals                     by hash            rl_refusal_set
 *   prefix_cache                 by hash            rl_prefix_set
 *   known_filter                 0                  rl_known_set, by hash
 *   creations                    rl_lru             __u64: nanoseconds, per CPU
 *   pressure                     rl_pressure        __u64: a sum, per CPU
 *   reasons                      rl_reason          rl_amount, per CPU
 *   rule_counters, its chunks    by block of slots  rl_counters_block, by CPU
 *   fresh, headers, scratch      0                  scratch of the packets; this CPU's last refusal
 *   .data.watch                  0                  rl_board                       abi/watch.h
 *   watch_counts                 stream             rl_watch_count, per CPU
 *   rings                        watcher            ring buffer of rl_sample
 *   accounts                     limit_id           rl_state                       abi/state.h
 *   fleet_limits                 limit_id           rl_fleet_limit                 abi/fleet.h
 *   fleet_grants                 rl_state_key       rl_fleet_grant
 *   fleet_keys                   rl_state_key       rl_fleet_key
 *   fleet_events                 0                  ring buffer of rl_state_key
 *   fleet_session                0                  rl_fleet_session
 *   asked                        0                  rl_asked                       abi/proof.h
 *   peers                        0                  rl_peers
 *   answers                      0                  rl_answers
 *   simulated                    0                  rl_simulated_batch             abi/simulated.h
 *   instance                     0                  rl_instance                    abi/instance.h
 *   filters                      0                  rl_filters                     abi/filter.h
 *   sets                         by number          rl_set                         abi/sets.h
 *   members                      rl_member_key      rl_member_page
 *   member_layout                0                  rl_member_layout
 *   set_groups                   0                  rl_set_groups
 *   set_counts                   by number of set   rl_amount, per CPU
 *   alarms                       half, then 0       rl_alarms                      abi/alarms.h
 *   alarm_counts                 half, then 0       rl_alarm_counts, of each CPU
 *   shares                       0                  rl_shares                      abi/share.h
 *   share_counts                 rl_parts.index     rl_share_counts, of each CPU
 *   connections                  0                  rl_connections abi/connections.h
 *
 * (1) `sources` takes only the first RL_SHORT_KEY bytes of it.
 */
#pragma once

#define RL_ABI_VERSION 24u

#include "abi/alarms.h"
#include "abi/config.h"
#include "abi/connections.h"
#include "abi/fields.h"
#include "abi/filter.h"
#include "abi/fleet.h"
#include "abi/instance.h"
#include "abi/names.h"
#include "abi/policy.h"
#include "abi/proof.h"
#include "abi/sets.h"
#include "abi/share.h"
#include "abi/state.h"
#include "abi/watch.h"
