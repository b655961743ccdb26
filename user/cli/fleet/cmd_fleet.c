// SPDX-License-Identifier: GPL-2.0-only
/* rlctl fleet join|status|leave: limits shared by many machines. join runs the agent in the
 * foreground; status and leave communicate with it through the instance's maps.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/guard/ssh_sessions.h"
#include "cli/output/output.h"
#include "fleet/fleet.h"
#include "fleet/link.h"
#include "fleet/url.h"
#include "kernel/attach/hook_names.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/maps/fleet_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/scope.h"
#include "policy/policy.h"

#define URL_MAX      1024
#define INTERVAL_MIN (5 * NS_PER_MS)
#define INTERVAL_MAX (500 * NS_PER_MS)
#define INTERVAL     (50 * NS_PER_MS)
#define STEP_NS      (100 * NS_PER_MS)
#define LEAVE_TRIES  30

/* ---- join */

/* A URL on the command line may not contain a password, since ps shows it to every user. */
static int url_get(const struct command *command, struct fleet_url *out)
{
	const char *word = command->arguments[OPTION_REDIS] ?: getenv("RLCTL_REDIS_URL");
	const char *password = getenv("RLCTL_REDIS_PASSWORD"), *wrong_with;
	char text[URL_MAX];

	if (!word)
		return wrong("fleet join: missing Redis URL: use --redis URL, --redis @FILE or "
			     "RLCTL_REDIS_URL");
	if (*word == '@') { /* the first line of a file */
		CLOSED_FILE FILE *file = fopen(word + 1, "re");

		if (!file || !fgets(text, sizeof(text), file))
			return fail("--redis %s: %s", word, file ? "empty file" : strerror(errno));
		text[strcspn(text, "\r\n")] = '\0';
	}
	wrong_with = fleet_url_parse(*word == '@' ? text : word, out);
	if (wrong_with)
		return wrong("--redis: %s", wrong_with);
	if (*out->password && word == command->arguments[OPTION_REDIS] && *word != '@')
		return wrong("--redis: every user can read a password on the command line: put the "
			     "URL into a file (--redis @FILE) or into RLCTL_REDIS_URL");
	if (password && strlen(password) >= sizeof(out->password))
		return wrong("RLCTL_REDIS_PASSWORD is too long: use at most %zu bytes",
			     sizeof(out->password) - 1);
	if (password)
		snprintf(out->password, sizeof(out->password), "%s", password);
	wrong_with = fleet_lacks(out);
	return wrong_with ? wrong("--redis: %s", wrong_with) : 0;
}

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._:-", name[i]))
			return false;
	return len > 0 && len < RL_FLEET_NAME;
}

static int session_read(const struct instance *instance, struct rl_fleet_session *out)
{
	int ret = fleet_session_read(instance, out);

	return ret ? fail("%s: reading the fleet session failed: %s", instance->device,
			  strerror(-ret))
		   : 0;
}

static void step_wait(void)
{
	const struct timespec span = {.tv_nsec = STEP_NS};

	nanosleep(&span, NULL);
}

/* Each instance has one agent. A killed agent seems alive for a while, but its timestamp stops.
 */
static int agent_is_alone(const struct instance *instance)
{
	struct rl_fleet_session session;
	uint64_t seen_ns = 0;

	for (;;) {
		if (session_read(instance, &session))
			return -1;
		if (!fleet_session_is_alive(&session))
			return 0;
		if (seen_ns && session.updated_ns != seen_ns)
			return fail("%s: already in fleet %s (process %u): run `rlctl fleet leave` "
				    "first",
				    instance->device, session.fleet, session.pid);
		seen_ns = session.updated_ns;
		step_wait();
	}
}

