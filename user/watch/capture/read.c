// SPDX-License-Identifier: GPL-2.0-only
/* Captures through libpcap, which reads pcap and pcapng in either byte order, and scales timestamps
 * to nanoseconds.
 */

#include "watch/capture/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <string.h>
#include <sys/stat.h>

#include "base/captured.h"
#include "base/lazy_pcap.h"
#include "base/message.h"
#include "base/units.h"

#define BUFFER_BYTES (CAPTURED_MAX - ETH_HLEN)
#define SECONDS_MAX  (INT64_MAX / (int64_t)NS_PER_SECOND)

/* For the one open capture. libpcap rejects packets larger than 256 KiB. */
static char buffer[BUFFER_BYTES];
static uint8_t frame[CAPTURED_MAX];

int capture_open(const char *path, struct capture *out)
{
	bool is_stdin = !strcmp(path, "-");
	struct capture capture = {.name = is_stdin ? "stdin" : path};
	char error[PCAP_ERRBUF_SIZE];
	const char *link;
	struct stat st;
	FILE *file;

	if (pcap_load())
		return -1;
	file = is_stdin ? stdin : fopen(path, "re");
	if (!file)
		return fail("%s: %s", path, strerror(errno));
	if (!fstat(fileno(file), &st) && S_ISREG(st.st_mode))
		capture.size = (uint64_t)st.st_size;
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	capture.pcap =
		pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
	if (!capture.pcap) {
		if (!is_stdin)
			fclose(file);
		return fail("%s: not a capture file: %s", capture.name, error);
	}
	capture.link = pcap_datalink(capture.pcap);
	if (capture.link == DLT_EN10MB || link_is_known(capture.link)) {
		*out = capture;
		return 0;
	}
	link = pcap_datalink_val_to_name(capture.link);
	pcap_close(capture.pcap);
	return fail("%s: unsupported link type %s (%d; supported: " LINK_TYPES_READ
		    "): capture on an Ethernet device, or on `any`",
		    capture.name, link ? link : "unknown", capture.link);
}

void capture_close(struct capture *capture)
{
	if (capture->pcap)
		pcap_close(capture->pcap);
	memset(capture, 0, sizeof(*capture));
}

/* False: invalid timestamp. libpcap reads pcap's 32 unsigned bits of seconds as signed, which turns
 * 2038 and later into times before 1970. */
static bool time_read(const struct timeval *stamp, uint64_t *out)
{
	int64_t seconds = stamp->tv_sec, ns = stamp->tv_usec;

	if (seconds < 0 && seconds >= INT32_MIN)
		seconds = (uint32_t)seconds;
	if (seconds < 0 || seconds >= SECONDS_MAX || ns < 0 || ns >= (int64_t)NS_PER_SECOND)
		return false;
	*out = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)ns;
	return true;
}

/* Puts an Ethernet header before the packet; an empty frame if the link header is incomplete. */
static void frame_make(int link, struct captured *packet)
{
	struct ethhdr ethernet = {0};
	struct link_header header;
	bool is_whole = link_header_read(link, packet->data, packet->size, &header);
	uint32_t size;

	packet->sent = header.sent;
	packet->bytes = packet->bytes > header.bytes ? packet->bytes - header.bytes : 0;
	if (__builtin_add_overflow(packet->bytes, ETH_HLEN, &packet->bytes))
		packet->bytes = UINT32_MAX; /* the length in the file is untrusted */
	if (!is_whole) {
		packet->size = 0;
		return;
	}
	size = packet->size - header.bytes;
	size = size < BUFFER_BYTES ? size : BUFFER_BYTES;
	ethernet.h_proto = htons(header.ethertype);
	memcpy(frame, &ethernet, ETH_HLEN);
	memcpy(frame + ETH_HLEN, packet->data + header.bytes, size);
	packet->data = frame;
	packet->size = ETH_HLEN + size;
}

/* Like capture_next, with any timestamp; *timed: it is valid. */
static int packet_read(struct capture *capture, struct captured *out, bool *timed)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	int ret = pcap_next_ex(capture->pcap, &header, &data);

	if (ret == PCAP_ERROR_BREAK) /* the end */
		return 0;
	capture->packets++;
	if (ret != 1) {
		const char *text = pcap_geterr(capture->pcap);
		bool cut = strstr(text, "truncated");

		return fail("%s: packet %" PRIu64 ": %s%s", capture->name, capture->packets, text,
			    cut ? ": `tcpdump -r FILE -w NEW` keeps the packets before it" : "");
	}
	*timed = time_read(&header->ts, &out->time_ns);
	out->data = data;
	out->sent = false;
	out->size = header->caplen;
	out->bytes = header->len > header->caplen ? header->len : header->caplen;
	return 1;
}

int capture_next(struct capture *capture, struct captured *out)
{
	bool timed = false;
	int ret;

	while ((ret = packet_read(capture, out, &timed)) > 0 && !timed)
		if (!capture->skipped++)
			capture->first_skipped = capture->packets;
	if (ret > 0 && capture->link != DLT_EN10MB)
		frame_make(capture->link, out);
	return ret;
}

int capture_permille(const struct capture *capture)
{
	FILE *file = pcap_file(capture->pcap);
	off_t at = file && capture->size ? ftello(file) : -1;

	if (at < 0)
		return -1;
	return (uint64_t)at < capture->size ? (int)((uint64_t)at * 1000 / capture->size) : 1000;
}
