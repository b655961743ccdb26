// SPDX-License-Identifier: GPL-2.0-only
#define LAZY_DEFINES
#include "base/lazy_pcap.h"

#include "lazy_files.h"

struct pcap_calls pcap_calls;

int pcap_load(void)
{
	static const char *const names[] = {PCAP_CALLS(LAZY_NAME)};
	/* Debian's name for it, and that of others: one command may run on both (`make static`). */
	const struct lazy_library library = {.file = LAZY_PCAP,
					     .other = "libpcap.so.1",
					     .names = names,
					     .count = sizeof(names) / sizeof(names[0]),
					     .calls = (void **)&pcap_calls};

	_Static_assert(sizeof(pcap_calls) == sizeof(names), "one pointer for each name");
	return lazy_load(&library);
}
