/* SPDX-License-Identifier: GPL-2.0-only */
/* The facts that matches of struct rl_extra, and `not` in front of any, ask for beside the fields
 * that all policies ask for. Only with EXTENDED, and there only where the policy has such a match:
 * elsewhere neither the fields nor an instruction.
 *
 * A field is missing if the packet has no such header: a match of it is false, plain and under
 * `not`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>

#include "algorithm/share.h"
#include "config.h"
#include "rlctl_abi.h"
#include "variant.h"

#if EXTENDED

/* Under a limit that senders share: enum rl_share_class, and of a stranger its bins and its draw.
 */
struct sender {
	__u32 bin[4]; /* of RL_ROWS; a power of two, for the verifier */
	struct share_draw draw;
	__u64 level;    /* of its bucket, before the packet; 0 of a stranger */
	__u32 limit_id; /* of the one with `share` that was asked last; 0: none */
	__u8 busy;      /* senders are asked for their class */
	__u8 admitted;  /* and whether it admitted the packet */
};

struct facts {
	__u16 number[RL_NUMBERS]; /* enum rl_number */
	__u32 filters;            /* bits of those that hold: filter.h */
	__u64 src_sets, dst_sets; /* bits of the sets that the addresses are in: sets.h */
	__u32 alarms;             /* bits of those that are on: alarm.h */
	__u16 lacks;              /* rl_match.flags that ask for what it does not have */
	__u16 network;            /* offset of the IP header, as packet.transport */
	__u16 payload;            /* offset of what follows the transport header */
	__u16 payload_bytes; /* of the packet from there on; 0: it has none, or no such header */
	__u32 room;          /* bytes of the frame from the IP header on */
	__u16 copied, copied_end; /* which bytes of it are in the map payload: payload.h */
	__u32 ripens_ms;          /* rl_policy_header.ripens_ms */
	__u8 half;                /* of the policy; where it has alarms */
	__u8 member_len; /* with KEYS_BY_MEMBER: of the member that the limits are of, 0..128 */
	struct sender sender; /* with shares_limits, of the limit that was asked last */
};

/* The word of struct packet that a field of the facts begins with. */
#define FACTS_WORD(field) (RL_WORD_NUMBERS + offsetof(struct facts, field) / 2)
_Static_assert(FACTS_WORD(filters) == RL_WORD_FILTERS && FACTS_WORD(src_sets) == RL_WORD_SRC_SETS &&
		       FACTS_WORD(dst_sets) == RL_WORD_DST_SETS,
	       "conditions find them by their place");

/* A number that conditions compare. */
#define FACT(name) fact->number[RL_NUMBER_##name]

/* Assignments to fields of `fact`, computed where something asks for one. Each use loads the
 * constant anew, so that facts which are found at once stand together. */
#define FACTS(p, ...)                                     \
	do {                                              \
		if (config.matches_extra) {               \
			struct facts *fact = &(p)->facts; \
			__VA_ARGS__;                      \
		}                                         \
	} while (0)

#define FACT_PAYLOAD(p, header, bytes)                                          \
	do {                                                                    \
		if (config.matches_payload) {                                   \
			(p)->facts.payload = (p)->transport + (header);         \
			(p)->facts.payload_bytes = (__u16)((bytes) - (header)); \
		}                                                               \
	} while (0)

#else

#define FACTS(p, ...)                  ((void)(p))
#define FACT_PAYLOAD(p, header, bytes) ((void)(p))

#endif

#define LACKS_PORTS             (RL_MATCH_SPORT | RL_MATCH_DPORT | RL_HAS_PORTS)
#define LACKS_TCP               (RL_MATCH_SYN | RL_HAS_TCP)
#define LACKS_WITHOUT_TRANSPORT (LACKS_PORTS | LACKS_TCP | RL_HAS_ICMP | RL_HAS_PAYLOAD)
#define LACKS_OF_TCP            RL_HAS_ICMP
#define LACKS_OF_UDP            (LACKS_TCP | RL_HAS_ICMP)
#define LACKS_OF_SCTP           (LACKS_OF_UDP | RL_HAS_PAYLOAD)
#define LACKS_OF_ICMP           (LACKS_PORTS | LACKS_TCP)

static __always_inline __u8 dscp_of_ipv6(const struct ipv6hdr *ip)
{
	return ip->priority << 2 | ip->flow_lbl[0] >> 6;
}

static __always_inline __u8 flags_of_tcp(const struct tcphdr *tcp)
{
	return ((const __u8 *)tcp)[13];
}
