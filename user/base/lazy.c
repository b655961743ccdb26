// SPDX-License-Identifier: GPL-2.0-only
#include "base/lazy.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/message.h"

int lazy_load(const struct lazy_library *library)
{
	void *handle;

	if (library->calls[0])
		return 0;
	handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (!handle && library->other)
		handle = dlopen(library->other, RTLD_NOW | RTLD_LOCAL);
	/* The first one last: it says that all are there. */
	for (size_t i = library->count; handle && i-- > 0;) {
		void *call = dlsym(handle, library->names[i]);

		if (!call)
			break;
		library->calls[i] = call;
	}
	if (library->calls[0])
		return 0;
	fail("loading a library failed: %s: install the package that has %s", dlerror(),
	     library->file);
	return -ENOSYS;
}
