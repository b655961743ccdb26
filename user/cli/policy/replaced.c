// SPDX-License-Identifier: GPL-2.0-only
/* A file begins with the time at which its policy was replaced, as a comment, on the clock that no
 * one sets: the files do not outlive a boot either. */
#include "cli/policy/replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/events/journal_place.h"
#include "cli/output/output.h"

#define HEAD     "# replaced at "
#define NEW_FILE ".was-new"

static int name_of(const struct instance *instance, unsigned int number, char out[JOURNAL_PATH_MAX])
{
	char ending[16];

	snprintf(ending, sizeof(ending), ".was%u", number);
	return journal_path(instance->path, ending, out);
}

/* ---- keeping */

static int text_write(int fd, const struct policy *policy, const struct policy_context *ctx)
{
	size_t size;
	char *text = policy_text(policy, ctx, &size);
	FILE *file = fdopen(fd, "w");
	int error = 0;

	if (!file)
		out_of_memory();
	fprintf(file, HEAD "%" PRIu64 "\n", clock_ns(CLOCK_BOOTTIME));
	fwrite(text, 1, size, file);
	if (ferror(file) || fflush(file))
		error = errno;
	if (fclose(file) && !error)
		error = errno;
	free(text);
	return -error;
}

/* Gives the file NEW_FILE the number 1. */
static int numbers_turn(const struct instance *instance, unsigned int drop)
{
	char from[JOURNAL_PATH_MAX], to[JOURNAL_PATH_MAX];
	int ret = name_of(instance, drop, to);

	for (unsigned int number = drop; !ret && number > 1; number--) {
		ret = name_of(instance, number - 1, from);
		if (!ret && rename(from, to) && errno != ENOENT)
			ret = -errno;
		memcpy(to, from, sizeof(to));
	}
	if (!ret)
		ret = journal_path(instance->path, NEW_FILE, from);
	if (!ret && rename(from, to))
		ret = -errno;
	return ret;
}

void replaced_keep(const struct instance *instance, const struct policy *policy,
		   const struct policy_context *ctx, unsigned int drop)
{
	char path[JOURNAL_PATH_MAX];
	int fd = journal_open(instance->path, NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC);
	int ret = fd < 0 ? fd : text_write(fd, policy, ctx);

	if (!ret)
		ret = numbers_turn(instance, drop);
	if (!ret)
		return;
	if (fd >= 0 && !journal_path(instance->path, NEW_FILE, path))
		unlink(path);
	note("%s: the former policy is not kept, so that `rlctl undo` cannot bring it back: %s",
	     instance->device, strerror(-ret));
}

/* ---- reading */

/* A rule whose time was over before now ends now; what is left of the others is shorter. */
static void time_pass(struct policy *policy, uint64_t age_ns)
{
	size_t kept = 0;

	policy_for_each (policy, rule) {
		if (rule->for_ns && rule->for_ns <= age_ns)
			continue;
		rule->for_ns -= rule->for_ns ? age_ns : 0;
		policy->rules[kept++] = *rule;
	}
	policy->count = kept;
}

static uint64_t age_of(const struct policy_file *file)
{
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME), then_ns = 0;

	if (!strncmp(file->text, HEAD, strlen(HEAD)))
		then_ns = strtoull(file->text + strlen(HEAD), NULL, 10);
	return then_ns < now_ns ? now_ns - then_ns : 0;
}

int replaced_read(const struct instance *instance, unsigned int number,
		  const struct policy_context *ctx, struct policy_file *out, uint64_t *age_ns)
{
	static const char *const names[REPLACED_MAX + 1] = {
		NULL, "the policy before", "the policy 2 before", "the policy 3 before"};
	struct policy policy = {0};
	char ending[16];
	int fd, rc;

	snprintf(ending, sizeof(ending), ".was%u", number);
	fd = journal_open(instance->path, ending, O_RDONLY);
	if (fd == -ENOENT && number == 1)
		return fail("%s: nothing to undo: no policy was replaced since this machine "
			    "started; `rlctl events -i %s` lists changes",
			    instance->device, instance->device);
	if (fd == -ENOENT)
		return fail("%s: fewer than %u policies were replaced", instance->device, number);
	if (fd < 0)
		return fail("%s: reading %s failed: %s", instance->device, names[number],
			    strerror(-fd));
	rc = policy_descriptor_read(fd, names[number], out);
	close(fd);
	if (rc)
		return rc;
	*age_ns = age_of(out);
	rc = policy_file_parse(out, ctx, &policy);
	if (!rc) {
		time_pass(&policy, *age_ns);
		free(out->text);
		out->text = policy_text(&policy, ctx, &out->size);
	} else {
		policy_file_clear(out);
	}
	policy_clear(&policy);
	return rc;
}
