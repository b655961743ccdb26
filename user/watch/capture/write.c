// SPDX-License-Identifier: GPL-2.0-only
/* Captures through libpcap's dump functions. */

#include "watch/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/captured.h"
#include "base/file_link.h"
#include "base/lazy_pcap.h"
#include "base/message.h"
#include "base/units.h"

struct capture_writer {
	const char *name; /* for messages */
	pcap_t *pcap;
	pcap_dumper_t *dumper;
};

/* A file of ours, or none: another user's would show him what is captured. The name may be that of
 * a pipe, as in `-w >(tshark -r -)`. NULL; reports. */
static FILE *file_create(const char *path)
{
	const struct stat own = {.st_uid = geteuid()};
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat file;
	FILE *out;

	if (fd < 0 && errno == ELOOP && !link_is_foreign(path, &own))
		fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &file)) {
		fail("%s: %s", path,
		     errno == ELOOP ? "symbolic link of another user: name the file itself"
				    : strerror(errno));
	} else if (S_ISREG(file.st_mode) && file.st_uid != own.st_uid) {
		fail("%s: a file of another user: remove it, or name another file", path);
	} else if (S_ISREG(file.st_mode) && ftruncate(fd, 0)) {
		fail("%s: %s", path, strerror(errno));
	} else {
		out = fdopen(fd, "w");
		if (out)
			return out;
		fail("out of memory");
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

int capture_create(const char *path, uint32_t kept, bool ethernet, struct capture_writer **out)
{
	bool is_stdout = !strcmp(path, "-");
	struct capture_writer *writer;
	FILE *file;

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
	if (!writer->pcap) {
		free(writer);
		return fail("out of memory");
	}
	file = is_stdout ? fdopen(dup(STDOUT_FILENO), "w") : file_create(path);
	if (!file && is_stdout)
		fail("standard output: %s", strerror(errno));
	writer->dumper = file ? pcap_dump_fopen(writer->pcap, file) : NULL;
	if (writer->dumper) {
		*out = writer;
		return 0;
	}
	if (file) {
		fclose(file);
		fail("%s", pcap_geterr(writer->pcap));
	}
	capture_end(writer);
	return -1;
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
