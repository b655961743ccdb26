/* SPDX-License-Identifier: GPL-2.0-only */
/* The pattern of a packet, as far as a rule without `filter` can name it: protocol, destination
 * port, TCP flags, and the classes that its length and TTL are in. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"
#include "watch/traffic/shares.h"

/* The headers of a sampled packet, which its sample has as bytes alone. Pure. */

/* Traits that the packets have in common: X(NAME, "word in JSON"). Ports are those of the
 * destination, `sport` of the source; lengths are of the IP packet. */
#define EVENT_FEATURES(X)   \
	X(PORT, "port")     \
	X(SPORT, "sport")   \
	X(LENGTH, "length") \
	X(TTL, "ttl")       \
	X(FLAGS, "flags")
#define EVENT_FEATURE_ENUM(name, text) FEATURE_##name,
enum event_feature { EVENT_FEATURES(EVENT_FEATURE_ENUM) FEATURE_COUNT };
#undef EVENT_FEATURE_ENUM

extern const char *const feature_words[FEATURE_COUNT];

/* The fields of a packet's IP header and of the next one, as far as the frame was kept. */
struct packet_fields {
	bool has_ip;
	bool has_flags;                /* of TCP */
	uint32_t value[FEATURE_COUNT]; /* without ports; the length is that of the IP packet */
};

/* raw_ip: the frame has no Ethernet header. */
void packet_fields_read(const struct rl_sample *sample, bool raw_ip, struct packet_fields *out);

/* As the value of shares.h and the key of talkers.h. A value that the sample lacks is zero. */
struct pattern {
	bool known; /* false: no pattern, for the packet has no addresses */
	uint8_t proto;
	bool has_port, has_ip, has_length, has_flags;
	uint8_t hops, flags; /* hops: TTL, the first of its class */
	uint16_t dport, length;
	uint32_t network; /* of the source; 0: of any */
};
_Static_assert(sizeof(struct pattern) == SHARES_VALUE, "a value of shares.h");

/* raw_ip: the frame has no Ethernet header. With the network. */
struct pattern pattern_of(const struct rl_sample *sample, bool raw_ip);
struct pattern pattern_anywhere(const struct pattern *pattern);

/* "udp/27015 length 64-95 ...", or in the words of a rule: "udp dport 27015 length ...". */
#define PATTERN_TEXT_MAX 96
void pattern_print(char buf[PATTERN_TEXT_MAX], const struct pattern *pattern, bool as_rule);

/* "198.18.0.0/16", "2001:db8::/32". */
void pattern_network_print(char *buf, size_t size, uint32_t network);

/* The limit to paste for packets that match, as a line of a policy. */
#define PATTERN_RULE_MAX (PATTERN_TEXT_MAX + 64)
void pattern_rule_print(char buf[PATTERN_RULE_MAX], const char *match);

/* Patterns of packets, and those of each network. */
struct patterns { /* zero-initialised */
	struct shares all, networks;
};

struct pattern_part {
	struct pattern pattern; /* with the network that at least half of its packets are from */
	double share;           /* of all packets: at least that */
};

/* Nothing for a packet without addresses. */
void patterns_add(struct patterns *patterns, const struct pattern *pattern, uint64_t weight);

/* The share of the pattern, of any network, in all packets; 0: it is not known. */
double patterns_share(const struct patterns *patterns, uint64_t all, const struct pattern *pattern);

/* The heaviest first, at most `max`, those that have `least` of all packets; how many. */
size_t patterns_list(const struct patterns *patterns, uint64_t all, double least,
		     struct pattern_part *out, size_t max);
