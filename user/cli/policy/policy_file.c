// SPDX-License-Identifier: GPL-2.0-only
/* Policies in files: reads and parses them, and reports the place of an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_link.h"
#include "cli/attach/named_policy.h"
#include "cli/cmd.h"
#include "compile/compile.h"
#include "kernel/attach/object.h"
#include "kernel/sets/set_load.h"
#include "policy/lint/lint.h"

#define MEM_MAJOR    1 /* of the kernel's devices.txt */
#define MEM_NULL     3
#define TICK_ASSUMED (4 * NS_PER_MS) /* selects the clock of a limit; no error depends on it */

int file_kind_check(const char *path, int fd)
{
	struct stat file;

	if (fstat(fd, &file))
		return fail("%s: %s", path, strerror(errno));
	if (S_ISBLK(file.st_mode) ||
	    (S_ISCHR(file.st_mode) && !isatty(fd) && file.st_rdev != makedev(MEM_MAJOR, MEM_NULL)))
		return fail("%s: not a file but a device: name a file, or - for standard input",
			    path);
	return 0;
}

/* The descriptor, or -1; reports. */
static int policy_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is_link = fd < 0 && errno == ELOOP;
	struct stat file;

	if (is_link)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail("%s: %s", path, strerror(errno));
	if (fstat(fd, &file))
		fail("%s: %s", path, strerror(errno));
	else if (is_link && link_is_foreign(path, &file))
		fail("%s: symbolic link of another user to a file that is not theirs: name the "
		     "file itself",
		     path);
	else if (!file_kind_check(path, fd)) {
		if (S_ISREG(file.st_mode) && file.st_mode & S_IWOTH)
			note("%s: every user may write to this policy: `chmod o-w %s`", path, path);
		return fd;
	}
	close(fd);
	return -1;
}

static int path_read(const char *path, struct policy_file *out)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : policy_open(path);
	int rc;

	if (fd < 0)
		return -1;
	rc = policy_descriptor_read(fd, is_stdin ? "stdin" : path, out);
	if (!rc && includes_expand(out, fd, is_stdin ? NULL : path)) {
		policy_file_clear(out);
		rc = -1;
	}
	if (!is_stdin)
		close(fd);
	return rc;
}

int policy_file_read(const char *path, struct policy_file *out)
{
	struct stat file;
	char *found;
	int rc;

	/* A policy that comes with rlctl: no slash, and no such file in the current directory. */
	if (!policy_name_possible(path) ||
	    (stat(path, &file) ? errno != ENOENT : !S_ISDIR(file.st_mode)))
		return path_read(path, out);
	found = policy_name_path(path);
	if (!found)
		return -1;
	rc = path_read(found, out);
	if (rc)
		free(found);
	else
		out->found = found; /* which its name is */
	return rc;
}

/* Reports "FILE:LINE:COLUMN: TEXT" and the line, or "FILE: TEXT" for an error without a line. The
 * text also names the other line, if there is one, with its file if that is another one. */
static int report_error(const struct policy_file *file, const struct policy_error *err)
{
	struct policy_place place = policy_place(&file->source, err->line);
	struct policy_error named = *err;
	char *text = NULL;
	const char *line = file->text, *end = line + file->size, *newline;

	if (!err->line)
		return fail("%s: %s", file->name, err->text);
	if (err->other) {
		struct policy_place other = policy_place(&file->source, err->other);
		bool same = !strcmp(place.name, other.name);
		size_t used = strlen(named.text);

		snprintf(named.text + used, sizeof(named.text) - used,
			 " (the other is on line %" PRIu32 "%s%s)", other.line, same ? "" : " of ",
			 same ? "" : other.name);
	}
	if (asprintf(&text, "%s:%" PRIu32, place.name, place.line) < 0)
		out_of_memory();
	/* The line, without its newline. */
	for (uint32_t number = err->line; (newline = memchr(line, '\n', end - line)) && --number;)
		line = newline + 1;
	if (!newline)
		newline = end;
	if (newline > line && newline[-1] == '\r')
		newline--;
	fail_at(text, line, newline - line, &named);
	free(text);
	return -1;
}

/* Reports every error, and how many there are. Returns -1. */
static int report_errors(const struct policy_file *file, const struct policy_errors *errors)
{
	for (size_t i = 0; i < policy_errors_kept(errors); i++) {
		const struct policy_error *err = &errors->first[i];

		/* The parser knows only that an include stayed in the text. */
		for (size_t k = file->error_count; k--;)
			if (file->errors[k].line == errors->first[i].line)
				err = &file->errors[k];
		report_error(file, err);
	}
	if (errors->count > 1)
		fail("%s: %zu errors", file->name, errors->count);
	return errors->count ? -1 : fail("%s: out of memory", file->name);
}