static int member_run(const struct command *command, struct fleet_options options)
{
	char usual[RL_FLEET_NAME + IF_NAMESIZE + 2], host[RL_FLEET_NAME - IF_NAMESIZE] = "";
	struct instance instance;
	int rc = instance_open_shared(&command->target, &instance);

	if (rc)
		return rc;
	gethostname(host, sizeof(host) - 1);
	snprintf(usual, sizeof(usual), "%s:%s", host, instance.device);
	if (!options.node)
		options.node = usual;
	rc = agent_is_alone(&instance);
	rc = rc ?: fleet_run(&instance, &options);
	instance_close(&instance);
	return rc;
}

int cmd_fleet_join(const struct command *command)
{
	const char *interval = command->arguments[OPTION_INTERVAL];
	const char *count = command->arguments[OPTION_MEMBERS];
	struct fleet_options options = {.interval_ns = INTERVAL};
	int rc = url_get(command, &options.url);
	uint64_t members = 0;

	if (rc)
		return rc;
	options.fleet = command->arguments[OPTION_NAME];
	options.node = command->arguments[OPTION_NODE];
	if (!options.fleet)
		return wrong("fleet join: missing fleet name: use --name FLEET");
	if (!is_name(options.fleet))
		return wrong("invalid --name '%s': use up to 63 letters, digits and ._:-",
			     options.fleet);
	if (options.node && !is_name(options.node))
		return wrong("invalid --node '%s': use up to 63 letters, digits and ._:-",
			     options.node);
	if (interval && (duration_parse(interval, &options.interval_ns) ||
			 options.interval_ns < INTERVAL_MIN || options.interval_ns > INTERVAL_MAX))
		return wrong("invalid --interval '%s': use a time from 5ms to 500ms", interval);
	if (count && number_parse(count, 1, FLEET_SIZE_MAX, &members))
		return wrong("invalid --members '%s': use a number from 1 to %u", count,
			     FLEET_SIZE_MAX);
	options.members = (uint32_t)members;
	return member_run(command, options);
}

/* ---- status */

/* "overshoot": by how much the sum of all members may exceed the limit. */
static struct json_object *limit_json(const struct instance *instance, const struct rule *rule,
				      const struct policy_context *ctx, uint32_t members)
{
	struct json_object *one;
	struct fleet_limit limit;
	char words[RULE_TEXT_MAX];
	struct rl_fleet_limit record = {0};
	int ret = fleet_limit_read(instance, rule->limit_id, &record);
	/* Whether the agent shares the limit, and Redis is connected. */
	bool shared = fleet_now_ns() < record.until_ns;

	if (ret && ret != -ENOENT) {
		fail("%s: reading a limit's share failed: %s", instance->device, strerror(-ret));
		return NULL;
	}
	fleet_limit_make(rule, instance->info.mtu, instance->info.by_dest, &limit);
	rule_format(words, rule, ctx);
	one = json_object_new_object();
	json_put_text(one, "rule", words);
	json_put_text(one, "identity", limit.identity);
	json_put_bool(one, "shared", shared);
	json_put_number(one, "overshoot", fleet_limit_overshoot(&limit, members));
	return one;
}

/* NULL on failure; reports. */
static struct json_object *limits_json(const struct instance *instance,
				       const struct rl_fleet_session *session)
{
	struct policy policy = {0};
	struct policy_context ctx;
	struct json_object *array;

	instance_context(instance, &ctx);
	if (instance_policy_read(instance, &policy))
		return NULL;
	array = json_object_new_array();
	policy_for_each (&policy, rule) {
		struct json_object *one;

		if (rule->action != RL_ACTION_LIMIT || !rule->limit.fleet)
			continue;
		one = limit_json(instance, rule, &ctx, session->members);
		if (!one) {
			json_object_put(array);
			array = NULL;
			break;
		}
		json_append(array, one);
	}
	policy_clear(&policy);
	return array;
}

