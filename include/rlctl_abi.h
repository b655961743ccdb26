/* SPDX-License-Identifier: GPL-2.0-only */
/* The only contract between the BPF programs and the command line: enums with their spellings, and
 * the layout of every map's keys and values. Both sides compile it; it has no behaviour. Times are
 * nanoseconds of CLOCK_MONOTONIC, addresses are 16 bytes in network order with IPv4 mapped into
 * ::ffff:0:0/96, ports are in host order.
 *
 * bpf/maps.h lists the maps with their keys and values, but for those that stand in bpf/common.h
 * and with the code that uses them. `sources` takes only the first RL_SHORT_KEY bytes of an
 * rl_state_key.
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
