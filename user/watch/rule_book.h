/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules that the slots of samples mean. */
#ifndef RLCTL_RULE_BOOK_H
#define RLCTL_RULE_BOOK_H

#include "instance.h"
#include "policy.h"

/* The policy in force, read anew when another one is. */
struct rule_book {
	const struct instance *instance;
	struct policy_context ctx;
	struct policy policy;
	uint64_t generation;
	bool read;
};

void rule_book_init(struct rule_book *book, const struct instance *instance);
void rule_book_clear(struct rule_book *book);

/* Looks whether another policy is in force. 0 or below. */
int rule_book_refresh(struct rule_book *book);

/* NULL: no rule, or one that is gone. */
const struct rule *rule_book_find(const struct rule_book *book, uint32_t slot);

/* Did it come as far as its addresses? */
bool sample_has_addresses(const struct rl_sample *sample);

#endif
