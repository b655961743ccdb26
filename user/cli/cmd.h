/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs, options and the parsed command line, and with them what every verb uses: messages, units,
 * output, instances and policies. A new option is a row of COMMAND_OPTIONS, a new verb a row of
 * all_verbs[] in verbs.c and a file cmd_VERB.c.
 */
#pragma once

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "kernel/attach/attach.h"
#include "kernel/instance/bpffs.h"
#include "kernel/instance/open.h"
#include "policy/origin.h"

struct policy_file;

/* Every option of every verb: X(NAME, "long", letter or 0, argument or NULL, "help").
 * An argument A|B|C is a choice, numbered from 0; [X] is optional.
 */
#define COMMAND_OPTIONS(X)                                                                         \
	X(INTERFACE, "interface", 'i', "DEV",                                                      \
	  "device, list, pattern or all; optional if only one")                                    \
	X(HOOK, "hook", 0, "xdp|ingress|egress",                                                   \
	  "hook of the device; default xdp, or the only one")                                      \
	X(DIRECTION, "direction", 0, "from|to",                                                    \
	  "packets from the other side of the device (--hook xdp), or to it (egress)")             \
	X(JSON, "json", 'j', NULL, "print one JSON document")                                      \
	X(NETNS, "netns", 'n', "NAME", "use this network namespace")                               \
	X(BPFFS, "bpffs", 0, "DIR", "bpffs of the pins; default " BPFFS_DEFAULT)                   \
	X(QUIET, "quiet", 'q', NULL, "print errors only")                                          \
	X(VERBOSE, "verbose", 'v', NULL, "print more; -vv: libbpf's log too")                      \
	X(VERSION, "version", 0, NULL, "print the version")                                        \
	X(HELP, "help", 'h', NULL, "print this help")                                              \
	X(MODE, "mode", 0, "auto|native|generic", "auto, the default, falls back to tc if needed") \
	X(BY, "by", 0, "source|dest|rule|pattern", "what the rows are; default source")            \
	X(POLICY, "policy", 0, "POLICY", "policy to start with; - is standard input")              \
	X(TABLE, "table", 0, "hot|lru|cpu", "where state is kept; default hot")                    \
	X(SOURCES, "sources", 0, "N", "maximum number of states; default 262144")                  \
	X(PREFIXES, "prefixes", 0, "N", "maximum number of prefixes; default 262144")              \
	X(BANS, "bans", 0, "N", "maximum number of bans; default 65536")                           \
	X(LOG_DEPTH, "log-depth", 0, "N", "maximum N of a sliding-log; default 1024")              \
	X(STATE, "state", 0, "sockets|conntrack",                                                  \
	  "source of proof for established; default sockets")                                      \
	X(CHALLENGE_RATE, "challenge-rate", 0, "N", "answers a second at most; default 1000000")   \
	X(FQ, "fq", 0, NULL, "install the qdisc fq at egress, for leaky-bucket")                   \
	X(GROUP, "group", 0, "GROUP", "let this group read the instance")                          \
	X(OR_APPLY, "or-apply", 0, NULL, "if already attached, only apply the policy")             \
	X(LAST, "last", 0, "FILE", "keep the policy here, and use it if the next is refused")      \
	X(REPLACE, "replace", 0, NULL, "swap in this build's program, keep the state")             \
	X(CHECK, "check", 0, NULL, "only check for mistakes; needs no privilege")                  \
	X(TRY, "try", 0, "DURATION", "undo it unless confirmed within this time")                  \
	X(FILE, "file", 'f', "FILE", "rules of a file, all or none; - is standard input")          \
	X(IF_EXISTS, "if-exists", 0, NULL, "no error if there is no such rule")                    \
	X(DUE, "due", 0, NULL, "only files that are due and have changed; tidy up, save")          \
	X(YES, "yes", 'y', NULL, "apply it without asking, even if it may lock you out")           \
	X(WATCH, "watch", 0, "[S]", "repeat every S seconds, with rates; default 1")               \
	X(SINCE, "since", 0, "FILE", "count since this output of stats -j; - is standard input")   \
	X(SORT, "sort", 0, "dropped|passed|bytes|rule", "order of the rules; default rule")        \
	X(PROMETHEUS, "prometheus", 0, NULL, "print in the Prometheus text format")                \
	X(LISTEN, "listen", 0, "ADDRESS:PORT", "address to serve; default 127.0.0.1:9754")         \
	X(RULES, "rules", 0, "bounded|all|none",                                                   \
	  "rules with metrics of their own; default bounded")                                      \
	X(VERDICTS, "verdicts", 0, NULL, "print a line for each packet instead of totals")         \
	X(LOCAL, "local", 0, "ADDRESS[/LEN]", "the capture's machine has it; may be repeated")     \
	X(ALARM, "alarm", 0, "NAME", "this manual alarm is on; may be repeated")                   \
	X(REPORT, "report", 0, "FILE", "write a page for a browser: what happened, and when")      \
	X(AGAINST, "against", 0, "POLICY", "compare with this policy on the same capture")         \
	X(PASSED, "passed", 0, NULL, "include packets that pass")                                  \
	X(RATE, "rate", 0, "N", "maximum packets sampled per second")                              \
	X(PREFIX, "prefix", 0, "PREFIX", "only packets from or to these addresses")                \
	X(REASON, "reason", 0, "REASONS", "only these reasons, such as over,banned")               \
	X(RULE, "rule", 0, "RULE", "only packets decided by this quoted rule")                     \
	X(WRITE, "write", 'w', "FILE", "write a capture; - is standard output")                    \
	X(FOLLOW, "follow", 0, NULL, "go on and print what happens, as it happens")                \
	X(ONLY, "only", 0, "EVENTS", "only these events, such as drops,alarms")                    \
	X(KEEP, "keep", 0, "DIR", "keep events in this folder, beyond a reboot")                   \
	X(EXEC, "exec", 0, "PROGRAM", "run this for each event, which it reads as JSON")           \
	X(USER, "user", 0, "USER", "who runs the program, as NAME or NAME:GROUP")                  \
	X(EXEC_MAX, "exec-max", 0, "N", "programs that run at once; default 4")                    \
	X(EXEC_TIMEOUT, "exec-timeout", 0, "TIME", "time limit of each program; default 10s")      \
	X(PACKETS, "count", 0, "N", "stop after N packets")                                        \
	X(SECONDS, "seconds", 0, "S", "stop after S seconds")                                      \
	X(BANNED, "banned", 0, NULL, "only what is banned")                                        \
	X(LIMITED, "limited", 0, NULL, "only what is at a limit")                                  \
	X(ONCE, "once", 0, NULL, "print one snapshot as plain text")                               \
	X(REDIS, "redis", 0, "URL", "the fleet's Redis; @FILE holds the URL")                      \
	X(NAME, "name", 0, "FLEET", "name of the fleet")                                           \
	X(NODE, "node", 0, "NAME", "name of this member; default HOST:DEV")                        \
	X(INTERVAL, "interval", 0, "TIME", "interval between exchanges with Redis; default 50ms")  \
	X(MEMBERS, "members", 0, "N", "the fleet has at most so many members")                     \
	X(CAPTURE, "capture", 0, "FILE", "learn from this capture, and from those that follow")    \
	X(FOR, "for", 0, "DURATION", "watch the device so long; default 10m")                      \
	X(HEADROOM, "headroom", 0, "N", "limits are so many times what was seen; default 2")       \
	X(ENFORCE, "enforce", 0, NULL, "suggest limits that drop, not only count")
