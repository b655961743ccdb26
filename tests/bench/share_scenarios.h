/* SPDX-License-Identifier: GPL-2.0-only */
/* The senders in the scenarios of share.c, and what each must have.
 */
#pragma once

#include <stdint.h>

#include "rlctl_abi.h"

enum { STREAMS_MAX = 6 };

/* The look of a stranger's packet. */
enum shape {
	SHAPE_CLIENT,     /* as the clients' SYN */
	SHAPE_ONE,        /* one, on another port */
	SHAPE_ONE_THERE,  /* one, on the clients' port, of another TTL */
	SHAPE_SECOND,     /* another each second */
	SHAPE_PORT,       /* any, on another port */
	SHAPE_PORT_THERE, /* any, on the clients' port */
	SHAPE_ANY,
	SHAPE_PLAYER, /* as the newcomers' */
};

enum network { NETWORK_ANY, NETWORK_16, NETWORK_ONE, NETWORK_CLIENTS };

/* Senders of one kind. */
struct stream {
	const char *good; /* the name of those whose share is looked at */
	enum rl_share_class class;
	double rate;      /* of all of them, times the limit's */
	uint32_t senders; /* 0: each packet has a new source */
	enum shape shape;
	enum network network;
	double on_s, off_s, begin_s, end_s; /* on_s 0: without a pause; end_s 0: to the end */
	uint32_t burst;                     /* packets at once; 0: 1 */
	double goal;                        /* of the exact share */
};

struct scenario {
	const char *name;
	uint32_t clients;  /* strangers that do handshakes, one after the other */
	double handshakes; /* what part of them must end */
	struct stream streams[STREAMS_MAX];
};

#define KNOWN(n, r, ...)                                                            \
	{                                                                           \
		.class = RL_SHARE_KNOWN, .senders = (n), .rate = (r), ##__VA_ARGS__ \
	}
#define ESTAB(n, r, ...)                                                                  \
	{                                                                                 \
		.class = RL_SHARE_ESTABLISHED, .senders = (n), .rate = (r), ##__VA_ARGS__ \
	}
#define STRANGE(n, r, ...)                                                             \
	{                                                                              \
		.class = RL_SHARE_STRANGER, .senders = (n), .rate = (r), ##__VA_ARGS__ \
	}
#define GOOD     KNOWN(50, 0.05, .good = "known", .goal = 0.9)
#define GOOD_ALL KNOWN(50, 0.05, .good = "known", .goal = 0.99)
#define LINE     50
#define SLOW     KNOWN(50, 0.025, .good = "known at half", .goal = 0.99)
#define PLAYERS                                                                                   \
	STRANGE(50, 0.05, .good = "newcomers", .shape = SHAPE_PLAYER, .network = NETWORK_CLIENTS, \
		.goal = 0.8)
#define FORGED(s, ...) STRANGE(0, LINE, .shape = s, ##__VA_ARGS__)

static const struct scenario scenarios[] = {
	{"1 known", 0, 0, {GOOD_ALL, KNOWN(1, LINE)}},
	{"16 known", 0, 0, {GOOD_ALL, KNOWN(16, LINE)}},
	{"1000 known", 0, 0, {GOOD, SLOW, KNOWN(1000, LINE)}},
	{"65536 known", 0, 0, {GOOD, KNOWN(65536, LINE)}},
	{"65536 known, established",
	 0,
	 0,
	 {ESTAB(50, 0.05, .good = "established", .goal = 0.99), KNOWN(65536, LINE)}},
	{"1000 known in pulses of 0.5 s",
	 0,
	 0,
	 {GOOD, SLOW, KNOWN(1000, LINE, .on_s = 0.5, .off_s = 0.5)}},
	{"1000 known in pulses of 2 s",
	 0,
	 0,
	 {GOOD, SLOW, KNOWN(1000, LINE, .on_s = 2, .off_s = 2)}},
	{"1000 known, bursts",
	 0,
	 0,
	 {KNOWN(50, 0.05, .good = "known in bursts", .burst = 10, .goal = 0.8), KNOWN(1000, LINE)}},
	{"16 known, bursts",
	 0,
	 0,
	 {KNOWN(50, 0.05, .good = "known in bursts", .burst = 10, .goal = 0.95), KNOWN(16, LINE)}},
	{"1000 known twice",
	 0,
	 0,
	 {GOOD, KNOWN(1000, LINE, .begin_s = 5, .end_s = 8),
	  KNOWN(1000, LINE, .begin_s = 11, .end_s = 16)}},
	{"established full, known",
	 0,
	 0,
	 {ESTAB(50, 0.05, .good = "established", .goal = 0.9), GOOD, ESTAB(1000, LINE)}},
	{"all full",
	 50,
	 0.95,
	 {ESTAB(50, 0.025, .good = "established", .goal = 0.9), GOOD, ESTAB(100, 2),
	  KNOWN(100, LINE), FORGED(SHAPE_ONE)}},
	{"forged, one shape", 50, 0.95, {GOOD_ALL, FORGED(SHAPE_ONE)}},
	{"forged, one shape on their port", 50, 0.95, {GOOD_ALL, FORGED(SHAPE_ONE_THERE)}},
	{"forged, their networks",
	 50,
	 0.95,
	 {GOOD_ALL, FORGED(SHAPE_ONE_THERE, .network = NETWORK_16)}},
	{"forged, their networks, 1000 known",
	 50,
	 0.95,
	 {GOOD, KNOWN(1000, LINE), FORGED(SHAPE_ONE_THERE, .network = NETWORK_16)}},
	{"forged in pulses of 0.5 s",
	 50,
	 0.95,
	 {GOOD_ALL, FORGED(SHAPE_ONE_THERE, .on_s = 0.5, .off_s = 0.5)}},
	{"forged in pulses of 2 s",
	 50,
	 0.95,
	 {GOOD_ALL, FORGED(SHAPE_ONE_THERE, .on_s = 2, .off_s = 2)}},
	{"forged twice after idleness",
	 50,
	 0.95,
	 {GOOD_ALL, FORGED(SHAPE_ONE_THERE, .begin_s = 5, .end_s = 8),
	  FORGED(SHAPE_ONE, .begin_s = 11, .end_s = 16)}},
	{"forged, new shape each second", 50, 0.95, {GOOD_ALL, FORGED(SHAPE_SECOND)}},
	{"forged, any shape elsewhere", 50, 0.95, {GOOD_ALL, FORGED(SHAPE_PORT)}},
	{"forged, any shape on their port", 50, 0, {GOOD_ALL, FORGED(SHAPE_PORT_THERE)}},
	{"forged, anything", 50, 0, {GOOD_ALL, FORGED(SHAPE_ANY)}},
	{"forged, their SYN", 50, 0, {GOOD_ALL, FORGED(SHAPE_CLIENT)}},
	{"one stranger",
	 50,
	 0.95,
	 {GOOD_ALL, STRANGE(1, LINE, .shape = SHAPE_ONE_THERE, .network = NETWORK_ONE)}},
	{"1000 bots", 0, 0, {GOOD_ALL, PLAYERS, STRANGE(1000, 1, .shape = SHAPE_PLAYER)}},
	{"8000 bots", 0, 0, {GOOD_ALL, PLAYERS, STRANGE(8000, 8, .shape = SHAPE_PLAYER)}},
};
