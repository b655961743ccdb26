// SPDX-License-Identifier: GPL-2.0-only
/* The table of verbs, and dispatch. Exit status: 0 done, 1 failed, 2 usage error. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"
#include "netns.h"
#include "output.h"
#include "privilege.h"
#include "program_fit.h"

#define RULE_MORE                                                           \
	"The arguments are those of a policy file's line after \"rule\":\n" \
	"  any|device|ADDRESS[/LEN] [MATCH ...] allow|deny|limit RATE ... [for DURATION]\n"

#define FLEET_MORE                                                                               \
	"URL is redis://HOST[:PORT][/DB], unix:///PATH[?db=DB] or\n"                             \
	"  redis+sentinel://HOST[:PORT],.../MASTER[/DB]. A URL with [USER]:PASSWORD@ before "    \
	"HOST\n"                                                                                 \
	"  goes into a file (--redis @FILE) or into RLCTL_REDIS_URL; the password alone may be " \
	"in\n"                                                                                   \
	"  RLCTL_REDIS_PASSWORD.\n"

#define PRIVILEGES_LOAD (PRIVILEGE_BIT(BPF) | PRIVILEGE_BIT(NET_ADMIN) | PRIVILEGE_BIT(PERFMON))
/* To find the SSH session in the environment of other users' processes, and to read their files. */
#define PRIVILEGES_GUARD (PRIVILEGE_BIT(SYS_PTRACE) | PRIVILEGE_BIT(DAC_READ_SEARCH))