#define COMMAND_OPTION_ENUM(name, ...) OPTION_##name,
enum option_id { COMMAND_OPTIONS(COMMAND_OPTION_ENUM) OPTION_COUNT };

/* A bit for each option: there are more of them than 64. */
__extension__ typedef unsigned __int128 option_bits;
_Static_assert(OPTION_COUNT <= 8 * sizeof(option_bits), "option_bits");

#define OPTION_BIT(name) ((option_bits)1 << OPTION_##name)
static inline bool option_in(option_bits options, int option)
{
	return options >> option & 1;
}

/* Options of every verb, and of every verb for instances. */
#define OPTIONS_COMMON                                                                  \
	(OPTION_BIT(JSON) | OPTION_BIT(NETNS) | OPTION_BIT(BPFFS) | OPTION_BIT(QUIET) | \
	 OPTION_BIT(VERBOSE) | OPTION_BIT(VERSION) | OPTION_BIT(HELP))
#define OPTIONS_INSTANCE \
	(OPTIONS_COMMON | OPTION_BIT(INTERFACE) | OPTION_BIT(HOOK) | OPTION_BIT(DIRECTION))

/* A change of several instances runs twice on each of them. */
enum phase {
	PHASE_ALONE,  /* one instance: check, ask and change */
	PHASE_CHECK,  /* check and ask, and change nothing */
	PHASE_CHANGE, /* change; the user was asked before */
};

