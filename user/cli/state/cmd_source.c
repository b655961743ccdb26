// SPDX-License-Identifier: GPL-2.0-only
/* rlctl source show|forgive ADDR: shows or clears the states of an address under every limit.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "algorithm/key_parts.h"
#include "cli/guard/session.h"
#include "cli/output/state_output.h"
#include "cli/output/stats_output.h"
#include "cli/state/source_answer.h"
#include "kernel/maps/hot_table.h"
#include "kernel/proof/tcp_sockets.h"
#include "kernel/state/source.h"

/* The address, and its states on an instance. */
struct lookup {
	const struct session *session;
	uint8_t addr[16];
	struct source_entry *entries;
	size_t count;
};

static int states_read(struct lookup *lookup, const struct session *session)
{
	lookup->session = session;
	return instance_source_read(&session->instance, &session->policy, lookup->addr,
				    &lookup->entries, &lookup->count);
}

/* The hot table holds fingerprints; for a key with two addresses or both ports, one address does
 * not give the fingerprint. */
static bool has_unlisted(const struct session *session)
{
	if (session->instance.info.table != RL_TABLE_HOT)
		return false;
	policy_for_each (&session->policy, rule)
		if (rule->action == RL_ACTION_LIMIT && key_parts(&rule->limit) & KEY_ADDRESSES &&
		    !hot_can_visit(&rule->limit) &&
		    (rule->limit.algorithm == RL_TOKEN_BUCKET ||
		     rule->limit.algorithm == RL_LEAKY_BUCKET))
			return true;
	return false;
}

static void note_unlisted(const struct session *session)
{
	if (has_unlisted(session))
		text_note(
			"%s: buckets in the hot table whose key has two addresses or both ports, as "
			"per source+dest and per flow, cannot be listed: attach with --table lru to "
			"list them",
			session->instance.device);
}

/* ---- show */

/* Reports what proves packets of the address established now, if a rule asks. The table of
 * questions holds no addresses. */
static void sockets_report(const struct lookup *lookup, const char *address,
			   struct json_object *document)
{
	const struct instance *instance = &lookup->session->instance;
	struct json_object *object;
	struct peer_sockets sockets;

	if (!(instance->info.program_uses & RL_USE_PROOF))
		return;
	if (instance->info.proof == RL_PROOF_CONNTRACK)
		text_note("%s: connection tracking shows which packets of %s are established",
			  instance->device, address);
	if (instance->info.proof != RL_PROOF_SOCKETS || peer_sockets_count(lookup->addr, &sockets))
		return;
	text_note("%s: this machine has %" PRIu64 " open TCP connection%s and %" PRIu64
		  " connected UDP socket%s with %s",
		  instance->device, sockets.tcp, plural(sockets.tcp), sockets.udp,
		  plural(sockets.udp), address);
	json_put(document, "sockets", object = json_object_new_object());
	json_put_number(object, "tcp", sockets.tcp);
	json_put_number(object, "udp", sockets.udp);
}

static void lookup_report(const struct command *command, const struct lookup *lookup,
			  const struct source_answer *answer)
{
	const struct session *session = lookup->session;
	const struct policy *policy = &session->policy;
	const char *address = command->words[0];
	struct json_object *document = json_instance(&session->instance);
	struct report report = {0};
	struct share_counts *counts;
	bool shares = false;

	json_put_text(document, "address", address);
	source_answer_report(answer, policy, &session->ctx, address, document);
	if (!share_counts_read(&session->instance, policy, &counts) && counts) {
		source_shares_report(lookup->addr, answer->known, policy, &session->ctx, counts,
				     document);
		free(counts);
	}
	sockets_report(lookup, address, document);
	for (size_t i = 0; i < lookup->count; i++) {
		report_source(&report, &lookup->entries[i]);
		report_allowance(&report, &lookup->entries[i]);
		report_next(&report, &lookup->entries[i]);
		report_ban(&report, &lookup->entries[i]);
		report_rule(&report, &lookup->entries[i], &session->ctx);
	}
	report_put(&report, document, "states");
	document_print(command, document);
	/* An address has no state of its own of a limit with `share`. */
	policy_for_each (policy, rule)
		shares |= rule->action == RL_ACTION_LIMIT && rule->limit.share[0];
	if (!lookup->count)
		text_note("%s: no state of %s%s", session->instance.device, address,
			  has_unlisted(session) || shares ? "" : ": its limits are unused");
	note_unlisted(session);
}

static int source_show(const struct command *command, struct session *session, void *arg)
{
	struct source_answer answer = {0};
	struct lookup *lookup = arg;
	int rc = source_answer_read(command, &session->instance, &session->policy, &session->ctx,
				    lookup->addr, &answer);

	rc = rc ?: states_read(lookup, session); /* after the time of the watch */
	if (!rc)
		lookup_report(command, lookup, &answer);
	free(lookup->entries);
	return rc;
}

/* ---- forgive */

static int source_forgive(const struct command *command, struct session *session, void *arg)
{
	const char *address = command->words[0], *device = session->instance.device;
	struct json_object *document = json_instance(&session->instance);
	struct lookup *lookup = arg;
	size_t own = 0;
	int rc = states_read(lookup, session);

	rc = rc ?: instance_source_forgive(&session->instance, lookup->entries, lookup->count);
	for (size_t i = 0; i < lookup->count; i++) { /* without those shared by a rule */
		const struct rule *rule = lookup->entries[i].rule;

		own += !rule || rule->limit.key != RL_KEY_RULE;
	}
	free(lookup->entries);
	if (rc) {
		json_object_put(document);
		return rc;
	}
	json_put_text(document, "address", address);
	json_put_number(document, "forgiven", own);
	document_print(command, document);
	if (!own)
		text_note("%s: no state or ban of %s to forget", device, address);
	else
		text_note("%s: forgot %zu %s of %s", device, own,
			  own == 1 ? "state or ban" : "states and bans", address);
	note_unlisted(session);
	return 0;
}

static int lookup_run(const struct command *command, enum session_use use, session_fn run)
{
	struct lookup lookup = {0};

	return address_get(command->words[0], lookup.addr)
		       ?: session_run(command, use, run, &lookup);
}

int cmd_source_show(const struct command *command)
{
	return lookup_run(command, SESSION_READ, source_show);
}

int cmd_source_forgive(const struct command *command)
{
	return lookup_run(command, SESSION_SHARED, source_forgive);
}
