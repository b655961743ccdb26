// SPDX-License-Identifier: GPL-2.0-only
/* doctor's check for IP in PPPoE and MPLS frames, which the program does not parse. The program
 * counts them as non-ip, like ARP. If it has counted any, doctor listens for a moment, so that
 * packets cost nothing more at other times.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "kernel/state/stats.h"

#define LISTEN_MS 200

static const struct {
	uint16_t proto;
	const char *name;
} carriers[] = {
	{ETH_P_PPP_SES, "PPPoE sessions"},
	{ETH_P_MPLS_UC, "MPLS"},
	{ETH_P_MPLS_MC, "MPLS multicast"},
};

/* Where a frame has its type after the tag that stays in it: the kernel takes the outer one out. */
#define INNER_TYPE  (ETH_HLEN + 2)
#define FRAME_BYTES (INNER_TYPE + 2)

/* Accepts incoming frames of those types, also after two VLAN tags. */
static int listener_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 7, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021Q, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021AD, 0, 1),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, INNER_TYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_PPP_SES, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_MPLS_UC, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_MPLS_MC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, FRAME_BYTES),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

/* A descriptor, or a negative errno. */
static int listener_open(int ifindex)
{
	struct sockaddr_ll device = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	if (!listener_filter(fd) && !bind(fd, (struct sockaddr *)&device, sizeof(device)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* The name of the first carrier within LISTEN_MS, or NULL. */
static const char *carrier_seen(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct sockaddr_ll from = {0};
	socklen_t size = sizeof(from);
	uint8_t frame[FRAME_BYTES] = {0};
	uint16_t type;

	if (poll(&wait, 1, LISTEN_MS) < 1 ||
	    recvfrom(fd, frame, sizeof(frame), 0, (struct sockaddr *)&from, &size) < 0)
		return NULL;
	type = ntohs(from.sll_protocol);
	if (type == ETH_P_8021Q || type == ETH_P_8021AD)
		type = frame[INNER_TYPE] << 8 | frame[INNER_TYPE + 1];
	for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++)
		if (type == carriers[i].proto)
			return carriers[i].name;
	return NULL;
}

void check_carriers(struct doctor *doctor)
{
	struct rl_amount reasons[RL_REASON_COUNT];
	const char *seen;
	int fd;

	if (!doctor->instances) {
		doctor_ok(doctor, "not attached");
		return;
	}
	/* Whether such frames are possible, by the instance's counter of non-ip packets. */
	if (doctor->instance && (instance_reasons_read(doctor->instance, reasons) ||
				 !reasons[RL_REASON_NON_IP].packets)) {
		doctor_ok(doctor, "none: every packet was IP");
		return;
	}
	fd = listener_open(doctor->facts->ifindex);
	if (fd < 0) {
		doctor_warn(doctor, "sudo rlctl doctor", "unknown: %s", strerror(-fd));
		return;
	}
	seen = carrier_seen(fd);
	close(fd);
	if (seen)
		doctor_warn(doctor,
			    "rlctl attach, on the device that receives their decapsulated packets",
			    "%s pass without a limit", seen);
	else
		doctor_ok(doctor, "none within %d ms", LISTEN_MS);
}