#define LOCALS_MAX 64

/* A parsed command line: the number of words, choices and the device name are checked. */
struct command {
	const struct verb *verb;
	struct target target;
	char **words; /* after the verb, without the device */
	int word_count;
	int front_count; /* words before `--` */
	char **rest;     /* those after `--`, of a verb whose row says `rest` */
	int rest_count;
	const char *arguments[OPTION_COUNT]; /* NULL: not given; "": without argument */
	int choices[OPTION_COUNT];           /* of arguments A|B|C; 0 if not given */
	unsigned int hooks;                  /* bits: every --hook given */
	const char *locals[LOCALS_MAX];      /* every --local given */
	int local_count;
	const char *alarms[RL_ALARMS_MAX]; /* every --alarm given */
	int alarm_count;
	enum phase phase;
	struct json_object *documents; /* where document_print() puts a document; NULL: stdout */
};

/* Whether the first word after the verb is a device. */
enum device_word { DEVICE_NO, DEVICE_MAY, DEVICE_MUST };

/* Help of an option for one verb. */
#define OPTION_TEXTS_MAX 5
struct option_text {
	enum option_id option;
	const char *text;
	const char *argument; /* of its choices the first, or another word; NULL: as it is */
};

/* Runs a verb. 0, < 0 or EXIT_USAGE; reports. */
typedef int verb_fn(const struct command *command);

struct verb {
	const char *name;  /* "attach", or "rule add" */
	const char *words; /* as the usage shows them */
	const char *summary;
	const char *more; /* further help, or NULL */
	option_bits options;
	enum device_word device;
	bool hooks;                                 /* --hook may be given several times */
	struct option_text texts[OPTION_TEXTS_MAX]; /* for the help of COMMAND_OPTIONS */
	bool many;              /* -i may select several devices; see targets_read() */
	uint32_t needs;         /* PRIVILEGE_BITs, all required */
	uint32_t uses;          /* PRIVILEGE_BITs kept if present */
	uint32_t aside;         /* PRIVILEGE_BITs kept if present, without effect until raised */
	option_bits needs_none; /* with one of these, `needs` is empty */
	option_bits words_none; /* with one of these, there are no words */
	int words_min, words_max;
	bool rest;   /* words after `--` are not its own */
	bool hidden; /* not in the usage */
	bool takes;  /* it takes something away: a slip of one letter at most means it */
	verb_fn *run;
};

#define EXIT_USAGE 2

/* All verbs, up to one without a name; set by main.c. */
extern const struct verb *verbs;
extern const struct verb all_verbs[]; /* verbs.c */

verb_fn cmd_attach, cmd_detach, cmd_status, cmd_explain, cmd_rule_add, cmd_rule_del, cmd_rule_get,
	cmd_rule_list, cmd_rule_flush, cmd_apply, cmd_confirm, cmd_diff, cmd_undo, cmd_ban,
	cmd_unban, cmd_alarm_list, cmd_alarm_on, cmd_alarm_off, cmd_doctor, cmd_policies, cmd_save,
	cmd_set_load, cmd_set_save, cmd_set_restore, cmd_show, cmd_stats, cmd_exporter,
	cmd_simulate, cmd_suggest, cmd_monitor, cmd_top, cmd_events, cmd_report, cmd_source_show,
	cmd_source_forgive, cmd_source_list, cmd_set_add, cmd_set_del, cmd_set_test, cmd_set_list,
	cmd_set_flush, cmd_set_swap, cmd_complete, cmd_completion, cmd_fleet_join, cmd_fleet_status,
	cmd_fleet_leave, cmd_help;

/* For --or-apply: notes each option of the command that the instance does not have. */
void options_kept_note(const struct command *command, const struct attach_options *asked,
		       const struct instance *instance);
/* attach --replace with the other options of the command. 0, -1 or EXIT_USAGE. */
int attach_replace(const struct command *command,
		   const struct attach_options *asked); /* cmd_replace.c */

