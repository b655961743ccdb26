// SPDX-License-Identifier: GPL-2.0-only
/* The text of an option for a verb: its row of COMMAND_OPTIONS, or what the verb says in its place.
 */

#include "cli/cmd.h"

/* The verb's own text of the option, or NULL. */
static const struct option_text *text_find(const struct verb *verb, int option)
{
	for (int i = 0; verb && i < OPTION_TEXTS_MAX; i++)
		if (verb->texts[i].text && (int)verb->texts[i].option == option)
			return &verb->texts[i];
	return NULL;
}

const char *option_argument(const struct verb *verb, int option)
{
	const struct option_text *own = text_find(verb, option);

	return own && own->argument ? own->argument : option_rows[option].argument;
}

const char *option_help(const struct verb *verb, int option)
{
	const struct option_text *own = text_find(verb, option);

	if (own)
		return own->text;
	if (verb && option == OPTION_INTERFACE && verb->device == DEVICE_MUST)
		return verb->many ? "the same as DEV: device, list, pattern or all"
				  : "the same as DEV";
	if (verb && option == OPTION_INTERFACE && !verb->many)
		return "device; optional while only one is attached";
	return option_rows[option].help;
}
