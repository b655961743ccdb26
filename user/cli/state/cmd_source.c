// SPDX-License-Identifier: GPL-2.0-only
/* rlctl source show|forgive ADDR: shows or clears the states of an address under every limit.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/key_parts.h"
#include "cli/output/state_output.h"
#include "cli/output/stats_output.h"
#include "cli/state/source_answer.h"
#include "kernel/maps/hot_table.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/tcp_sockets.h"
#include "kernel/state/source.h"

/* An instance, its policy, and the states of the address. */
struct lookup {
	struct instance instance;
	struct policy_context ctx;
	struct policy policy;
	uint8_t addr[16];
	struct source_entry *entries;
	size_t count;
};

static int lookup_open(const struct command *command, bool write, struct lookup *out)
{
	int rc = address_get(command->words[0], out->addr);

	if (!rc)
		rc = write ? instance_open_shared(&command->target, &out->instance)
			   : instance_open(&command->target, false, &out->instance);
	if (rc)
		return rc;
	instance_context(&out->instance, &out->ctx);
	rc = instance_policy_read(&out->instance, &out->policy);
	if (rc)
		instance_close(&out->instance);
	return rc;
}

static int states_read(struct lookup *lookup)
{
	return instance_source_read(&lookup->instance, &lookup->policy, lookup->addr,
				    &lookup->entries, &lookup->count);
}

static void lookup_close(struct lookup *lookup)
{
	free(lookup->entries);
	policy_clear(&lookup->policy);
	instance_close(&lookup->instance);
}

/* The hot table holds fingerprints; for a key with two addresses or both ports, one address does
 * not give the fingerprint. */
static bool has_unlisted(const struct lookup *lookup)
{
	if (lookup->instance.info.table != RL_TABLE_HOT)
		return false;
	policy_for_each (&lookup->policy, rule)
		if (rule->action == RL_ACTION_LIMIT && key_parts(&rule->limit) & KEY_ADDRESSES &&
		    !hot_can_visit(&rule->limit) &&
		    (rule->limit.algorithm == RL_TOKEN_BUCKET ||
		     rule->limit.algorithm == RL_LEAKY_BUCKET))
			return true;
	return false;
}

static void note_unlisted(const struct lookup *lookup)
{
	if (has_unlisted(lookup))
		note("%s: buckets in the hot table whose key has two addresses or both ports, as "
		     "per source+dest and per flow, cannot be listed: attach with --table lru to "
		     "list them",
		     lookup->instance.device);
}

/* ---- show */

/* Reports what proves packets of the address established now, if a rule asks. The table of
 * questions holds no addresses. */
static void sockets_report(const struct lookup *lookup, const char *address,
			   struct json_object *document)
{
	struct json_object *object;
	struct peer_sockets sockets;

	if (!(lookup->instance.info.program_uses & RL_USE_PROOF))
		return;
	if (lookup->instance.info.proof == RL_PROOF_CONNTRACK && !document)
		note("%s: connection tracking shows which packets of %s are established",
		     lookup->instance.device, address);
	if (lookup->instance.info.proof != RL_PROOF_SOCKETS ||
	    peer_sockets_count(lookup->addr, &sockets))
		return;
	if (!document) {
		note("%s: this machine has %" PRIu64 " open TCP connection%s and %" PRIu64
		     " connected UDP socket%s with %s",
		     lookup->instance.device, sockets.tcp, plural(sockets.tcp), sockets.udp,
		     plural(sockets.udp), address);
		return;
	}
	object = json_object_new_object();
	json_put_number(object, "tcp", sockets.tcp);
	json_put_number(object, "udp", sockets.udp);
	json_put(document, "sockets", object);
}

static void entry_report(struct report *report, const struct lookup *lookup,
			 const struct source_entry *entry)
{
	char key[KEY_TEXT_MAX], rule[RULE_TEXT_MAX] = "everything";

	if (entry->rule)
		rule_format(rule, entry->rule, &lookup->ctx);
	key_print(key, &entry->key, entry->rule);
	report_begin(report, NULL);
	report_text(report, "key", "key", key);
	report_allowance(report, entry);
	report_next(report, entry);
	report_ban(report, entry);
	report_text(report, "rule", "rule", rule);
}

static void lookup_report(const struct command *command, const struct lookup *lookup,
			  const struct source_answer *answer)
{
	const char *address = command->words[0];
	struct report report = {0};
	struct json_object *entries, *document = NULL;
	struct share_counts *counts;
	bool shares = false;

	if (output_json) {
		document = json_instance(&lookup->instance);
		json_put_text(document, "address", address);
	}
	source_answer_report(answer, &lookup->policy, &lookup->ctx, address, document);
	if (!share_counts_read(&lookup->instance, &lookup->policy, &counts)) {
		source_shares_report(lookup->addr, answer->known, &lookup->policy, &lookup->ctx,
				     counts, document);
		free(counts);
	}
	sockets_report(lookup, address, document);
	for (size_t i = 0; i < lookup->count; i++)
		entry_report(&report, lookup, &lookup->entries[i]);
	entries = report_end(&report);
	if (output_json) {
		json_put(document, "states", entries ? entries : json_object_new_array());
		json_print(document);
		return;
	}
	/* An address has no state of its own of a limit with `share`. */
	policy_for_each (&lookup->policy, rule)
		shares |= rule->action == RL_ACTION_LIMIT && rule->limit.share[0];
	if (!lookup->count)
		note("%s: no state of %s%s", lookup->instance.device, address,
		     has_unlisted(lookup) || shares ? "" : ": its limits are unused");
	note_unlisted(lookup);
}

int cmd_source_show(const struct command *command)
{
	struct lookup lookup = {0};
	struct source_answer answer = {0};
	int rc = lookup_open(command, false, &lookup);

	if (rc)
		return rc;
	rc = source_answer_read(command, &lookup.instance, &lookup.policy, &lookup.ctx, lookup.addr,
				&answer);
	if (!rc)
		rc = states_read(&lookup); /* after the time of the watch */
	if (!rc)
		lookup_report(command, &lookup, &answer);
	lookup_close(&lookup);
	return rc;
}

/* ---- forgive */

int cmd_source_forgive(const struct command *command)
{
	const char *address = command->words[0];
	struct lookup lookup = {0};
	struct json_object *document;
	size_t own = 0;
	int rc = lookup_open(command, true, &lookup);

	if (rc)
		return rc;
	rc = states_read(&lookup);
	rc = rc ?: instance_source_forgive(&lookup.instance, lookup.entries, lookup.count);
	for (size_t i = 0; i < lookup.count; i++) { /* without those shared by a rule */
		const struct rule *rule = lookup.entries[i].rule;

		own += !rule || rule->limit.key != RL_KEY_RULE;
	}
	if (!rc && output_json) {
		document = json_instance(&lookup.instance);
		json_put_text(document, "address", address);
		json_put_number(document, "forgiven", own);
		json_print(document);
	} else if (!rc) {
		if (!own)
			note("%s: no state or ban of %s to forget", lookup.instance.device,
			     address);
		else
			note("%s: forgot %zu %s of %s", lookup.instance.device, own,
			     own == 1 ? "state or ban" : "states and bans", address);
		note_unlisted(&lookup);
	}
	lookup_close(&lookup);
	return rc;
}
