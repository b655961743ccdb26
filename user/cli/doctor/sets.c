// SPDX-License-Identifier: GPL-2.0-only
/* doctor's check of sets: that have no room left, whose file is old or does not load, or that no
 * rule names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/doctor/doctor.h"
#include "policy/sets/set.h"

#define FULL_PERCENT 90
#define SLACK_NS     (60 * NS_PER_SECOND) /* of a file that comes as it is expected */

/* One set, as it is checked. */
struct looked {
	struct doctor *doctor;
	const struct policy *policy;
	const struct policy_set *words;
	const struct set_stats *stats;
};

static bool check_room(const struct looked *set)
{
	uint64_t members = (uint64_t)set->stats->set.members[0] + set->stats->set.members[1];

	if (members * 100 <= (uint64_t)set->words->max * FULL_PERCENT)
		return false;
	doctor_warn(set->doctor,
		    "write a larger max behind the set in the policy, then `rlctl apply`",
		    "set %s has %" PRIu64 " of at most %" PRIu32 " members", set->words->name,
		    members, set->words->max);
	return true;
}

static bool check_load(const struct looked *set)
{
	const char *name = set->words->name;

	if (!set->stats->set.failed_ns)
		return false;
	if (set->stats->set.failed_ns == set->stats->set.loaded_ns)
		doctor_warn(set->doctor,
			    remedy(set->doctor, "rlctl set load %s, which names them", name),
			    "members of the file of set %s are left out: they would cut off an "
			    "SSH session",
			    name);
	else
		doctor_warn(
			set->doctor, remedy(set->doctor, "rlctl set load %s, which says why", name),
			"the file of set %s failed to load: its former members are in force", name);
	return true;
}

static bool check_age(const struct looked *set)
{
	uint64_t now = clock_ns(CLOCK_REALTIME), changed;
	const struct policy_set *words = set->words;
	struct stat file;

	if (!words->every_ns || stat(words->path, &file))
		return false;
	changed = (uint64_t)file.st_mtim.tv_sec * NS_PER_SECOND + file.st_mtim.tv_nsec;
	if (changed + words->every_ns + SLACK_NS >= now)
		return false;
	doctor_warn(set->doctor, "look at what fetches the file",
		    "the file of set %s is %" PRIu64 " s old: that is longer than its every",
		    words->name, (uint64_t)((now - changed) / NS_PER_SECOND));
	return true;
}

static bool check_use(const struct looked *set)
{
	const char *name = set->words->name;

	if (set_is_named(set->policy, name))
		return false;
	doctor_warn(set->doctor,
		    remedy(set->doctor, "add a rule such as \"rule @%s deny\", or remove the set",
			   name),
		    "no rule names set %s", name);
	return true;
}

void check_sets(struct doctor *doctor)
{
	struct instance_stats stats;
	bool found = false;

	if (!doctor->instance || !(doctor_uses(doctor) & RL_USE_SETS) ||
	    instance_stats_read(doctor->instance, &stats)) {
		doctor_ok(doctor, "none");
		return;
	}
	for (size_t i = 0; i < stats.policy.set_count; i++) {
		struct looked set = {doctor, &stats.policy, &stats.policy.sets[i], &stats.sets[i]};

		found |= check_room(&set);
		found |= check_load(&set);
		found |= check_age(&set);
		found |= check_use(&set);
	}
	if (!found)
		doctor_ok(doctor, "%zu", stats.policy.set_count);
	instance_stats_clear(&stats);
}
