// SPDX-License-Identifier: GPL-2.0-only
#include "filter_oracle.h"

#include <stdlib.h>

#include <pcap/pcap.h>

#include "cases.h"

struct filter_oracle {
	pcap_t *pcap;
	struct bpf_program program;
};

struct filter_oracle *filter_oracle_open(const char *expression)
{
	struct filter_oracle *oracle = malloc(sizeof(*oracle));

	assert_non_null(oracle);
	oracle->pcap = pcap_open_dead(DLT_RAW, 262144);
	assert_non_null(oracle->pcap);
	if (pcap_compile(oracle->pcap, &oracle->program, expression, 1, PCAP_NETMASK_UNKNOWN))
		fail_msg("%s: %s", expression, pcap_geterr(oracle->pcap));
	return oracle;
}

bool filter_oracle_holds(const struct filter_oracle *oracle, const uint8_t *packet, uint32_t bytes)
{
	struct pcap_pkthdr header = {.caplen = bytes, .len = bytes};

	return pcap_offline_filter(&oracle->program, &header, packet);
}

void filter_oracle_close(struct filter_oracle *oracle)
{
	pcap_freecode(&oracle->program);
	pcap_close(oracle->pcap);
	free(oracle);
}
