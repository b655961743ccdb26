/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of addresses and prefixes: their members, which every set of an instance has in one table,
 * and what else is known of a set. Part of rlctl_abi.h.
 *
 * The table is a hash of its own, in pages that are elements of a hash map, so that it takes memory
 * for what it holds and grows by one page at a time (linear hashing: W. Litwin, VLDB 1980). A
 * member is a prefix, its set, and when it expires. bpf/algorithm/member_hash.h says where a
 * member is; user/compile/member_table.h changes the table; bpf/match/sets.h asks it.
 */
#pragma once

#include <linux/types.h>

#include "abi/policy.h"

#define RL_SETS_MAX        64 /* of an instance: a bit each */
#define RL_SET_PREFIX_MAX  16 /* of these: that rules name in the place of a prefix */
#define RL_SET_PATH_MAX    255
#define RL_SET_PICK_MAX    127      /* bytes of what is picked from a database */
#define RL_SET_MEMBERS_MAX 16777216 /* of one set: `max` */
#define RL_SET_MAX_DEFAULT 65536

/* A member's time: CLOCK_MONOTONIC in units of 2^27 ns, about 0.13 s, modulo 2^32. It has expired
 * once that is not after now; half of the range is nine years. 0: it does not expire. */
#define RL_MEMBER_TIME_SHIFT 27
#define RL_MEMBER_LIFE_MAX   (8ull * 365 * 86400 * 1000000000) /* nanoseconds */

/* rl_member_line4.meta, rl_member_line6.meta: together with the address, which member the slot has;
 * 0: it is free. */
#define RL_MEMBER_SET       0x3f /* the set: 0..RL_SETS_MAX - 1 */
#define RL_MEMBER_EPOCH     0x40 /* it belongs to the set while that is the set's epoch */
#define RL_MEMBER_USED      0x80
#define RL_MEMBER_LEN_SHIFT 8 /* of the prefix: 0..32 or 0..128 */

/* A line holds members of neighbouring hashes. Where it is full, they stand in the lines after it,
 * the first after the last, up to RL_MEMBER_PROBES lines in all. A page may be missing: it has no
 * members. */
#define RL_MEMBER_PROBES 16 /* an address may be in each of the 64 sets, in one of them twice */
#define RL_MEMBER_WAYS4  6
#define RL_MEMBER_WAYS6  5
#define RL_MEMBER_FULL   1u /* of `page`: members may stand in the next line, too */

struct rl_member_line4 {
	__u32 page;                  /* number of the page << 1, and RL_MEMBER_FULL */
	__u32 addr[RL_MEMBER_WAYS4]; /* as it stands in a packet; bits after the length are zero */
	__u32 expires[RL_MEMBER_WAYS4];
	__u16 meta[RL_MEMBER_WAYS4];
};
_Static_assert(sizeof(struct rl_member_line4) == 64, "rl_member_line4");

struct rl_member_line6 {
	__u32 page;
	__u32 expires[RL_MEMBER_WAYS6];
	__u16 meta[RL_MEMBER_WAYS6];
	__u8 pad[14];
	__u64 addr[RL_MEMBER_WAYS6][2];
};
_Static_assert(sizeof(struct rl_member_line6) == 128, "rl_member_line6");

#define RL_MEMBER_LINES4 63
#define RL_MEMBER_LINES6 31

/* With what the kernel adds to an element (48 + 8 of key + 8 bytes), exactly 4096 bytes. */
union rl_member_page {
	struct rl_member_line4 line4[RL_MEMBER_LINES4];
	struct rl_member_line6 line6[RL_MEMBER_LINES6];
};
_Static_assert(sizeof(union rl_member_page) == 4032, "rl_member_page");

struct rl_member_key {
	__u32 family; /* 4 or 6 */
	__u32 page;
};
_Static_assert(sizeof(struct rl_member_key) == 8, "rl_member_key");

/* How the table is laid out, as packets read it: written in place by the one writer, who holds the
 * lock of the instance.
 *
 * Packets read `changes` first, then `epochs`, `pages` and the guide, once each, then the lines;
 * and `changes` again at the end. If it has grown, they ask again, whether they have found
 * something or not: members may have moved, and the kernel may have put another page where they
 * were reading. If it has not, at most one page was replaced meanwhile, and its memory was not used
 * again: they have seen each member that stays, where it was or where it is. They do so for all
 * pages at once, and the next time for each page, with `swaps` around them all: an address of many
 * lengths takes longer than a busy writer between two pages. */
