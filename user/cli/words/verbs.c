// SPDX-License-Identifier: GPL-2.0-only
/* The table of verbs. */
#include "base/privilege.h"
#include "cli/cmd.h"

#define RULE_MORE                                                           \
	"The arguments are those of a policy file's line after \"rule\":\n" \
	"  any|device|ADDRESS[/LEN] [MATCH ...] allow|deny|limit RATE ... [for DURATION]\n"

#define SET_MORE                                                                                  \
	"ADDRESS ... are addresses and prefixes, for `set add` with [for DURATION] at the end.\n" \
	"  - reads them from standard input, one a line, as they arrive.\n"

#define FLEET_MORE                                                                               \
	"URL is redis://HOST[:PORT][/DB], unix:///PATH[?db=DB],\n"                               \
	"  redis+sentinel://HOST[:PORT],.../MASTER[/DB] or\n"                                    \
	"  redis+cluster://HOST[:PORT],...[/SHARDS], or valkey in the place of redis.\n"         \
	"  A URL with [USER]:PASSWORD@ before HOST\n"                                            \
	"  goes into a file (--redis @FILE) or into RLCTL_REDIS_URL; the password alone may be " \
	"in\n"                                                                                   \
	"  RLCTL_REDIS_PASSWORD.\n"

#define OPT(name)       OPTION_BIT(name)
#define CAP(name)       PRIVILEGE_BIT(name)

#define PRIVILEGES_LOAD (CAP(BPF) | CAP(NET_ADMIN) | CAP(PERFMON))
/* To find the SSH session in the environment of other users' processes, and to read their files. */
/* The guard asks the kernel for the peers of WireGuard with it. */
#define PRIVILEGES_TUNNEL CAP(NET_ADMIN)
#define PRIVILEGES_GUARD  (CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH))

/* A row: its name, words, summary and function, then what else is so of it. */
#define VERB(name_, words_, summary_, run_, ...)                                          \
	{                                                                                 \
		.name = (name_), .words = (words_), .summary = (summary_), .run = (run_), \
		__VA_ARGS__                                                               \
	}
#define WORDS(min, max) .words_min = (min), .words_max = (max)
/* Runs on each instance that the target selects. */
#define EACH_INSTANCE .options = OPTIONS_INSTANCE, .many = true
#define WRITES_POLICY                                                                          \
	.needs = CAP(BPF), .aside = PRIVILEGES_PROGRAM, .uses = PRIVILEGES_GUARD | CAP(CHOWN), \
	.many = true
#define WRITES_MEMBERS                                                                         \
	.options = OPTIONS_INSTANCE | OPT(YES), .needs = CAP(BPF), .aside = PRIVILEGES_TUNNEL, \
	.many = true