static const struct verb all_verbs[] = {
	{
		.name = "attach",
		.words = "DEV",
		.summary = "Attach a limiter to a device",
		.options = OPTIONS_INSTANCE | OPTION_BIT(YES) | OPTION_BIT(MODE) | OPTION_BIT(BY) |
			   OPTION_BIT(POLICY) | OPTION_BIT(TABLE) | OPTION_BIT(SOURCES) |
			   OPTION_BIT(PREFIXES) | OPTION_BIT(BANS) | OPTION_BIT(LOG_DEPTH) |
			   OPTION_BIT(STATE) | OPTION_BIT(CHALLENGE_RATE) | OPTION_BIT(FQ) |
			   OPTION_BIT(GROUP) | OPTION_BIT(OR_APPLY) | OPTION_BIT(REPLACE) |
			   OPTION_BIT(TRY),
		.device = DEVICE_MUST,
		.hooks = true,
		.needs = PRIVILEGES_LOAD,
		.uses = PRIVILEGE_BIT(SYS_ADMIN) | PRIVILEGES_GUARD | PRIVILEGE_BIT(CHOWN),
		.texts = {{OPTION_HOOK, "hook, default xdp; may be given several times"},
			  {OPTION_TRY, "detach again unless confirmed within this time"},
			  {OPTION_YES, "do not ask about a policy that may lock you out"}},
		.run = cmd_attach,
	},
	{
		.name = "detach",
		.words = "DEV",
		.summary = "Detach the limiter from a device",
		.options = OPTIONS_INSTANCE,
		.device = DEVICE_MUST,
		.hooks = true,
		.needs = PRIVILEGE_BIT(NET_ADMIN) | PRIVILEGE_BIT(SYS_ADMIN),
		.many = true,
		.texts = {{OPTION_HOOK, "hook, default xdp or the only one; several times"}},
		.run = cmd_detach,
	},
	{
		.name = "status",
		.words = "[DEV]",
		.summary = "Show the attached limiters",
		.options = OPTIONS_INSTANCE,
		.device = DEVICE_MAY,
		.many = true,
		.texts = {{OPTION_HOOK, "only instances at this hook"}},
		.run = cmd_status,
	},
	{
		.name = "rule add",
		.words = "PREFIX [MATCH] ACTION",
		.summary = "Add a rule, or replace the one with the same prefix and match",
		.more = RULE_MORE,
		.options = OPTIONS_INSTANCE | OPTION_BIT(FILE) | OPTION_BIT(YES),
		.words_none = OPTION_BIT(FILE),
		.words_min = 1,
		.words_max = -1,
		.needs = PRIVILEGE_BIT(BPF),
		.aside = PRIVILEGES_PROGRAM,
		.uses = PRIVILEGES_GUARD | PRIVILEGE_BIT(CHOWN),
		.many = true,
		.run = cmd_rule_add,
	},
	{
		.name = "rule del",
		.words = "PREFIX [MATCH] [ACTION]",
		.summary = "Delete the rules of a prefix and match",
		.more = RULE_MORE,
		.options = OPTIONS_INSTANCE | OPTION_BIT(FILE) | OPTION_BIT(IF_EXISTS) |
			   OPTION_BIT(YES),
		.words_none = OPTION_BIT(FILE),
		.words_min = 1,
		.words_max = -1,
		.needs = PRIVILEGE_BIT(BPF),
		.aside = PRIVILEGES_PROGRAM,
		.uses = PRIVILEGES_GUARD | PRIVILEGE_BIT(CHOWN),
		.many = true,
		.run = cmd_rule_del,
	},
	{
		.name = "rule get",
		.words = "ADDRESS",
		.summary = "Show the rules that decide for an address",
		.options = OPTIONS_INSTANCE,
		.words_min = 1,
		.words_max = 1,
		.many = true,
		.run = cmd_rule_get,
	},
	{
		.name = "rule list",
		.words = "[PREFIX [MATCH]]",
		.summary = "List all rules or those of a prefix; -v lists details",
		.options = OPTIONS_INSTANCE,
		.words_max = -1,
		.many = true,
		.run = cmd_rule_list,
	},
	{
		.name = "rule flush",
		.words = "",
		.summary = "Delete all rules",
		.options = OPTIONS_INSTANCE,
		.needs = PRIVILEGE_BIT(BPF),
		.aside = PRIVILEGES_PROGRAM,
		.uses = PRIVILEGE_BIT(CHOWN),
		.many = true,
		.run = cmd_rule_flush,
	},
	{
		.name = "explain",
		.words = "ADDRESS [MATCH]",
		.summary = "Show what becomes of a packet, rule by rule, without sending it",
		.more = "ADDRESS is the packet's source, or its destination where rules go by it. MATCH are\n"
			"  its other fields, in the words of rules, and `length N`, the bytes of the IP packet.\n",
		.options = OPTIONS_INSTANCE | OPTION_BIT(POLICY),
		.words_min = 1,
		.words_max = -1,
		.texts = {{OPTION_POLICY, "this policy, instead of the one in force"}},
		.many = true,
		.run = cmd_explain,
	},
	{
		.name = "apply",
		.words = "POLICY|-",
		.summary = "Replace the whole policy atomically",
		.options = OPTIONS_INSTANCE | OPTION_BIT(CHECK) | OPTION_BIT(TRY) | OPTION_BIT(YES),
		.words_min = 1,
		.words_max = 1,
		.needs = PRIVILEGE_BIT(BPF),
		.aside = PRIVILEGES_PROGRAM,
		.uses = PRIVILEGES_GUARD | PRIVILEGE_BIT(CHOWN),
		.needs_none = OPTION_BIT(CHECK),
		.many = true,
		.run = cmd_apply,
	},
	{
		.name = "diff",
		.words = "POLICY|-",
		.summary = "Show what apply would change",
		.options = OPTIONS_INSTANCE,
		.words_min = 1,
		.words_max = 1,
		.many = true,
		.run = cmd_diff,
	},
	{
		.name = "confirm",
		.words = "[DEV]",
		.summary = "Keep the policy or the limiter that is on trial",
		.options = OPTIONS_INSTANCE,
		.device = DEVICE_MAY,
		.texts = {{OPTION_INTERFACE, "device; optional while there is only one trial"},
			  {OPTION_HOOK, "hook of the device; optional likewise"}},
		.run = cmd_confirm,
	},
	{
		.name = "policies",
		.words = "[POLICY]",
		.summary = "List the policies that come with rlctl, or print one",
		.options = OPTIONS_COMMON,
		.words_max = 1,
		.run = cmd_policies,
	},
	{
		.name = "save",
		.words = "[FILE]",
		.summary = "Write the policy in force to the file that is applied at boot",
		.options = OPTIONS_INSTANCE,
		.words_max = 1,
		.uses = PRIVILEGE_BIT(DAC_OVERRIDE) | PRIVILEGE_BIT(CHOWN),
		.many = true,
		.run = cmd_save,
	},
	{
		.name = "show",
		.words = "[DEV]",
		.summary = "Print the policy in the format that apply reads",
		.options = OPTIONS_INSTANCE,
		.device = DEVICE_MAY,
		.many = true,
		.run = cmd_show,
	},
	{
		.name = "stats",
		.words = "[DEV]",
		.summary = "Show passed and dropped packets by reason and rule",
		.options = OPTIONS_INSTANCE | OPTION_BIT(WATCH) | OPTION_BIT(SINCE) |
			   OPTION_BIT(SORT) | OPTION_BIT(PROMETHEUS) | OPTION_BIT(RULES),
		.device = DEVICE_MAY,
		.many = true,
		.texts = {{OPTION_HOOK, "only instances at this hook"}},
		.run = cmd_stats,
	},
	{
		.name = "exporter",
		.words = "",
		.summary = "Serve the counters to Prometheus over HTTP",
		.options = (OPTIONS_COMMON & ~OPTION_BIT(JSON)) | OPTION_BIT(LISTEN) |
			   OPTION_BIT(RULES),
		.uses = PRIVILEGE_BIT(NET_BIND_SERVICE),
		.run = cmd_exporter,
	},
	{
		.name = "top",
		.words = "[DEV]",
		.summary = "Show the busiest sources live; --once or -j prints one snapshot",
		.options = OPTIONS_INSTANCE | OPTION_BIT(ONCE) | OPTION_BIT(PREFIX) |
			   OPTION_BIT(RATE) | OPTION_BIT(SECONDS),
		.device = DEVICE_MAY,
		.needs = PRIVILEGE_BIT(BPF),
		.uses = PRIVILEGES_GUARD | PRIVILEGE_BIT(CHOWN),
		.many = true,
		.texts = {{OPTION_RATE, "maximum packets sampled per second; default 2000"},
			  {OPTION_PREFIX, "only sources in this prefix"},
			  {OPTION_SECONDS, "duration of the snapshot of --once and -j; default 1"},
			  {OPTION_JSON, "print one snapshot as JSON"}},
		.run = cmd_top,
	},
	{
		.name = "monitor",
		.words = "[DEV]",
		.summary = "Show dropped packets, or write them to a capture",
		.options = OPTIONS_INSTANCE | OPTION_BIT(PASSED) | OPTION_BIT(RATE) |
			   OPTION_BIT(PREFIX) | OPTION_BIT(REASON) | OPTION_BIT(RULE) |
			   OPTION_BIT(WRITE) | OPTION_BIT(PACKETS) | OPTION_BIT(SECONDS),
		.device = DEVICE_MAY,
		.needs = PRIVILEGE_BIT(BPF),
		.uses = PRIVILEGE_BIT(DAC_OVERRIDE),
		.texts = {{OPTION_RATE, "maximum packets printed per second; default 100"},
			  {OPTION_JSON, "print one JSON document per packet"}},
		.run = cmd_monitor,
	},
	{
		.name = "simulate",
		.words = "POLICY PCAP",
		.summary = "Run a policy over a capture, without a device",
		.options = OPTIONS_COMMON | OPTION_BIT(VERDICTS) | OPTION_BIT(LOCAL),
		.words_min = 2,
		.words_max = 2,
		.needs = PRIVILEGES_LOAD,
		.uses = PRIVILEGE_BIT(DAC_READ_SEARCH),
		.run = cmd_simulate,
	},
	{
		.name = "source show",
		.words = "ADDRESS",
		.summary = "Show the states, allowances and bans of an address",
		.options = OPTIONS_INSTANCE,
		.words_min = 1,
		.words_max = 1,
		.run = cmd_source_show,
	},
	{
		.name = "source list",
		.words = "[DEV]",
		.summary = "Show which sources are banned, and which are at a limit",
		.options = OPTIONS_INSTANCE | OPTION_BIT(BANNED) | OPTION_BIT(LIMITED) |
			   OPTION_BIT(RULE) | OPTION_BIT(SECONDS),
		.device = DEVICE_MAY,
		.many = true,
		.texts = {{OPTION_RULE, "only what this quoted rule limits or may have banned"},
			  {OPTION_SECONDS,
			   "look for sources in the hot table for S seconds; default 1"}},
		.needs = PRIVILEGE_BIT(BPF),
		.needs_none = OPTION_BIT(BANNED),
		.run = cmd_source_list,
	},
	{
		.name = "source forgive",
		.words = "ADDRESS",
		.summary = "Clear the states and bans of an address",
		.options = OPTIONS_INSTANCE,
		.words_min = 1,
		.words_max = 1,
		.run = cmd_source_forgive,
	},
	{
		.name = "fleet join",
		.words = "",
		.summary = "Share fleet limits with other machines; runs until stopped",
		.more = FLEET_MORE,
		.options = OPTIONS_INSTANCE | OPTION_BIT(REDIS) | OPTION_BIT(NAME) |
			   OPTION_BIT(NODE) | OPTION_BIT(INTERVAL),
		.uses = PRIVILEGE_BIT(
			DAC_OVERRIDE), /* for a socket that only Redis' user may open */
		.run = cmd_fleet_join,
	},
	{
		.name = "fleet status",
		.words = "",
		.summary = "Show members, leases and shared limits",
		.options = OPTIONS_INSTANCE,
		.texts = {{OPTION_INTERFACE, "device; default: every device with an instance"},
			  {OPTION_HOOK, "only instances at this hook"}},
		.run = cmd_fleet_status,
	},
	{
		.name = "fleet leave",
		.words = "",
		.summary = "Stop the agent; limits then apply to this machine alone",
		.options = OPTIONS_INSTANCE,
		.run = cmd_fleet_leave,
	},
	{
		.name = "doctor",
		.words = "[DEV]",
		.summary = "Check the machine and its devices, and suggest fixes",
		.options = OPTIONS_COMMON | OPTION_BIT(INTERFACE),
		.device = DEVICE_MAY,
		.uses = PRIVILEGES_LOAD | PRIVILEGE_BIT(SYS_ADMIN) | PRIVILEGE_BIT(NET_RAW),
		.texts = {{OPTION_INTERFACE, "device; default: every device with an instance"}},
		.run = cmd_doctor,
	},
	{
		.name = "completion",
		.words = "bash|zsh",
		.summary = "Print the completion script for a shell",
		.options = OPTIONS_COMMON,
		.words_min = 1,
		.words_max = 1,
		.run = cmd_completion,
	},
	{
		.name = "complete",
		.words = "-- WORD ...",
		.summary = "Print the candidates for the last word",
		.options = OPTIONS_COMMON,
		.words_max = -1,
		.uses = PRIVILEGE_BIT(SYS_ADMIN),
		.run = cmd_complete,
		.hidden = true,
	},
	{
		.name = "help",
		.words = "[VERB]",
		.summary = "Show this help, or that of a verb",
		.options = OPTIONS_COMMON,
		.words_max = -1,
		.run = cmd_help,
	},
	{0},
};

