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

#include "clock.h"
#include "cmd.h"
#include "compile.h"
#include "lint.h"
#include "message.h"
#include "object.h"
#include "output.h"
#include "policy.h"
#include "units.h"

#define MEM_MAJOR      1 /* of the kernel's devices.txt */
#define MEM_NULL       3
#define FILE_MAX_BYTES (1ull << 30)
#define TICK_ASSUMED   (4 * NS_PER_MS) /* selects the clock of a limit; no error depends on it */

/* Doubles the buffer if it is full; one byte stays free for the NUL. 0 or -1. */
static int buffer_grow(struct policy_file *file, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity * 2 : 1 << 16;
	char *text;

	if (file->size + 1 < *capacity)
		return 0;
	if (wanted > 2 * FILE_MAX_BYTES)
		return fail("%s: larger than 1 GiB: not a policy", file->name);
	text = realloc(file->text, wanted);
	if (!text)
		return fail("%s: out of memory", file->name);
	file->text = text;
	*capacity = wanted;
	return 0;
}

static int descriptor_read(int fd, struct policy_file *file)
{
	size_t capacity = 0;
	ssize_t n;

	do {
		if (buffer_grow(file, &capacity))
			return -1;
		n = read(fd, file->text + file->size, capacity - file->size - 1);
		file->size += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return fail("%s: %s%s", file->name, strerror(errno),
			    errno == EISDIR ? ": name a file" : "");
	file->text[file->size] = '\0';
	return 0;
}

/* A link could point to any file that this process can read, so it is followed only if it belongs
 * to root, to the caller or to the file's owner. Checked after open(): another user cannot replace
 * his own link by one of these. */
static int link_check(const char *path, int fd)
{
	struct stat link, file;

	if (fstat(fd, &file) || lstat(path, &link))
		return fail("%s: %s", path, strerror(errno));
	if (!S_ISLNK(link.st_mode) || !link.st_uid || link.st_uid == geteuid() ||
	    link.st_uid == file.st_uid)
		return 0;
	return fail(
		"%s: symbolic link of another user (uid %u) to a file that is not theirs: name the "
		"file itself",
		path, (unsigned int)link.st_uid);
}

/* Accepts pipes, terminals and /dev/null, which have an end; refuses other devices. */
static int kind_check(const char *path, int fd)
{
	struct stat file;

	if (fstat(fd, &file))
		return fail("%s: %s", path, strerror(errno));
	if (S_ISBLK(file.st_mode) ||
	    (S_ISCHR(file.st_mode) && !isatty(fd) && file.st_rdev != makedev(MEM_MAJOR, MEM_NULL)))
		return fail("%s: not a file but a device: name a file, or - for standard input",
			    path);
	if (S_ISREG(file.st_mode) && file.st_mode & S_IWOTH)
		note("%s: every user may write to this policy: `chmod o-w %s`", path, path);
	return 0;
}

/* The descriptor, or -1; reports. */
static int policy_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is_link = fd < 0 && errno == ELOOP;

	if (is_link)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail("%s: %s", path, strerror(errno));
	if ((!is_link || !link_check(path, fd)) && !kind_check(path, fd))
		return fd;
	close(fd);
	return -1;
}

int policy_descriptor_read(int fd, const char *name, struct policy_file *out)
{
	struct policy_file file = {.name = name};
	int rc = descriptor_read(fd, &file);

	if (rc)
		policy_file_clear(&file);
	else
		*out = file;
	return rc;
}

int policy_file_read(const char *path, struct policy_file *out)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : policy_open(path);
	int rc;

	if (fd < 0)
		return -1;
	rc = policy_descriptor_read(fd, is_stdin ? "stdin" : path, out);
	if (!is_stdin)
		close(fd);
	return rc;
}

void policy_file_clear(struct policy_file *file)
{
	free(file->text);
	memset(file, 0, sizeof(*file));
}

