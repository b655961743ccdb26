/* SPDX-License-Identifier: GPL-2.0-only */
/* The fields of a packet that a rule can match: the only list. Part of rlctl_abi.h.
 *
 * X(BIT, NAME, "word", KIND, HEADER, MAX, "argument"), in the order in which they are printed.
 *
 * BIT     of struct match (user/policy/policy.h), 0 to 29; a new number takes the next free one,
 *         another field one below 16.
 * KIND    of its argument. RANGE is N or N-N, DSCP and ICMP are numbers with names, FLAGS are bits
 *         and those that count: these four are numbers that the parser of packets notes
 *         (bpf/packet/packet.h: FACT) and conditions compare. FACT has no argument.
 * HEADER  that a packet must have; without it the match is false, plain and under `not`. A number
 *         is in IP, PORTS, TCP or ICMP.
 * MAX     the largest number; a longer IP packet (IPv6, whose header does not count) has that one.
 * argument: of a RANGE, as errors describe it.
 */
#pragma once

#define RL_FIELDS(X)                                                                          \
	X(0, PROTO, "proto", PROTOCOL, IP, 255, "")                                           \
	X(13, ICMP_TYPE, "icmp-type", ICMP, ICMP, 65535, "") /* type << 8 | code */           \
	X(1, SPORT, "sport", PORTS, PORTS, 65535, "")                                         \
	X(2, DPORT, "dport", PORTS, PORTS, 65535, "")                                         \
	X(3, SRC, "src", ADDRESS, IP, 0, "")                                                  \
	X(4, DST, "dst", ADDRESS, IP, 0, "")                                                  \
	X(5, SYN, "syn", FACT, TCP, 0, "")                                                    \
	X(9, TCP_FLAGS, "flags", FLAGS, TCP, 255, "") /* 14th byte of the header */           \
	X(10, LENGTH, "length", RANGE, IP, 65535,                                             \
	  "a length of the IP packet in bytes: write for example 64 or 0-127")                \
	X(11, TTL, "ttl", RANGE, IP, 255, "a TTL or hop limit: write for example 255 or 0-1") \
	X(12, DSCP, "dscp", DSCP, IP, 63, "")                                                 \
	X(16, VLAN, "vlan", RANGE, IP, 4095, /* of the outer tag; 0: none, or of priority */  \
	  "a VLAN: write for example 100 or 100-199, or 0 for frames without a tag")          \
	X(6, FRAGMENT, "fragment", FACT, IP, 0, "") /* any, the first included */             \
	X(14, PAYLOAD, "payload", PAYLOAD, PAYLOAD, 0, "")                                    \
	X(15, FILTER, "filter", FILTER, IP, 0, "")                                            \
	X(7, NEW_SOURCE, "new-source", FACT, IP, 0, "")   /* bpf/match/known_source.h */      \
	X(8, ESTABLISHED, "established", FACT, IP, 0, "") /* bpf/proof/proof.h */

#define RL_FIELD_ENUM(bit, name, ...) RL_FIELD_##name = bit,
enum rl_field { RL_FIELDS(RL_FIELD_ENUM) };

#define RL_MATCH_ENUM(bit, name, ...) RL_MATCH_##name = 1 << bit,
enum rl_match_flag { RL_FIELDS(RL_MATCH_ENUM) };

#define RL_FIELD_ONE(...) +1
#define RL_FIELD_COUNT    (0 RL_FIELDS(RL_FIELD_ONE))

/* Those that are numbers. */
#define RL_NUMBER_IF_PROTOCOL(...)
#define RL_NUMBER_IF_PORTS(...)
#define RL_NUMBER_IF_ADDRESS(...)
#define RL_NUMBER_IF_FACT(...)
#define RL_NUMBER_IF_PAYLOAD(...)
#define RL_NUMBER_IF_FILTER(...)
#define RL_NUMBER_IF_RANGE(...) __VA_ARGS__
#define RL_NUMBER_IF_DSCP(...)  __VA_ARGS__
#define RL_NUMBER_IF_ICMP(...)  __VA_ARGS__
#define RL_NUMBER_IF_FLAGS(...) __VA_ARGS__

/* By their bits, 9 to 13 and from 16 on: where in a packet a number is decides what clang makes of
 * all programs. */
#define RL_NUMBER_ENUM(bit, name, word, kind, ...) \
	RL_NUMBER_IF_##kind(RL_NUMBER_##name = (bit) < 16 ? (bit)-9 : (bit)-11, )
#define RL_NUMBER_ONE(bit, name, word, kind, ...) RL_NUMBER_IF_##kind(+1)
enum rl_number { RL_FIELDS(RL_NUMBER_ENUM) RL_NUMBERS = 0 RL_FIELDS(RL_NUMBER_ONE) };

#define RL_NUMBER_FLAG(bit, name, word, kind, ...) RL_NUMBER_IF_##kind(| RL_MATCH_##name)
#define RL_MATCH_NUMBERS                           (0 RL_FIELDS(RL_NUMBER_FLAG))

/* In the kernel, rl_match.flags says of the numbers of a rule no more than which headers they are
 * in, each by a bit that is free there. */
enum rl_header_flag {
	RL_HAS_IP = RL_MATCH_LENGTH,
	RL_HAS_TCP = RL_MATCH_TCP_FLAGS,
	RL_HAS_ICMP = RL_MATCH_ICMP_TYPE,
	RL_HAS_PORTS = RL_MATCH_TTL,
	RL_HAS_PAYLOAD = RL_MATCH_PAYLOAD,
};

/* Those of a TCP header, and those that later fragments lack. */
#define RL_FLAG_OF_TCP(bit, name, word, kind, has, ...) \
	| (RL_HAS_##has == RL_HAS_TCP ? 1 << bit : 0)
#define RL_FLAG_BEHIND_IP(bit, name, word, kind, has, ...) \
	| (RL_HAS_##has == RL_HAS_IP ? 0 : 1 << bit)
#define RL_MATCH_OF_TCP         (0 RL_FIELDS(RL_FLAG_OF_TCP))
#define RL_MATCH_BEHIND_IP      (0 RL_FIELDS(RL_FLAG_BEHIND_IP))

#define RL_MATCH_FLAG(bit, ...) | 1 << bit
#define RL_MATCH_ALL            (0 RL_FIELDS(RL_MATCH_FLAG))
_Static_assert(!((RL_MATCH_ALL & ~RL_MATCH_NUMBERS) >> 16), "rl_match.flags has 16 bits");
_Static_assert(RL_MATCH_ALL == (1 << RL_FIELD_COUNT) - 1 && RL_FIELD_COUNT <= 30, "bits of fields");
#define RL_NUMBER_OF_PAYLOAD(bit, name, word, kind, has, ...) \
	RL_NUMBER_IF_##kind(|| RL_HAS_##has == RL_HAS_PAYLOAD)
_Static_assert(!(0 RL_FIELDS(RL_NUMBER_OF_PAYLOAD)), "packets with RL_HAS_PAYLOAD look for bytes");
_Static_assert((RL_MATCH_NUMBERS & 0xffff) == 0x1f << 9, "enum rl_number");