#define RL_GUIDE4_BITS 12 /* the first bits of an IPv4 address */
#define RL_GUIDE6_BITS 32 /* the first bits of an IPv6 address, hashed to RL_GUIDE6_SIZE */
#define RL_GUIDE6_SIZE 1024

struct rl_guide6 {
	__u64 lengths[2]; /* bit n - 1 of 128: there may be members of n bits, n >= RL_GUIDE6_BITS
			   */
};

struct rl_member_layout {
	__u64 epochs; /* by set: 1 while its members are those with RL_MEMBER_EPOCH */
	__u64 pages4; /* pages of the family, and << 32: the mask of a page's number; 0: none */
	__u64 pages6;
	__u32 changes; /* grows before any page is written or removed: see above */
	__u32 short6;  /* bit n: there may be IPv6 members of n bits, n < RL_GUIDE6_BITS */
	__u32 zero4;   /* there may be members 0.0.0.0/0 */
	/* Packets do not read the rest. */
	__u32 writing;      /* 1: a writer is at work, or was killed: count everything anew */
	__u32 stale;        /* 1: members of former epochs may be left */
	__u32 next_expiry;  /* no member expires before; 0: none does */
	__u32 swept;        /* the page that is looked through next for expired members */
	__u32 merges;       /* grows whenever a page was merged into a former one */
	__u32 round_expiry; /* of the pages before `swept`: no member there expires before */
	__u32 swaps;        /* grows after each change of `epochs`; packets do read it */
	__u32 guide4[1 << RL_GUIDE4_BITS]; /* bit n - 1: there may be members of n bits */
	struct rl_guide6 guide6[RL_GUIDE6_SIZE];
};
_Static_assert(sizeof(struct rl_member_layout) == 64 + 16384 + 16384, "rl_member_layout");

/* The history of a set, by its number. Not read by packets. */
struct rl_set {
	char name[RL_SET_NAME_MAX + 1]; /* "": no set has this number */
	__u32 max;                      /* members, as the policy in force says */
	__u32 file_words;               /* what the policy said of it when it was loaded */
	__u32 members[2]; /* IPv4, IPv6; some may have expired and not been removed yet */
	__u64 added, extended, expired, deleted;
	__u64 refused;   /* for want of room */
	__u64 loaded_ns; /* CLOCK_REALTIME of the last load of its file; 0: never */
	__u64 file_ns;   /* time of change, size and inode of that file */
	__u64 file_size, file_inode;
	__u64 failed_ns; /* CLOCK_REALTIME of a load that failed since; 0: none */
};
_Static_assert(sizeof(struct rl_set) == 128, "rl_set");

/* A set as the policy words it. */
enum rl_set_source { RL_SET_DYNAMIC, RL_SET_FILE, RL_SET_MMDB };

struct rl_set_words {
	char name[RL_SET_NAME_MAX + 1];
	char path[RL_SET_PATH_MAX + 1]; /* not RL_SET_DYNAMIC */
	char pick[RL_SET_PICK_MAX + 1]; /* RL_SET_MMDB: "country DE,FR" or "asn 64496" */
	char comment[RL_COMMENT_MAX + 8];
	__u64 every_ns;   /* 0: the file is loaded when the policy is applied, and by hand */
	__u64 timeout_ns; /* of members that are added without one; 0: for ever */
	__u32 max;        /* members */
	__u16 source;     /* enum rl_set_source */
	__u8 shortest[2]; /* prefix of a member: IPv4, IPv6 */
};
_Static_assert(sizeof(struct rl_set_words) == 568, "rl_set_words");

/* The sets of a policy, by number; one for each half of the rules. */
struct rl_set_groups {
	__u64 prefixes; /* sets that have rules: at most RL_SET_PREFIX_MAX */
	__u64 src, dst; /* sets that matches ask for by source, by destination */
	struct rl_range range[RL_SETS_MAX];
	/* Packets do not read the rest. */
	__u64 defined; /* sets that the policy has */
	struct rl_set_words words[RL_SETS_MAX];
};
_Static_assert(sizeof(struct rl_set_groups) == 544 + RL_SETS_MAX * sizeof(struct rl_set_words),
	       "rl_set_groups");