/* The line with that number, from 1, and its length without the newline. */
static const char *line_find(const struct policy_file *file, uint32_t number, size_t *len)
{
	const char *end = file->text + file->size, *line = file->text, *newline;

	while ((newline = memchr(line, '\n', end - line)) && --number)
		line = newline + 1;
	if (!newline)
		newline = end;
	if (newline > line && newline[-1] == '\r')
		newline--;
	*len = newline - line;
	return line;
}

/* Reports "FILE:LINE:COLUMN: TEXT" and the line, or "FILE: TEXT" for an error without a line. */
static int report_error(const struct policy_file *file, const struct policy_error *err)
{
	char *place = NULL;
	const char *line;
	size_t len;

	if (!err->line)
		return fail("%s: %s", file->name, err->text);
	if (asprintf(&place, "%s:%" PRIu32, file->name, err->line) < 0)
		out_of_memory();
	line = line_find(file, err->line, &len);
	fail_at(place, line, len, err);
	free(place);
	return -1;
}

/* Reports every error, and how many there are. Returns -1. */
static int report_errors(const struct policy_file *file, const struct policy_errors *errors)
{
	for (size_t i = 0; i < policy_errors_kept(errors); i++)
		report_error(file, &errors->first[i]);
	if (errors->count > 1)
		fail("%s: %zu errors", file->name, errors->count);
	return errors->count ? -1 : fail("%s: out of memory", file->name);
}

static int parse(const struct policy_file *file, const struct policy_context *ctx,
		 struct policy *replaced, struct policy *out)
{
	struct policy_errors errors;
	int rc = policy_parse(file->text, file->size, ctx, replaced, out, &errors);

	return rc ? report_errors(file, &errors) : 0;
}

int policy_file_parse(const struct policy_file *file, const struct policy_context *ctx,
		      struct policy *out)
{
	struct policy replaced = {0};
	int rc = parse(file, ctx, &replaced, out);

	for (size_t i = 0; i < replaced.count; i += 2)
		note("%s:%" PRIu32 ": replaces the rule on line %" PRIu32 " (same prefix, match, "
		     "key and unit)",
		     file->name, replaced.rules[i + 1].line, replaced.rules[i].line);
	policy_clear(&replaced);
	return rc;
}

int policy_file_parse_again(const struct policy_file *file, const struct policy_context *ctx,
			    struct policy *out)
{
	return parse(file, ctx, NULL, out);
}

void warning_note(const struct rule *rule, const char *text, void *file)
{
	if (file && rule && rule->line)
		note("%s:%" PRIu32 ": warning: %s", (const char *)file, rule->line, text);
	else
		note("warning: %s", text);
}

void policy_warnings_note(const char *file, const struct policy *policy,
			  const struct policy_context *ctx)
{
	if (file && !policy->count)
		note("%s: no rules: every packet passes", file);
	policy_warn(policy, ctx, warning_note, (void *)file);
}

int policy_lint_note(const char *file, const struct policy *policy,
		     const struct policy_context *ctx)
{
	struct policy_sum sum;

	policy_sum(policy, &sum);
	if (policy_lint(policy, ctx, warning_note, (void *)file))
		return fail("%s: out of memory", file);
	note("%s: %zu rule%s, %zu prefix%s, %zu limit%s in shadow", file, sum.rules,
	     sum.rules == 1 ? "" : "s", sum.prefixes, sum.prefixes == 1 ? "" : "es", sum.shadow,
	     sum.shadow == 1 ? "" : "s");
	return 0;
}

int policy_file_check(const struct policy_file *file, const struct policy_context *ctx,
		      uint32_t prefixes, uint32_t rules, struct policy *policy)
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
		.now_ns = clock_ns(CLOCK_MONOTONIC),
		.text = ctx,
	};
	const struct rl_policy_header nothing = {0};
	const struct policy empty = {0};
	struct compiled compiled = {0};
	struct policy_errors errors;
	int rc = policy_compile(policy, &empty, &nothing, false, &context, &compiled, &errors);

	compiled_clear(&compiled);
	return rc ? report_errors(file, &errors) : 0;
}
