// SPDX-License-Identifier: GPL-2.0-only
/* An instance sees what arrives: what the machine has sent says who is there, and is not run. */
#include "cli/simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "kernel/state/share_counts.h"
#include "policy/names.h"

static const char *const certainty_keys[] = {
#define CERTAINTY_KEY(name_, key_) key_,
	LOCAL_CERTAINTIES(CERTAINTY_KEY)
#undef CERTAINTY_KEY
};

/* ---- --local */

int simulate_local_open(const struct command *command, struct simulate_local *out)
{
	struct local_addresses *local = &out->addresses;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < command->local_count; i++) {
		struct local_address *at = &local->list[local->count], *other = local->list;
		int rc = option_prefix_get("local", command->locals[i], at->addr, &at->len);

		if (rc)
			return rc;
		at->word = command->locals[i];
		while (other < at && (other->len != at->len ||
				      memcmp(other->addr, at->addr, sizeof(at->addr)) != 0))
			other++;
		local->count += other == at; /* not given before */
	}
	if (local->count)
		out->stack = local_stack_new(LOCAL_CONVERSATIONS_MAX);
	return out->stack || !local->count ? 0 : fail("out of memory");
}

void simulate_local_close(struct simulate_local *local)
{
	local_stack_free(local->stack);
	local->stack = NULL;
}

/* ---- packets */

int simulate_local_run(struct simulate_local *local, struct simulation *simulation,
		       const struct captured *captured, bool *ran, struct simulated *out)
{
	enum local_way way;
	struct local_packet packet;
	struct local_proof proof;
	int ret;

	local_packet_parse(captured, &packet);
	way = local_way_of(&local->addresses, captured, &packet);
	*ran = way == LOCAL_ARRIVES;
	if (!*ran)
		amount_add(way == LOCAL_SENT ? &local->sent : &local->elsewhere,
			   &(struct rl_amount){.packets = 1, .bytes = captured->bytes});
	if (way == LOCAL_SENT)
		return local_stack_sent(local->stack, &packet) ? fail("out of memory") : 0;
	if (way == LOCAL_ELSEWHERE)
		return 0;
	proof = local_stack_proof(local->stack, &packet);
	simulation_prove(simulation, proof.established);
	ret = simulation_run_all(simulation, captured, 1, out);
	if (ret)
		return ret;
	if (simulation_has_asked(simulation))
		local->asked[proof.certainty]++;
	ret = local_stack_arrived(local->stack, &packet, reason_rows[out->reason].passes);
	return ret ? fail("out of memory") : 0;
}

void simulate_local_restart(struct simulate_local *local)
{
	if (local->stack)
		local_stack_clear(local->stack);
}

/* ---- what is said at the end */

uint64_t simulate_local_not_run(const struct simulate_local *local)
{
	return local->sent.packets + local->elsewhere.packets;
}

void simulate_local_json(const struct simulate_local *local, struct json_object *object)
{
	struct json_object *asked;

	if (!local->stack)
		return;
	asked = json_object_new_object();
	for (int i = 0; i < LOCAL_CERTAINTY_COUNT; i++)
		json_put_number(asked, certainty_keys[i], local->asked[i]);
	json_put_number(asked, "forgotten", local_stack_forgotten(local->stack));
	json_put(object, "sent", json_amount(&local->sent));
	json_put(object, "elsewhere", json_amount(&local->elsewhere));
	json_put(object, "established", asked);
}

void simulate_local_print(const struct simulate_local *local)
{
	uint64_t sum = 0;

	if (!local->stack)
		return;
	printf("not run: %s sent by local addresses, %s between other addresses\n",
	       number_text(local->sent.packets), number_text(local->elsewhere.packets));
	for (int i = 0; i < LOCAL_CERTAINTY_COUNT; i++)
		sum += local->asked[i];
	if (!sum)
		return;
	printf("asked whether established: %s", number_text(sum));
	for (int i = 0; i < LOCAL_CERTAINTY_COUNT; i++)
		printf("%s %s %s", i ? "," : ":", number_text(local->asked[i]), certainty_keys[i]);
	putchar('\n');
}

static void addresses_note(const struct local_addresses *local, const char *capture)
{
	bool any = false;

	for (size_t i = 0; i < local->count; i++) {
		const struct local_address *at = &local->list[i];

		any |= at->sent || at->arrived;
		if (!at->sent && !at->arrived)
			note("--local %s: %s has no packet from or to this address", at->word,
			     capture);
	}
	for (size_t i = 0; i < local->count; i++)
		any &= !local->list[i].sent;
	if (any)
		note("%s: no packet was sent by a local address, so nothing counts as "
		     "established: capture both directions",
		     capture);
}

void simulate_local_note(const struct simulate_local *local, const struct policy *policy,
			 const char *capture)
{
	bool asks = false, connections = false;
	uint64_t forgotten;

	policy_for_each (policy, rule) {
		bool limits = rule->action == RL_ACTION_LIMIT;

		asks |= rule->match.flags & RL_MATCH_ESTABLISHED ||
			(limits && rule->limit.over == RL_OVER_UNLESS) || has_classes(rule) ||
			rule->limit.keep_for == RL_KEEP_ESTABLISHED;
		connections |= rule_limits_connections(rule);
	}
	if (!local->stack && asks)
		note("%s: nothing counts as established, because a capture has no sockets: give "
		     "the addresses of its machine with --local",
		     capture);
	if (connections)
		note("%s: limits on connections refuse nothing here, because a capture has no "
		     "sockets: try them with attach --try, or with over count",
		     capture);
	if (!local->stack)
		return;
	addresses_note(&local->addresses, capture);
	forgotten = local_stack_forgotten(local->stack);
	if (forgotten)
		note("%s: %" PRIu64 " conversation%s forgotten, as no more than %u are kept",
		     capture, forgotten, forgotten == 1 ? " was" : "s were",
		     LOCAL_CONVERSATIONS_MAX);
}
