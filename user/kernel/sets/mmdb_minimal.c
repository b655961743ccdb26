// SPDX-License-Identifier: GPL-2.0-only
#include "base/message.h"
#include "kernel/sets/set_file.h"

const char *mmdb_read(const char *text, size_t size, const char *pick, struct member_list *list)
{
	(void)text, (void)size, (void)pick, (void)list;
	return MINIMAL_LACKS("libmaxminddb") "write the prefixes into a file of text";
}