/* Compiles the policy as for an instance of that size that has nothing, for its errors alone. */
static int compile_alone(const struct policy_context *ctx, uint32_t prefixes, uint32_t rules,
			 struct policy *policy, struct policy_errors *errors)
{
	const struct compile_context context = {
		.rules_max = rules < RULES_MAX ? rules : RULES_MAX,
		.prefixes_max = prefixes,
		.slots_max = 2 * prefixes,
		.batches_max = 2 * prefixes,
		.tick_ns = TICK_ASSUMED,
		.cpus = 1,
		.possible_cpus = 1,
		.log_max = RL_SLIDING_LOG_MAX,
		.hot = true,
		.now_ns = clock_ns(CLOCK_MONOTONIC),
		.text = ctx,
	};
	const struct rl_policy_header nothing = {0};
	const struct policy empty = {0};
	struct compiled compiled = {0};
	int rc = policy_compile(policy, &empty, &nothing, false, &context, &compiled, errors);

	compiled_clear(&compiled);
	return rc;
}

static int parse(const struct policy_file *file, const struct policy_context *ctx,
		 struct policy *replaced, struct policy *out)
{
	CLEARED struct policy rest = {0};
	struct policy_errors errors, joint = {0};
	int rc = policy_parse(file->text, file->size, ctx, replaced, out, &errors);

	/* Adds errors that several rules make together, of the statements that have none of their
	 * own, and warns of files of sets. The instance, which is not known here, may be as large
	 * as they come. */
	if (rc == -EINVAL && !ctx->known &&
	    !policy_parse_rest(file->text, file->size, ctx, &rest)) {
		sets_files_check(&rest);
		compile_alone(ctx, CAPACITY_MAX, RULES_MAX, &rest, &joint);
		for (size_t i = 0; i < policy_errors_kept(&joint); i++)
			policy_errors_add(&errors, &joint.first[i]);
		errors.count += joint.count - policy_errors_kept(&joint);
	}
	return rc ? report_errors(file, &errors) : 0;
}

int policy_file_parse(const struct policy_file *file, const struct policy_context *ctx,
		      struct policy *out)
{
	CLEARED struct policy replaced = {0};
	int rc = parse(file, ctx, &replaced, out);

	for (size_t i = 0; i < replaced.count; i += 2) {
		struct policy_place from = policy_place(&file->source, replaced.rules[i].line);
		struct policy_place to = policy_place(&file->source, replaced.rules[i + 1].line);
		bool same = !strcmp(from.name, to.name);

		note("%s:%" PRIu32 ": replaces the rule on line %" PRIu32
		     "%s%s (same prefix, match, key and unit)",
		     to.name, to.line, from.line, same ? "" : " of ", same ? "" : from.name);
	}
	return rc;
}

int policy_file_parse_again(const struct policy_file *file, const struct policy_context *ctx,
			    struct policy *out)
{
	return parse(file, ctx, NULL, out);
}

void warning_note(const struct rule *rule, const char *text, void *file)
{
	struct policy_place place;

	if (!file || !rule || !rule->line) {
		note_once("warning: %s", text);
		return;
	}
	place = policy_place(file, rule->line);
	note_once("%s:%" PRIu32 ": warning: %s", place.name, place.line, text);
}

void policy_warnings_note(const struct policy_source *file, const struct policy *policy,
			  const struct policy_context *ctx)
{
	if (file && !policy->count)
		note("%s: no rules: every packet passes", file->name);
	policy_warn(policy, ctx, warning_note, (void *)file);
}

int policy_lint_note(const struct policy_source *file, const struct policy *policy,
		     const struct policy_context *ctx)
{
	char shadow[48] = "";
	struct policy_sum sum;

	policy_sum(policy, &sum);
	if (policy_lint(policy, ctx, file, warning_note, (void *)file))
		return fail("%s: out of memory", file->name);
	if (sum.shadow)
		snprintf(shadow, sizeof(shadow), ", %zu limit%s", sum.shadow,
			 sum.shadow == 1 ? " only counts" : "s only count");
	note("%s: %zu rule%s, %zu prefix%s%s", file->name, sum.rules, sum.rules == 1 ? "" : "s",
	     sum.prefixes, sum.prefixes == 1 ? "" : "es", shadow);
	return 0;
}

int policy_file_check(const struct policy_file *file, const struct policy_context *ctx,
		      uint32_t prefixes, uint32_t rules, struct policy *policy)
{
	struct policy_errors errors;
	int rc = compile_alone(ctx, prefixes, rules, policy, &errors);

	return rc ? report_errors(file, &errors) : 0;
}

struct policy_context context_assumed(const struct target *target)
{
	bool leaving = target->hook == RL_HOOK_EGRESS;

	return (struct policy_context){.mtu = 1500,
				       .by_dest = leaving,
				       .tc = target->hook > RL_HOOK_XDP,
				       .leaving = leaving};
}