static int visit(struct instance *instance, void *arg)
{
	struct json_object *limits, *members;
	struct rl_fleet_session own, *session = &own;
	struct report *report = arg;
	uint64_t most = 0, overshoot;
	char lag[NUMBER_TEXT_MAX];

	if (session_read(instance, session))
		return -1;
	if (!session->since_ns)
		return 0;
	limits = limits_json(instance, session);
	if (!limits)
		return -1;
	members = json_object_new_array();
	for (int i = 0; i < RL_FLEET_MEMBERS && *session->member[i]; i++)
		json_append(members, json_object_new_string(session->member[i]));
	for (size_t i = 0; i < json_object_array_length(limits); i++) {
		overshoot = json_object_get_uint64(
			json_object_object_get(json_object_array_get_idx(limits, i), "overshoot"));
		most = overshoot > most ? overshoot : most;
	}
	report_begin(report, NULL);
	report_text(report, "device", "device", instance->device);
	report_text(report, "hook", "hook", hook_name(instance->info.hook));
	report_text(report, "fleet", "fleet", session->fleet);
	report_text(report, "node", "node", session->node);
	report_value(report, "pid", json_object_new_uint64(session->pid));
	report_text(report, "mode", "mode",
		    fleet_session_is_alive(session) && session->shared ? "shared" : "local");
	report_text(report, "server", "server", *session->server ? session->server : "-");
	report_id(report, "member_count", "members", session->members);
	report_value(report, "members", members);
	report_number(report, "leases", "leases", session->leases);
	snprintf(lag, sizeof(lag), "%.1f ms", (double)session->lag_ns / NS_PER_MS);
	report_text(report, NULL, "lag", lag);
	report_value(report, "lag_ns", json_object_new_uint64(session->lag_ns));
	report_number(report, NULL, "overshoot", most);
	report_value(report, "limits", limits);
	report_number(report, "lost", "lost", session->lost);
	report_number(report, "shed", "shed", session->shed);
	report_value(report, "alive", json_object_new_boolean(fleet_session_is_alive(session)));
	report_time(report, "since", "since", session->since_ns);
	return 0;
}

int cmd_fleet_status(const struct command *command)
{
	struct report report = {0};
	struct json_object *array;
	int rc = instance_for_each(&command->target, visit, &report);

	if (!rc && !report.records)
		note("no instance is in a fleet: `rlctl fleet join` joins one");
	array = report_end(&report);
	if (!rc && output_json)
		json_print(array);
	else
		json_object_put(array);
	return rc;
}

/* ---- leave */

/* An agent that waits for something does not update the session, and writes its shares again
 * when it goes on. */
static bool agent_runs(const struct rl_fleet_session *session)
{
	char name[32];

	if (!session->since_ns || fleet_session_is_alive(session))
		return session->since_ns;
	process_read((pid_t)session->pid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	return *name && !strcmp(name, program_invocation_short_name);
}

/* Asks the agent to stop, and waits. */
static int leave_ask(const struct instance *instance)
{
	struct rl_fleet_session session;
	int ret = session_read(instance, &session);

	for (int i = 0; !ret && i < LEAVE_TRIES && agent_runs(&session); i++) {
		session.leave = 1;
		ret = fleet_session_write(instance, &session);
		if (ret)
			return fail("%s: notifying the agent failed: %s", instance->device,
				    strerror(-ret));
		step_wait();
		ret = session_read(instance, &session);
	}
	if (ret || !agent_runs(&session))
		return ret;
	return fail("%s: the agent (process %u) does not respond: kill it, then try again",
		    instance->device, session.pid);
}

int cmd_fleet_leave(const struct command *command)
{
	const struct rl_fleet_session none = {0};
	struct instance instance;
	int rc = instance_open_shared(&command->target, &instance), ret, also;

	if (rc)
		return rc;
	rc = leave_ask(&instance);
	if (!rc) { /* clears the shares, so that the limits apply in full to this machine */
		ret = fleet_session_write(&instance, &none);
		also = fleet_clear(&instance, true);
		ret = ret ? ret : also;
		if (ret)
			rc = fail("%s: the agent has left, but clearing its shares failed: %s: try "
				  "again",
				  instance.device, strerror(-ret));
	}
	instance_close(&instance);
	return rc;
}
