// SPDX-License-Identifier: GPL-2.0-only
/* The fields of a packet that an answer depends on. */
#include "policy/fields.h"

#include <stdio.h>

#include "rlctl_abi.h"

void fields_print(char out[FIELDS_TEXT_MAX], unsigned int fields)
{
	static const struct {
		unsigned int field;
		const char *name;
	} names[] = {{RL_MATCH_PROTO, "protocol"},
		     {RL_MATCH_SPORT, "sport"},
		     {RL_MATCH_DPORT, "dport"},
		     {RL_MATCH_SRC, "src"},
		     {RL_MATCH_DST, "dst"},
		     {RL_MATCH_NEW_SOURCE, "new-source"},
		     {RL_MATCH_ESTABLISHED, "established"},
		     {RL_MATCH_TCP_FLAGS, "flags"},
		     {RL_MATCH_LENGTH, "length"},
		     {RL_MATCH_TTL, "ttl"},
		     {RL_MATCH_DSCP, "dscp"},
		     {RL_MATCH_ICMP_TYPE, "icmp-type"},
		     {RL_MATCH_PAYLOAD, "payload"},
		     {RL_MATCH_FILTER, "filter"},
		     {FIELD_ALARM, "alarm"},
		     {FIELD_MEMBERS, "members"}};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fields & names[i].field)
			used += snprintf(out + used, FIELDS_TEXT_MAX - used, "%s%s",
					 used ? ", " : "", names[i].name);
}