const struct verb all_verbs[] = {
	VERB("attach", "DEV", "Attach a limiter to a device", cmd_attach,
	     .options = OPTIONS_INSTANCE | OPT(YES) | OPT(MODE) | OPT(BY) | OPT(POLICY) |
			OPT(TABLE) | OPT(SOURCES) | OPT(PREFIXES) | OPT(BANS) | OPT(LOG_DEPTH) |
			OPT(STATE) | OPT(CHALLENGE_RATE) | OPT(FQ) | OPT(GROUP) | OPT(OR_APPLY) |
			OPT(LAST) | OPT(REPLACE) | OPT(TRY) | OPT(FOLLOW),
	     .device = DEVICE_MUST, .hooks = true, .many = true, .needs = PRIVILEGES_LOAD,
	     .uses = CAP(SYS_ADMIN) | PRIVILEGES_GUARD | CAP(CHOWN),
	     .texts = {{OPTION_HOOK, "hook, default xdp; may be given several times", NULL},
		       {OPTION_BY, "address to match; default source, egress: dest", "source|dest"},
		       {OPTION_TRY, "detach again unless confirmed within this time", NULL},
		       {OPTION_FOLLOW, "go on and attach to devices that come", NULL},
		       {OPTION_YES, "do not ask about a policy that may lock you out", NULL}}),
	VERB("detach", "DEV", "Detach the limiter from a device", cmd_detach, EACH_INSTANCE,
	     .device = DEVICE_MUST, .hooks = true, .needs = CAP(NET_ADMIN) | CAP(SYS_ADMIN),
	     .texts = {{OPTION_HOOK, "hook, default xdp or the only one; several times", NULL}},
	     .takes = true),
	VERB("status", "[DEV]", "Show the attached limiters", cmd_status, EACH_INSTANCE,
	     .device = DEVICE_MAY, .texts = {{OPTION_HOOK, "only instances at this hook", NULL}}),
	VERB("ban", "ADDRESS ... [for DURATION]",
	     "Deny addresses or prefixes for a time; default 1h", cmd_ban, WORDS(1, -1),
	     WRITES_POLICY, .options = OPTIONS_INSTANCE | OPT(YES)),
	VERB("unban", "ADDRESS ...",
	     "Delete what denies addresses: rules, members of sets, bans by limits", cmd_unban,
	     WORDS(1, -1), WRITES_POLICY, .options = OPTIONS_INSTANCE, .takes = true),
	VERB("alarm on", "ALARM [for DURATION]",
	     "Turn a manual alarm on; without a time until alarm off", cmd_alarm_on, WORDS(1, 3),
	     EACH_INSTANCE, .needs = CAP(BPF)),
	VERB("alarm off", "ALARM", "Turn a manual alarm off", cmd_alarm_off, WORDS(1, 1),
	     EACH_INSTANCE, .needs = CAP(BPF), .takes = true),
	VERB("alarm list", "", "List the alarms of the policy, and which are on", cmd_alarm_list,
	     EACH_INSTANCE),
	VERB("rule add", "PREFIX [MATCH] ACTION",
	     "Add a rule, or replace the one with the same prefix and match", cmd_rule_add,
	     WORDS(1, -1), WRITES_POLICY, .more = RULE_MORE,
	     .options = OPTIONS_INSTANCE | OPT(FILE) | OPT(YES), .words_none = OPT(FILE)),
	VERB("rule del", "PREFIX [MATCH] [ACTION]", "Delete the rules of a prefix and match",
	     cmd_rule_del, WORDS(1, -1), WRITES_POLICY, .more = RULE_MORE,
	     .options = OPTIONS_INSTANCE | OPT(FILE) | OPT(IF_EXISTS) | OPT(YES),
	     .words_none = OPT(FILE), .takes = true),
	VERB("rule get", "ADDRESS", "Show the rules that decide for an address", cmd_rule_get,
	     WORDS(1, 1), EACH_INSTANCE),
	VERB("rule list", "[PREFIX [MATCH]]",
	     "List all rules or those of a prefix; -v lists details", cmd_rule_list, WORDS(0, -1),
	     EACH_INSTANCE),
	VERB("rule flush", "", "Delete all rules", cmd_rule_flush, EACH_INSTANCE, .needs = CAP(BPF),
	     .aside = PRIVILEGES_PROGRAM, .uses = CAP(CHOWN), .takes = true),
	VERB("set add", "SET ADDRESS ...|-", "Add members to a set, or extend their time",
	     cmd_set_add, WORDS(2, -1), WRITES_MEMBERS, .more = SET_MORE),
	VERB("set del", "SET ADDRESS ...|-", "Delete members of a set", cmd_set_del, WORDS(2, -1),
	     WRITES_MEMBERS, .more = SET_MORE, .takes = true),
	VERB("set test", "SET ADDRESS",
	     "Show the longest member around an address; exit status 1 if none", cmd_set_test,
	     WORDS(2, 2), EACH_INSTANCE),
	VERB("set list", "[SET]", "List the sets, or the members of one", cmd_set_list, WORDS(0, 1),
	     EACH_INSTANCE),
	VERB("set flush", "SET", "Delete all members of a set at once", cmd_set_flush, WORDS(1, 1),
	     WRITES_MEMBERS, .takes = true),
	VERB("set swap", "SET FILE|-", "Replace all members of a set at once", cmd_set_swap,
	     WORDS(2, 2), WRITES_MEMBERS),
	VERB("set load", "[SET ...]", "Load the files of sets", cmd_set_load, WORDS(0, -1),
	     .options = OPTIONS_INSTANCE | OPT(DUE) | OPT(YES), .needs = CAP(BPF),
	     .uses = PRIVILEGES_GUARD | CAP(DAC_OVERRIDE) | CAP(CHOWN),
	     .texts = {{OPTION_YES, "load what is refused otherwise", NULL}}, .many = true),
	VERB("set save", "[FILE|-]", "Write the members of sets without a file to a file",
	     cmd_set_save, WORDS(0, 1), EACH_INSTANCE, .needs = CAP(BPF),
	     .uses = CAP(DAC_OVERRIDE) | CAP(CHOWN)),
	VERB("set restore", "[FILE|-]",
	     "Bring back the members that were saved, with the time that is left", cmd_set_restore,
	     WORDS(0, 1), EACH_INSTANCE, .needs = CAP(BPF), .uses = CAP(DAC_READ_SEARCH)),
	VERB("explain", "ADDRESS [MATCH]",
	     "Show what becomes of a packet, rule by rule, without sending it", cmd_explain,
	     WORDS(1, -1),
	     .more = "ADDRESS is the packet's source, or its destination where rules go by it. MATCH are\n"
		     "  its other fields, in the words of rules, and `length N`, the bytes of the IP packet.\n",
	     .options = OPTIONS_INSTANCE | OPT(POLICY), .uses = CAP(BPF),
	     .texts = {{OPTION_POLICY, "this policy, instead of the one in force", NULL}},
	     .many = true),
	VERB("apply", "POLICY|-", "Replace the whole policy atomically", cmd_apply, WORDS(1, 1),
	     WRITES_POLICY, .options = OPTIONS_INSTANCE | OPT(CHECK) | OPT(TRY) | OPT(YES),
	     .needs_none = OPT(CHECK)),
	VERB("undo", "[N]", "Apply again the policy that apply replaced, or the one N before",
	     cmd_undo, WORDS(0, 1), WRITES_POLICY,
	     .options = OPTIONS_INSTANCE | OPT(CHECK) | OPT(TRY) | OPT(YES),
	     .texts = {{OPTION_CHECK, "only show what would change", NULL}}, .takes = true),
	VERB("diff", "POLICY|-", "Show what apply would change", cmd_diff, WORDS(1, 1),
	     EACH_INSTANCE),
	VERB("confirm", "[DEV]", "Keep the policy or the limiter that is on trial", cmd_confirm,
	     .options = OPTIONS_INSTANCE, .device = DEVICE_MAY, .many = true,
	     .texts = {{OPTION_INTERFACE,
			"device, list, pattern or all; optional while there is only one trial",
			NULL},
		       {OPTION_HOOK, "hook of the device; optional likewise", NULL}}),
	VERB("policies", "[POLICY]", "List the policies that come with rlctl, or print one",
	     cmd_policies, WORDS(0, 1), .options = OPTIONS_COMMON),
	VERB("save", "[FILE]", "Write the policy in force to the file that is applied at boot",
	     cmd_save, WORDS(0, 1), EACH_INSTANCE, .uses = CAP(DAC_OVERRIDE) | CAP(CHOWN)),
	VERB("show", "[DEV]", "Print the policy in the format that apply reads", cmd_show,
	     EACH_INSTANCE, .device = DEVICE_MAY),
	VERB("stats", "[DEV]", "Show passed and dropped packets by reason and rule", cmd_stats,
	     .options = OPTIONS_INSTANCE | OPT(WATCH) | OPT(SINCE) | OPT(SORT) | OPT(PROMETHEUS) |
			OPT(RULES),
	     .uses = CAP(BPF), .device = DEVICE_MAY, .many = true,
	     .texts = {{OPTION_HOOK, "only instances at this hook", NULL}}),
	VERB("exporter", "", "Serve the counters to Prometheus over HTTP", cmd_exporter,
	     .options = (OPTIONS_COMMON & ~OPT(JSON)) | OPT(LISTEN) | OPT(RULES),
	     .uses = CAP(NET_BIND_SERVICE)),
	VERB("top", "[DEV]", "Show the busiest sources live; --once or -j prints one snapshot",
	     cmd_top,
	     .options = OPTIONS_INSTANCE | OPT(BY) | OPT(ONCE) | OPT(PREFIX) | OPT(RATE) |
			OPT(SECONDS),
	     .device = DEVICE_MAY, .needs = CAP(BPF), .uses = PRIVILEGES_GUARD | CAP(CHOWN),
	     .many = true,
	     .texts = {{OPTION_RATE, "maximum packets sampled per second; default 2000", NULL},
		       {OPTION_PREFIX, "only sources or destinations in this prefix", NULL},
		       {OPTION_SECONDS, "duration of the snapshot of --once and -j; default 1",
			NULL},
		       {OPTION_JSON, "print one snapshot as JSON", NULL}}),
	VERB("monitor", "[DEV]", "Show dropped packets, or write them to a capture", cmd_monitor,
	     .options = OPTIONS_INSTANCE | OPT(PASSED) | OPT(RATE) | OPT(PREFIX) | OPT(REASON) |
			OPT(RULE) | OPT(WRITE) | OPT(PACKETS) | OPT(SECONDS),
	     .device = DEVICE_MAY, .needs = CAP(BPF), .uses = CAP(DAC_OVERRIDE),
	     .texts = {{OPTION_RATE, "maximum packets printed per second; default 100", NULL},
		       {OPTION_JSON, "print one JSON document per packet", NULL}}),
	VERB("events", "[DEV] [-- ARGUMENT...]",
	     "Show what has happened: drops, bans, alarms, changes; --follow goes on", cmd_events,
	     .options = OPTIONS_INSTANCE | OPT(SINCE) | OPT(ONLY) | OPT(PACKETS) | OPT(FOLLOW) |
			OPT(KEEP) | OPT(EXEC) | OPT(USER) | OPT(EXEC_MAX) | OPT(EXEC_TIMEOUT),
	     .device = DEVICE_MAY, .uses = CAP(BPF), .aside = CAP(SETUID) | CAP(SETGID) | CAP(KILL),
	     .many = true, .rest = true,
	     .texts = {{OPTION_HOOK, "only instances at this hook", NULL},
		       {OPTION_JSON, "print one JSON document per event", NULL},
		       {OPTION_SINCE, "only what has happened since: 2h ago, or a time", "TIME"},
		       {OPTION_PACKETS, "the last N events; with --follow the next", NULL}}),
	VERB("report", "[DEV]", "Sum up the attacks of the last day, to be sent on", cmd_report,
	     .options = OPTIONS_INSTANCE | OPT(SINCE) | OPT(WRITE), .device = DEVICE_MAY,
	     .many = true, .uses = CAP(BPF) | CAP(DAC_OVERRIDE),
	     .texts = {{OPTION_HOOK, "only instances at this hook", NULL},
		       {OPTION_SINCE, "what was not over then: 2h ago, or a time; default 24h",
			"TIME"},
		       {OPTION_WRITE, "write a page for a browser instead", NULL}}),
	VERB("simulate", "POLICY PCAP", "Run a policy over a capture, without a device",
	     cmd_simulate, WORDS(2, 2),
	     .options = OPTIONS_COMMON | OPT(VERDICTS) | OPT(LOCAL) | OPT(ALARM) | OPT(REPORT) |
			OPT(AGAINST),
	     .needs = PRIVILEGES_LOAD,
	     .uses = CAP(DAC_READ_SEARCH) | CAP(DAC_OVERRIDE) | CAP(CHOWN)),
	VERB("suggest", "[FILE ...]",
	     "Suggest a policy from captures, or from what a device receives", cmd_suggest,
	     WORDS(0, -1),
	     .more = "FILE ... are further captures, after --capture FILE. Without --capture, the device that\n"
		     "  -i names is watched for ten minutes; Ctrl-C prints what is known by then.\n",
	     .options = OPTIONS_INSTANCE | OPT(CAPTURE) | OPT(LOCAL) | OPT(FOR) | OPT(RATE) |
			OPT(HEADROOM) | OPT(ENFORCE),
	     .needs = CAP(BPF), .uses = CAP(DAC_READ_SEARCH),
	     .texts = {{OPTION_RATE, "maximum packets sampled per second; default 10000", NULL}}),
	VERB("source show", "ADDRESS",
	     "Show whether an address is affected: denied, dropped, banned, what is left",
	     cmd_source_show, WORDS(1, 1), .options = OPTIONS_INSTANCE | OPT(SECONDS),
	     .uses = CAP(BPF),
	     .texts = {{OPTION_SECONDS, "watch its packets for S seconds; default 1", NULL}}),
	VERB("source list", "[DEV]", "Show which sources are banned, and which are at a limit",
	     cmd_source_list,
	     .options = OPTIONS_INSTANCE | OPT(BANNED) | OPT(LIMITED) | OPT(RULE) | OPT(SECONDS),
	     .device = DEVICE_MAY, .many = true,
	     .texts = {{OPTION_RULE, "only what this quoted rule limits or may have banned", NULL},
		       {OPTION_SECONDS,
			"look for sources in the hot table for S seconds; default 1", NULL}},
	     .needs = CAP(BPF), .needs_none = OPT(BANNED)),
	VERB("source forgive", "ADDRESS", "Clear the states and bans of an address",
	     cmd_source_forgive, WORDS(1, 1), .options = OPTIONS_INSTANCE, .takes = true),
	VERB("fleet join", "", "Share fleet limits with other machines; runs until stopped",
	     cmd_fleet_join, .more = FLEET_MORE,
	     .options = OPTIONS_INSTANCE | OPT(REDIS) | OPT(NAME) | OPT(NODE) | OPT(INTERVAL) |
			OPT(MEMBERS),
	     .uses = CAP(DAC_OVERRIDE),
	     /* for a socket that only Redis' user may open */),
	VERB("fleet status", "", "Show members, leases and shared limits", cmd_fleet_status,
	     .options = OPTIONS_INSTANCE,
	     .texts = {{OPTION_INTERFACE, "device; default: every device with an instance", NULL},
		       {OPTION_HOOK, "only instances at this hook", NULL}}),
	VERB("fleet leave", "", "Stop the agent; limits then apply to this machine alone",
	     cmd_fleet_leave, .options = OPTIONS_INSTANCE),
	VERB("doctor", "[DEV]", "Check the machine and its devices, and suggest fixes", cmd_doctor,
	     .options = OPTIONS_COMMON | OPT(INTERFACE), .device = DEVICE_MAY,
	     .uses = PRIVILEGES_LOAD | CAP(SYS_ADMIN) | CAP(NET_RAW),
	     .texts = {{OPTION_INTERFACE, "device; default: every device with an instance", NULL}}),
	VERB("completion", "bash|zsh", "Print the completion script for a shell", cmd_completion,
	     WORDS(1, 1), .options = OPTIONS_COMMON),
	VERB("complete", "-- WORD ...", "Print the candidates for the last word", cmd_complete,
	     WORDS(0, -1), .options = OPTIONS_COMMON, .uses = CAP(SYS_ADMIN), .hidden = true),
	VERB("help", "[VERB]", "Show this help, or that of a verb", cmd_help, WORDS(0, -1),
	     .options = OPTIONS_COMMON),
	{0},
};
