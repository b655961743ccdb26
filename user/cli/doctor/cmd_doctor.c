// SPDX-License-Identifier: GPL-2.0-only
/* rlctl doctor [DEV]: checks the machine and its devices; each finding has a reason and a remedy.
 * Changes nothing. Fails if a check fails.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "cli/cmd.h"
#include "cli/doctor/doctor.h"
#include "cli/output/output.h"
#include "cli/terminal.h"
#include "kernel/device/device.h"
#include "kernel/failures.h"
#include "kernel/instance/find.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/state/stats.h"

struct check_row {
	struct check check;
	void (*run)(struct doctor *doctor);
	bool privileged; /* unknown without privilege */
};

#define CHECK_ROW(name, text, why, ...) \
	{{text, why}, check_##name, __VA_ARGS__ + 0}, /* + 0: also without the last argument */
static const struct check_row machine_checks[] = {MACHINE_CHECKS(CHECK_ROW)};
static const struct check_row device_checks[] = {DEVICE_CHECKS(CHECK_ROW)};

static void checks_run(struct doctor *doctor, const struct check_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		doctor->check = &rows[i].check;
		if (rows[i].privileged && !doctor->privileged)
			doctor_warn(doctor, "sudo rlctl doctor",
				    "unknown: this check needs privilege");
		else
			rows[i].run(doctor);
	}
}

/* ---- devices */

static int instance_examine(struct instance *instance, void *arg)
{
	struct doctor *doctor = arg;

	if (instance_status_read(instance, &doctor->status))
		return 0;
	doctor->instance = instance;
	checks_run(doctor, device_checks, sizeof(device_checks) / sizeof(device_checks[0]));
	return 0;
}

static int instance_count(struct instance *instance, void *arg)
{
	(void)instance;
	++*(size_t *)arg;
	return 0;
}

static int device_examine(const char *name, void *arg)
{
	struct doctor *doctor = arg;
	struct target target = {.bpffs = doctor->target->bpffs, .device = name, .hook = -1};
	struct device_facts facts;
	int rc = device_facts_read(name, &facts);

	if (rc)
		return fail("%s: %s", name, strerror(-rc));
	doctor->facts = &facts;
	doctor->programs_error = device_programs_read(facts.ifindex, &doctor->programs);
	doctor->instance = NULL;
	doctor->instances = 0;
	if (doctor_may_list(doctor))
		instance_for_each(&target, instance_count, &doctor->instances);
	target.hook = RL_HOOK_XDP;
	if (doctor_may_list(doctor))
		rc = instance_for_each(&target, instance_examine, doctor);
	if (!rc && !doctor->instance)
		checks_run(doctor, device_checks, sizeof(device_checks) / sizeof(device_checks[0]));
	doctor->facts = NULL;
	return rc;
}

struct names {
	size_t count;
	char (*list)[IF_NAMESIZE];
};

/* Lists a device with several instances once; instances are visited in order of name. */
static int name_note(struct instance *instance, void *arg)
{
	struct names *names = arg;

	if (names->count && !strcmp(names->list[names->count - 1], instance->device))
		return 0;
	names->list = xreallocarray(names->list, names->count + 1, sizeof(*names->list));
	memcpy(names->list[names->count++], instance->device, IF_NAMESIZE);
	return 0;
}

/* The device given, else those with an instance, else all. */
static int devices_examine(struct doctor *doctor)
{
	struct target all = {.bpffs = doctor->target->bpffs, .hook = -1};
	struct names names = {0};
	int rc = 0;

	if (doctor->target->device)
		return device_examine(doctor->target->device, doctor);
	if (doctor_may_list(doctor))
		rc = instance_for_each(&all, name_note, &names);
	for (size_t i = 0; !rc && i < names.count; i++)
		rc = device_examine(names.list[i], doctor);
	if (!rc && !names.count)
		rc = device_for_each(device_examine, doctor);
	free(names.list);
	return rc;
}

int cmd_doctor(const struct command *command)
{
	struct doctor doctor = {.target = &command->target, .colours = colours_wanted(stdout)};
	const char *device = command->target.device;
	int rc;

	if (device && !if_nametoindex(device))
		return report_no_device(device); /* before any output */
	if (output_json)
		doctor.array = json_object_new_array();
	checks_run(&doctor, machine_checks, sizeof(machine_checks) / sizeof(machine_checks[0]));
	rc = devices_examine(&doctor);
	if (output_json)
		json_print(doctor.array);
	if (!rc && doctor.failed)
		rc = output_flush() ? -1
				    : fail("%zu check%s failed", doctor.failed,
					   doctor.failed == 1 ? "" : "s");
	return rc;
}
