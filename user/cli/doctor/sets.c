// SPDX-License-Identifier: GPL-2.0-only
/* doctor's check of sets: that have no room left, whose file is old or does not load, or that no
 * rule names. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/doctor/doctor.h"
#include "policy/sets/set.h"

#define FULL_PERCENT 90
#define SLACK_NS     (60 * NS_PER_SECOND) /* of a file that comes as it is expected */

/* False: there is nothing to say. */
static bool set_check(struct doctor *doctor, const struct instance_stats *stats, size_t i)
{
	const struct policy_set *words = &stats->policy.sets[i];
	const struct rl_set *set = &stats->sets[i].set;
	uint64_t members = (uint64_t)set->members[0] + set->members[1];
	bool full = members * 100 > (uint64_t)words->max * FULL_PERCENT;
	bool unused = !set_is_named(&stats->policy, words->name);
	uint64_t now = clock_ns(CLOCK_REALTIME), changed = now;
	struct stat file;

	if (full)
		doctor_warn(doctor,
			    "write a larger max after the set in the policy, then `rlctl apply`",
			    "set %s has %" PRIu64 " of at most %" PRIu32 " members", words->name,
			    members, words->max);
	if (set->failed_ns && set->failed_ns == set->loaded_ns)
		doctor_warn(doctor,
			    remedy(doctor, "rlctl set load %s, which names them", words->name),
			    "members of the file of set %s are left out: they would cut off an "
			    "SSH session",
			    words->name);
	else if (set->failed_ns)
		doctor_warn(doctor,
			    remedy(doctor, "rlctl set load %s, which says why", words->name),
			    "the file of set %s failed to load: its former members are in force",
			    words->name);
	if (words->every_ns && !stat(words->path, &file))
		changed = (uint64_t)file.st_mtim.tv_sec * NS_PER_SECOND + file.st_mtim.tv_nsec +
			  words->every_ns + SLACK_NS;
	if (changed < now)
		doctor_warn(
			doctor, "look at what fetches the file",
			"the file of set %s is %" PRIu64 " s old: that is longer than its every",
			words->name,
			(uint64_t)((now - changed + words->every_ns + SLACK_NS) / NS_PER_SECOND));
	if (unused)
		doctor_warn(doctor,
			    remedy(doctor,
				   "add a rule such as \"rule @%s deny\", or remove the set",
				   words->name),
			    "no rule names set %s", words->name);
	return full || set->failed_ns || changed < now || unused;
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
	for (size_t i = 0; i < stats.policy.set_count; i++)
		found |= set_check(doctor, &stats, i);
	if (!found)
		doctor_ok(doctor, "%zu", stats.policy.set_count);
	instance_stats_clear(&stats);
}
