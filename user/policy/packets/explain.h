/* SPDX-License-Identifier: GPL-2.0-only */
/* The fate of one packet, rule by rule, in the order in which the data path decides
 * (bpf/match/classify.h). Pure: what the kernel knows of limits comes from the caller.
 */
#pragma once

#include "policy/policy.h"
#include "policy/packets/probe.h"

/* The packet's key under a limit. */
struct limit_look {
	bool admits; /* it would */
	bool banned; /* the key is, under this limit */
	uint64_t remaining, wait_ns, ban_ns;
};

struct explained {
	const struct rule *rule; /* in the policy */
	uint8_t level;           /* of a prefix or a set; see level.h */
	bool reached;            /* else a rule before it has decided */
	enum holds holds;        /* if reached */
	char why[EXPLAIN_TEXT_MAX];
	unsigned int lacks; /* a limit that holds: fields of its key that are not stated */
	bool looked;        /* a limit that holds, of which `look` is */
	struct limit_look look;
	bool is_other;       /* and that what it keeps for some is not for the packet */
	bool shared;         /* a limit that holds, with `share`: what others send decides */
	enum rl_reason over; /* the packet's reason, if the limit does not admit it */
};

/* Facts that the kernel knows. */
struct explain_source {
	/* kept: what the limit keeps for some is for the packet. 0 or a negative errno */
	int (*look)(void *arg, const struct rule *rule, bool kept, struct limit_look *out);
	void *arg;
	bool source_banned;
};

struct explanation {
	struct explained *rules; /* in the order in which they are asked; free() it */
	size_t count;
	enum rl_reason reason;      /* of a packet that no rule of unstated fields matches */
	const struct rule *decided; /* by this rule, of several limits the first; or NULL */
	unsigned int depends;       /* on these fields: RL_MATCH_*, FIELD_MEMBERS */
};

/* `policy`: at least the rules of every prefix that contains the lookup address, and of every set.
 * The rules of a set of which nothing is known may hold, and are asked first. 0 or a negative
 * errno. */
int packet_explain(const struct policy *policy, const struct probe *probe,
		   const struct explain_source *source, struct explanation *out);
