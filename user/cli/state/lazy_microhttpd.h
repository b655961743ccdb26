/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of libmicrohttpd that are called, after microhttpd_load(). */
#pragma once

#include <microhttpd.h>

#include "base/lazy.h"

#define MICROHTTPD_CALLS(X)                \
	X(MHD_add_response_header)         \
	X(MHD_create_response_from_buffer) \
	X(MHD_create_response_from_fd)     \
	X(MHD_destroy_response)            \
	X(MHD_get_connection_info)         \
	X(MHD_get_daemon_info)             \
	X(MHD_get_timeout)                 \
	X(MHD_queue_response)              \
	X(MHD_run)                         \
	X(MHD_start_daemon)                \
	X(MHD_stop_daemon)

extern struct microhttpd_calls {
	MICROHTTPD_CALLS(LAZY_FIELD)
} microhttpd_calls;

/* 0 or -ENOSYS; reports. */
int microhttpd_load(void);

#ifndef LAZY_DEFINES
#define MHD_add_response_header         microhttpd_calls.MHD_add_response_header
#define MHD_create_response_from_buffer microhttpd_calls.MHD_create_response_from_buffer
#define MHD_create_response_from_fd     microhttpd_calls.MHD_create_response_from_fd
#define MHD_destroy_response            microhttpd_calls.MHD_destroy_response
#define MHD_get_connection_info         microhttpd_calls.MHD_get_connection_info
#define MHD_get_daemon_info             microhttpd_calls.MHD_get_daemon_info
#define MHD_get_timeout                 microhttpd_calls.MHD_get_timeout
#define MHD_queue_response              microhttpd_calls.MHD_queue_response
#define MHD_run                         microhttpd_calls.MHD_run
#define MHD_start_daemon                microhttpd_calls.MHD_start_daemon
#define MHD_stop_daemon                 microhttpd_calls.MHD_stop_daemon
#endif
