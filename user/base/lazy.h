/* SPDX-License-Identifier: GPL-2.0-only */
/* Libraries that few verbs call are loaded when the first of them does: with all that they need in
 * turn (TLS, D-Bus), they take longer to load than `set add` takes to run. A header lazy_NAME.h
 * takes the place of the library's: it names the functions that are called, in a structure, and
 * code calls them as ever, once lazy_load() has succeeded.
 */
#pragma once

#include <stddef.h>

struct lazy_library {
	const char *file;  /* as the dynamic linker names it: lazy_files.h */
	const char *other; /* NULL, or its name on distributions that call it otherwise */
	const char *const *names;
	size_t count;
	void **calls; /* one for each name */
};

/* 0, also if it is loaded, or -ENOSYS; reports. */
int lazy_load(const struct lazy_library *library);

#define LAZY_FIELD(name) __typeof__(name) *name;
#define LAZY_NAME(name)  #name,
