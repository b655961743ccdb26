// SPDX-License-Identifier: GPL-2.0-only
/* Captures through libpcap's dump functions. */

#include "capture_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "captured.h"
#include "lazy_pcap.h"
#include "message.h"
#include "units.h"

struct capture_writer {
	const char *name; /* for messages */
	pcap_t *pcap;
	pcap_dumper_t *dumper;
};

int capture_create(const char *path, uint32_t kept, bool ethernet, struct capture_writer **out)
{
	bool is_stdout = !strcmp(path, "-");
	struct capture_writer *writer;

	if (is_stdout && isatty(STDOUT_FILENO))
		return fail("will not write a capture to a terminal: name a file, or pipe it: "
			    "`rlctl monitor -w - | tshark -r -`");
	if (pcap_load())
		return -1;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return fail("out of memory");
	writer->name = is_stdout ? "standard output" : path;
	writer->pcap = pcap_open_dead_with_tstamp_precision(ethernet ? DLT_EN10MB : DLT_RAW,
							    (int)kept, PCAP_TSTAMP_PRECISION_NANO);
	writer->dumper = writer->pcap ? pcap_dump_open(writer->pcap, path) : NULL;
	if (!writer->dumper) {
		fail("%s", writer->pcap ? pcap_geterr(writer->pcap) /* names the file */
					: "out of memory");
		capture_end(writer);
		return -1;
	}
	*out = writer;
	return 0;
}

void capture_put(struct capture_writer *writer, const struct captured *packet)
{
	const struct pcap_pkthdr header = {
		.ts = {.tv_sec = (time_t)(packet->time_ns / NS_PER_SECOND),
		       .tv_usec = (suseconds_t)(packet->time_ns % NS_PER_SECOND)},
		.caplen = packet->size,
		.len = packet->bytes,
	};

	pcap_dump((u_char *)writer->dumper, &header, packet->data);
}

int capture_flush(struct capture_writer *writer)
{
	errno = 0;
	if (!pcap_dump_flush(writer->dumper) && !ferror(pcap_dump_file(writer->dumper)))
		return 0;
	return fail("%s: %s", writer->name, errno ? strerror(errno) : "cannot be written");
}

void capture_end(struct capture_writer *writer)
{
	if (!writer)
		return;
	if (writer->dumper)
		pcap_dump_close(writer->dumper);
	if (writer->pcap)
		pcap_close(writer->pcap);
	free(writer);
}