/* `rule add` or `rule del` with --file. 0, < 0 or EXIT_USAGE; reports. */
int rules_file_change(const struct command *command, bool adds); /* cmd_rule_file.c */

/* `apply` of a file that was read. 0, < 0 or EXIT_USAGE; reports. */
int policy_file_apply(const struct command *command,
		      const struct policy_file *file); /* cmd_apply.c */
/* The same on the command's one instance; the replaced policy is kept, and that of drop_ns no
 * longer (replaced.h). */
int policy_file_apply_one(const struct command *command, const struct policy_file *file,
			  uint64_t drop_ns);

/* Prints what changes if one policy takes the place of another: lines with - and +, or a document.
 */
void policies_diff_print(const struct command *command, const struct instance *instance,
			 const struct policy *from, const struct policy *to,
			 const struct policy_context *ctx); /* cmd_diff.c */

/* ---- cmd_try.c */

/* The time of --try, 0 if not given. Returns 0 or EXIT_USAGE. */
int try_get(const struct command *command, uint64_t *out_ns);

/* Reports that the target has no instance: 0 and a note without a device, else -1. */
int nothing_attached(const struct target *target); /* cmd_status.c */

/* ---- targets.c: verbs whose row says `many`
 *
 * `run` gets a command whose target is one instance. If -i names one device or none, it is the
 * command itself; if it is `all`, a list or a pattern, `run` is called for each instance. */
typedef int (*targets_fn)(const struct command *one, void *arg);

/* Prints all of them: text below a heading, documents as one array. Goes on after an error. */
int targets_read(const struct command *command, targets_fn run, void *arg);
/* Prints a heading of one of them, and before others than the first an empty line. */
void heading_print(const char *name, enum rl_hook hook, bool *first);
/* With -j, prints the document or puts it into the array of targets_read(). A verb makes it in any
 * case, and beside it the text: this function and text_print() decide which of both is shown.
 * Not made without -j are documents that are long, of streams or of what text has not: the members
 * of a set, counters, readings, and with them whatever `report` of output.h is for. Takes
 * ownership. */
void document_print(const struct command *command, struct json_object *document);

/* Checks all of them (PHASE_CHECK), then changes one after the other; reports what was changed
 * before an error or a signal, which waits until the device at hand is done. */
int targets_change(const struct command *command, targets_fn run, void *arg);
/* Only checks. */
int targets_check(const struct command *command, targets_fn run, void *arg);

/* ---- options.c, verb.c: parsing the command line */

struct option_row {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
};
extern const struct option_row option_rows[OPTION_COUNT];

/* Splits options from words; does not look at the verb. 0 or EXIT_USAGE. May be called again.
 */
int command_parse(int argc, char **argv, struct command *out);

/* Finds the verb and checks its options and words. 0 or EXIT_USAGE. */
int command_resolve(struct command *command);

/* The verb named by the first words, and how many words name it; NULL if unknown. */
const struct verb *verb_find(char *const *words, int count, int *used);

/* The option with that long name of `len` bytes, or with that letter; -1 if unknown. */
int option_by_name(const char *name, size_t len);
int option_by_letter(char letter);
/* Number of the word among "A|B|C", or -1. */
int choice_find(const char *choices, const char *word);
/* The option whose argument follows this word: --hook, -i, -ji; -1 if none. */
int option_pending(const char *word);

/* The help of an option, for the verb if it is not NULL. */
const char *option_help(const struct verb *verb, int option);
/* The argument of an option, NULL if it has none, for the verb if it is not NULL. */
const char *option_argument(const struct verb *verb, int option);

/* Reports an unknown verb and the nearest known one. Returns EXIT_USAGE. */
int verb_unknown(char *const *words, int count);

/* Whether the first word of the verb's name is `word`. */
bool verb_begins(const struct verb *verb, const char *word);

static inline bool option_given(const struct command *command, enum option_id option)
{
	return command->arguments[option];
}

/* Those that were given. */
option_bits options_given(const struct command *command);

/* The address or prefix that is the argument of --`option`: addr as in prefix_parse(), len 0..128.
 * 0 or EXIT_USAGE.
 */
int option_prefix_get(const char *option, const char *word, uint8_t addr[16], uint8_t *len);

