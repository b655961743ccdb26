// SPDX-License-Identifier: GPL-2.0-only
/* A file begins with a comment: the time at which its policy was replaced, on the clock that no one
 * sets, for the files do not outlive a boot either; and when its instance was attached, for another
 * may have that device now. */
#include "cli/policy/replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/events/journal_place.h"

#define HEAD     "# replaced at "
#define OF       ", attached at "
#define NEW_FILE ".was-new"

/* When the policy of the file was replaced; 0: it is of another instance, or not as it was written.
 */
static uint64_t replaced_at(const struct instance *instance, const struct policy_file *file)
{
	uint64_t then_ns, since_ns;

	if (sscanf(file->text, HEAD "%" SCNu64 OF "%" SCNu64, &then_ns, &since_ns) != 2)
		return 0;
	return since_ns == instance->info.since_ns ? then_ns : 0;
}

/* -ENOENT: there is none of this instance; other errors are reported. */
static int file_read(const struct instance *instance, unsigned int number, struct policy_file *out)
{
	static const char *const names[REPLACED_MAX + 1] = {
		NULL, "the policy before", "the policy 2 before", "the policy 3 before"};
	char ending[16];
	int fd, rc;

	snprintf(ending, sizeof(ending), ".was%u", number);
	fd = journal_open(PLACE_RUN, instance->path, ending, O_RDONLY);
	if (fd == -ENOENT)
		return fd;
	if (fd < 0)
		return fail("%s: reading %s failed: %s", instance->device, names[number],
			    strerror(-fd));
	rc = policy_descriptor_read(fd, names[number], out);
	close(fd);
	if (!rc && !replaced_at(instance, out)) {
		policy_file_clear(out);
		rc = -ENOENT;
	}
	return rc;
}

/* The number of the policy that was replaced at that time, else the last number. */
static unsigned int number_of(const struct instance *instance, uint64_t then_ns)
{
	for (unsigned int number = 1; then_ns && number < REPLACED_MAX; number++) {
		CLEARED_FILE struct policy_file file = {0};

		if (!file_read(instance, number, &file) && replaced_at(instance, &file) == then_ns)
			return number;
	}
	return REPLACED_MAX;
}

/* ---- keeping */

static int text_write(int fd, uint64_t since_ns, const struct policy *policy,
		      const struct policy_context *ctx)
{
	size_t size;
	char *text = policy_text(policy, ctx, &size);
	FILE *file = fdopen(fd, "w");
	int error = 0;

	if (!file)
		out_of_memory();
	fprintf(file, HEAD "%" PRIu64 OF "%" PRIu64 "\n", clock_ns(CLOCK_BOOTTIME), since_ns);
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
	char from[JOURNAL_PATH_MAX], to[JOURNAL_PATH_MAX], ending[16];
	int ret = 0;

	for (unsigned int number = drop + 1; !ret && number--;) {
		snprintf(ending, sizeof(ending), ".was%u", number);
		ret = journal_path(PLACE_RUN, instance->path, number ? ending : NEW_FILE, from);
		if (!ret && number < drop && rename(from, to) && (!number || errno != ENOENT))
			ret = -errno;
		memcpy(to, from, sizeof(to));
	}
	return ret;
}

void replaced_keep(const struct instance *instance, const struct policy *policy,
		   const struct policy_context *ctx, uint64_t drop_ns)
{
	char path[JOURNAL_PATH_MAX];
	int fd = journal_open(PLACE_RUN, instance->path, NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC);
	int ret = fd < 0 ? fd : text_write(fd, instance->info.since_ns, policy, ctx);

	ret = ret ?: numbers_turn(instance, number_of(instance, drop_ns));
	if (!ret)
		return;
	if (fd >= 0 && !journal_path(PLACE_RUN, instance->path, NEW_FILE, path))
		unlink(path);
	note("%s: the former policy is not kept, so that `rlctl undo` cannot bring it back: %s",
	     instance->device, strerror(-ret));
}

/* ---- reading */

int replaced_read(const struct instance *instance, unsigned int number,
		  const struct policy_context *ctx, struct policy_file *out, uint64_t *then_ns)
{
	CLEARED struct policy policy = {0};
	size_t kept = 0;
	uint64_t age_ns;
	int rc = file_read(instance, number, out);

	if (rc == -ENOENT && number == 1)
		return fail("%s: nothing to undo: no policy was replaced since it was attached; "
			    "`rlctl events -i %s` lists changes",
			    instance->device, instance->device);
	if (rc == -ENOENT)
		return fail("%s: fewer than %u policies were replaced", instance->device, number);
	if (rc)
		return rc;
	*then_ns = replaced_at(instance, out);
	age_ns = clock_ns(CLOCK_BOOTTIME) - *then_ns;
	rc = policy_file_parse(out, ctx, &policy);
	if (!rc) {
		/* A rule whose time was over before now ends now; what is left of the others is
		 * shorter. */
		policy_for_each (&policy, rule) {
			if (rule->for_ns && rule->for_ns <= age_ns)
				continue;
			rule->for_ns -= rule->for_ns ? age_ns : 0;
			policy.rules[kept++] = *rule;
		}
		policy.count = kept;
		free(out->text);
		out->text = policy_text(&policy, ctx, &out->size);
	} else {
		policy_file_clear(out);
	}
	return rc;
}
