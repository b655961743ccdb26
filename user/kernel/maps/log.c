// SPDX-License-Identifier: GPL-2.0-only
/* Sends the messages of libbpf and libxdp to our message sink. */

#include "kernel/maps/log.h"

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/message.h"

static enum message_kind kind_of(int level)
{
	return level < LIBBPF_DEBUG ? MESSAGE_LIBRARY : MESSAGE_LIBRARY_DEBUG;
}

static int libbpf_log(enum libbpf_print_level level, const char *format, va_list args)
{
	return message_send(kind_of((int)level), format, args);
}

static int libxdp_log(enum libxdp_print_level level, const char *format, va_list args)
{
	return message_send(kind_of((int)level), format, args);
}

void log_setup(void)
{
	_Static_assert((int)LIBBPF_DEBUG == (int)LIBXDP_DEBUG, "the levels are the same");
	libbpf_set_print(libbpf_log);
	libxdp_set_print(libxdp_log);
}
