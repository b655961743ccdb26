// SPDX-License-Identifier: GPL-2.0-only
/* Keys of states and bans as text. */
#include "state_output.h"

#include <stdio.h>

#include "units.h"

void key_print(char out[KEY_TEXT_MAX], const struct rl_state_key *key, const struct rule *rule)
{
	enum rl_key_kind kind = rule ? rule->limit.key : RL_KEY_SOURCE;
	uint8_t len4 = rule ? rule->limit.key_len4 : 32, len6 = rule ? rule->limit.key_len6 : 64;
	char addr[PREFIX_TEXT_MAX], peer[PREFIX_TEXT_MAX];

	prefix_print(addr, sizeof(addr), key->addr, key_bits(key->addr, len4, len6));
	prefix_print(peer, sizeof(peer), key->peer, key_bits(key->peer, len4, len6));
	if (kind == RL_KEY_RULE)
		snprintf(out, KEY_TEXT_MAX, "all");
	else if (kind == RL_KEY_SOURCE_DPORT)
		snprintf(out, KEY_TEXT_MAX, "%s to port %u", addr, key->dport);
	else if (kind == RL_KEY_SOURCE_DEST)
		snprintf(out, KEY_TEXT_MAX, "%s to %s", addr, peer);
	else if (kind == RL_KEY_FLOW)
		snprintf(out, KEY_TEXT_MAX, "protocol %u, %s port %u to %s port %u", key->proto,
			 addr, key->sport, peer, key->dport);
	else
		snprintf(out, KEY_TEXT_MAX, "%s", addr);
}