/* The same of an argument of the verb. */
int prefix_get(const char *word, uint8_t addr[16], uint8_t *len);
/* The same of one address. */
int address_get(const char *word, uint8_t addr[16]);

/* The one rule that the words of --rule select, NULL without it. 0, -1 or EXIT_USAGE; reports. */
int selector_option(const struct command *command, const struct instance *instance,
		    const struct policy *policy, const struct rule **out);

/* The option's number, 1..max, or `usual` if not given. 0 or EXIT_USAGE. */
int option_number(const struct command *command, enum option_id option, uint32_t max,
		  uint32_t usual, uint32_t *out);

/* fail(), then EXIT_USAGE */
int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `first` and the words, joined by single blanks, with quotation marks around the expression of a
 * filter; the caller frees it. */
char *words_join(const char *first, char *const *words, int count);

/* The word after the first `count` words of a line, if these are `words`. Modifies `line`. */
const char *word_after(char *line, char *const *words, int count);

/* ---- cmd_help.c */

void usage_print(FILE *file);
/* Help for the verb or family that the words name, or the usage. 0 or EXIT_USAGE. */
int help_print(char *const *words, int count);

/* ---- policy_file.c: policies in files */

struct policy_file {
	const char *name; /* as messages show it */
	char *found;      /* the path that a policy's name stands for, or NULL */
	char *text;       /* with the files that it includes */
	size_t size;
	struct policy_source source;
	char **names;                /* of the files in `source` */
	struct policy_error *errors; /* of includes */
	size_t name_count, error_count;
};

/* Accepts pipes, terminals and /dev/null, which have an end; refuses other devices. 0 or -1;
 * reports. */
int file_kind_check(const char *path, int fd);
/* The whole file; "-" is standard input, and a word that is no file here the name of a policy that
 * comes with rlctl. 0 or -1; reports. */
int policy_file_read(const char *path, struct policy_file *out);
/* Puts the files that a policy includes in the place of its `include` lines (include.c). `fd` is
 * the open file, which is distinguished from the files that it includes; names in it are relative
 * to the folder of `path`, or to the current one if that is NULL. An include that cannot be
 * followed stays in the text, with its error in file->errors. 0 or -1; reports. */
int includes_expand(struct policy_file *file, int fd, const char *path);
/* The rest of an open file. NULL or the error. Silent. */
const char *policy_descriptor_load(int fd, const char *name, struct policy_file *out);
/* The same. 0 or -1; reports. */
int policy_descriptor_read(int fd, const char *name, struct policy_file *out);
void policy_file_clear(struct policy_file *file);
/* Policies and files, zero-initialised, that are cleared at the end of their block. */
#define CLEARED      __attribute__((cleanup(policy_clear)))
#define CLEARED_FILE __attribute__((cleanup(policy_file_clear)))
/* The lines of the policy, as `show` prints them; the caller frees them. Exits if out of memory. */
char *policy_text(const struct policy *policy, const struct policy_context *ctx, size_t *size);

/* Parses its rules. 0 or -1; reports the place of an error, and prints a note for each rule that a
 * later one replaces. */
int policy_file_parse(const struct policy_file *file, const struct policy_context *ctx,
		      struct policy *out);

/* The same without these notes, for a second context. */
int policy_file_parse_again(const struct policy_file *file, const struct policy_context *ctx,
			    struct policy *out);

/* note("FILE:LINE: warning: TEXT"), without the place if `file` or `rule` is NULL or the rule has
 * no line. */
void warning_note(const struct rule *rule, const char *text, void *file);

/* Prints a warning for each rule that is probably a mistake. */
void policy_warnings_note(const struct policy_source *file, const struct policy *policy,
			  const struct policy_context *ctx);

/* Prints a warning for each rule that is probably not what its author meant, and what the policy
 * consists of. 0 or -1; reports. */
int policy_lint_note(const struct policy_source *file, const struct policy *policy,
		     const struct policy_context *ctx);

/* The context of a policy without an instance: of the target's hook. */
struct policy_context context_assumed(const struct target *target);

/* Whether a new instance of that capacity could hold the policy. 0 or -1; reports. */
int policy_file_check(const struct policy_file *file, const struct policy_context *ctx,
		      uint32_t prefixes, uint32_t rules, struct policy *policy);
