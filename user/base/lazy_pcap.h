/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of libpcap that are called, after pcap_load(). */
#pragma once

/* pcap/pcap.h has a struct bpf_insn of its own, beside that of linux/bpf.h. */
#define bpf_insn pcap_insn
#include <pcap/pcap.h>
#undef bpf_insn

#include "base/lazy.h"

#define PCAP_CALLS(X)                               \
	X(pcap_close)                               \
	X(pcap_compile)                             \
	X(pcap_datalink)                            \
	X(pcap_datalink_val_to_name)                \
	X(pcap_dump)                                \
	X(pcap_dump_close)                          \
	X(pcap_dump_file)                           \
	X(pcap_dump_flush)                          \
	X(pcap_dump_fopen)                          \
	X(pcap_file)                                \
	X(pcap_fopen_offline_with_tstamp_precision) \
	X(pcap_freecode)                            \
	X(pcap_geterr)                              \
	X(pcap_next_ex)                             \
	X(pcap_open_dead)                           \
	X(pcap_open_dead_with_tstamp_precision)

extern struct pcap_calls {
	PCAP_CALLS(LAZY_FIELD)
} pcap_calls;

/* 0 or -ENOSYS; reports. */
int pcap_load(void);

#ifndef LAZY_DEFINES
#define pcap_close                               pcap_calls.pcap_close
#define pcap_compile                             pcap_calls.pcap_compile
#define pcap_datalink                            pcap_calls.pcap_datalink
#define pcap_datalink_val_to_name                pcap_calls.pcap_datalink_val_to_name
#define pcap_dump                                pcap_calls.pcap_dump
#define pcap_dump_close                          pcap_calls.pcap_dump_close
#define pcap_dump_file                           pcap_calls.pcap_dump_file
#define pcap_dump_flush                          pcap_calls.pcap_dump_flush
#define pcap_dump_fopen                          pcap_calls.pcap_dump_fopen
#define pcap_file                                pcap_calls.pcap_file
#define pcap_fopen_offline_with_tstamp_precision pcap_calls.pcap_fopen_offline_with_tstamp_precision
#define pcap_freecode                            pcap_calls.pcap_freecode
#define pcap_geterr                              pcap_calls.pcap_geterr
#define pcap_next_ex                             pcap_calls.pcap_next_ex
#define pcap_open_dead                           pcap_calls.pcap_open_dead
#define pcap_open_dead_with_tstamp_precision     pcap_calls.pcap_open_dead_with_tstamp_precision
#endif
