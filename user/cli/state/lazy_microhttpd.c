// SPDX-License-Identifier: GPL-2.0-only
#define LAZY_DEFINES
#include "cli/state/lazy_microhttpd.h"

#include "lazy_files.h"

struct microhttpd_calls microhttpd_calls;

int microhttpd_load(void)
{
	static const char *const names[] = {MICROHTTPD_CALLS(LAZY_NAME)};
	const struct lazy_library library = {.file = LAZY_MICROHTTPD,
					     .names = names,
					     .count = sizeof(names) / sizeof(names[0]),
					     .calls = (void **)&microhttpd_calls};

	_Static_assert(sizeof(microhttpd_calls) == sizeof(names), "one pointer for each name");
	return lazy_load(&library);
}