/* If a standard stream is closed, the next file opened would take its number and be written to. */
static void streams_secure(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			_exit(EXIT_FAILURE);
}

/* Drops every capability that the verb's row does not list; CAP_SYS_ADMIN only after entering the
 * namespace. */
static int privileges_settle(const struct command *command)
{
	const char *netns = command->arguments[OPTION_NETNS];
	const struct verb *verb = command->verb;
	uint32_t needs = verb->needs_none & options_given(command) ? 0 : verb->needs;
	uint32_t enter = netns ? PRIVILEGE_BIT(SYS_ADMIN) : 0;
	int rc = privileges_keep(verb->name, needs | enter, verb->uses, verb->aside);

	if (rc || !netns)
		return rc;
	rc = netns_enter(netns);
	return rc ? rc : privileges_keep(verb->name, needs, verb->uses, verb->aside);
}

static int dispatch(struct command *command)
{
	int rc;

	if (option_given(command, OPTION_VERSION)) {
		puts("rlctl " RLCTL_VERSION);
		return 0;
	}
	if (option_given(command, OPTION_HELP))
		return help_print(command->words, command->word_count);
	if (!command->word_count) {
		usage_print(stderr);
		return EXIT_USAGE;
	}
	log_setup();
	setenv("LIBXDP_BPFFS", command->target.bpffs, 1);
	rc = command_resolve(command);
	if (!rc)
		rc = privileges_settle(command);
	return rc ? rc : command->verb->run(command);
}

int main(int argc, char **argv)
{
	struct command command;
	int rc;

	streams_secure();
	output_begin();
	verbs = all_verbs;
	signal(SIGPIPE, SIG_IGN); /* write() reports EPIPE instead */
	rc = command_parse(argc, argv, &command);
	if (!rc)
		rc = dispatch(&command);
	if (!rc && output_flush())
		rc = -1;
	return rc < 0 ? EXIT_FAILURE : rc;
}
