// SPDX-License-Identifier: GPL-2.0-only
/* Findings as lines or as JSON. */
#include <stdarg.h>
#include <stdlib.h>

#include "cli/doctor/doctor.h"
#include "cli/output/output.h"
#include "kernel/instance/bpffs.h"

static const struct {
	const char *text, *colour;
} healths[] = {{"ok", "\033[32m"}, {"warn", "\033[33m"}, {"fail", "\033[31m"}};

static void line_print(const char *left, const char *text)
{
	char *shown = text_shown(text);

	printf("%s%s\n", left, shown);
	free(shown);
}

void doctor_finds(struct doctor *doctor, enum health health, const char *remedy, const char *format,
		  ...)
{
	const char *device = doctor->facts ? doctor->facts->name : NULL;
	const char *colour = doctor->colours ? healths[health].colour : "";
	struct json_object *object;
	char *what = NULL, *place;
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		out_of_memory();
	va_end(args);
	doctor->failed += health == HEALTH_FAIL;
	if (output_json) {
		object = json_object_new_object();
		if (device)
			json_put_text(object, "device", device);
		json_put_text(object, "check", doctor->check->name);
		json_put_text(object, "result", healths[health].text);
		json_put_text(object, "what", what);
		json_put_text(object, "why", doctor->check->why);
		if (remedy)
			json_put_text(object, "remedy", remedy);
		json_append(doctor->array, object);
	} else {
		place = text_shown(device ? device : "machine");
		printf("%s%-4s%s  %-*s  %-*s  ", colour, healths[health].text,
		       doctor->colours ? "\033[0m" : "", IF_NAMESIZE - 1, place, 9,
		       doctor->check->name);
		free(place);
		line_print("", what);
		if (health != HEALTH_OK || output_verbose)
			line_print("      why: ", doctor->check->why);
		if (remedy)
			line_print("      do:  ", remedy);
	}
	free(what);
}

const char *remedy(struct doctor *doctor, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(doctor->remedy, sizeof(doctor->remedy), format, args);
	va_end(args);
	return doctor->remedy;
}

const char *remedy_replace(struct doctor *doctor)
{
	return remedy(doctor, "rlctl attach %s --replace", doctor->facts->name);
}

bool doctor_may_list(const struct doctor *doctor)
{
	return doctor->privileged && bpffs_mounted(doctor->target->bpffs);
}
