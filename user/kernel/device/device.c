// SPDX-License-Identifier: GPL-2.0-only
/* Device properties from ethtool's ioctl: driver, offloads, queues, rings. Those from netlink are
 * in device_netlink.c. Properties that a driver does not report stay zero. */

#include "kernel/device/device.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/device/device_facts.h"

#define FEATURES_MAX 1024u

static int ethtool(int fd, const char *device, void *data)
{
	struct ifreq request = {.ifr_data = data};

	memcpy(request.ifr_name, device, strnlen(device, IF_NAMESIZE - 1));
	return ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
}

static void driver_read(int fd, struct device_facts *out)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (!ethtool(fd, out->name, &info))
		snprintf(out->driver, sizeof(out->driver), "%.31s", info.driver);
}

static void queues_read(int fd, struct device_facts *out)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (ethtool(fd, out->name, &channels))
		return;
	out->queues.now = channels.combined_count + channels.rx_count;
	out->queues.combined = channels.max_combined;
	out->queues.most = channels.max_combined ? channels.max_combined : channels.max_rx;
}

static void ring_read(int fd, struct device_facts *out)
{
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};

	if (ethtool(fd, out->name, &ring))
		return;
	out->ring.now = ring.rx_pending;
	out->ring.most = ring.rx_max_pending;
}

/* ---- offloads: feature bits, named by the kernel */

static uint32_t features_count(int fd, const char *device)
{
	union {
		struct ethtool_sset_info info;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} sset = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};

	if (ethtool(fd, device, &sset) || !sset.info.sset_mask)
		return 0;
	return sset.info.data[0] < FEATURES_MAX ? sset.info.data[0] : FEATURES_MAX;
}

static void offload_set(struct device_facts *out, const char *name, bool active)
{
	static const char *const names[OFFLOAD_COUNT] = {
#define OFFLOAD_NAME(name_, text) text,
		DEVICE_OFFLOADS(OFFLOAD_NAME)
#undef OFFLOAD_NAME
	};

	for (int i = 0; i < OFFLOAD_COUNT; i++)
		if (!strncmp(name, names[i], ETH_GSTRING_LEN))
			out->on[i] = active;
}

static void offloads_read(int fd, struct device_facts *out)
{
	uint32_t count = features_count(fd, out->name), blocks = (count + 31) / 32;
	struct ethtool_gstrings *names = calloc(1, sizeof(*names) + count * ETH_GSTRING_LEN);
	struct ethtool_gfeatures *bits =
		calloc(1, sizeof(*bits) + blocks * sizeof(bits->features[0]));

	if (names && bits && count) {
		*names = (struct ethtool_gstrings){
			.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = count};
		*bits = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
		if (!ethtool(fd, out->name, names) && !ethtool(fd, out->name, bits))
			for (uint32_t i = 0; i < count; i++)
				offload_set(out, (const char *)names->data + i * ETH_GSTRING_LEN,
					    bits->features[i / 32].active & 1u << i % 32);
	}
	free(names);
	free(bits);
}

int device_link_facts(const char *name, struct device_facts *out)
{
	struct device_facts facts = {.ifindex = (int)if_nametoindex(name)};
	int ret;

	if (!facts.ifindex)
		return -ENODEV;
	snprintf(facts.name, sizeof(facts.name), "%s", name);
	ret = device_link_read(&facts);
	if (!ret)
		*out = facts;
	return ret;
}

int device_facts_read(const char *name, struct device_facts *out)
{
	struct device_facts facts;
	int ret = device_link_facts(name, &facts), fd;

	fd = ret ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ret ? ret : -errno;
	driver_read(fd, &facts);
	queues_read(fd, &facts);
	ring_read(fd, &facts);
	offloads_read(fd, &facts);
	close(fd);
	facts.xdp_known = !device_xdp_read(facts.ifindex, &facts.xdp_features);
	*out = facts;
	return 0;
}

int device_for_each(int (*visit)(const char *name, void *arg), void *arg)
{
	struct if_nameindex *list = if_nameindex();
	struct device_facts facts;
	int ret = 0;

	if (!list)
		return -errno;
	for (struct if_nameindex *at = list; !ret && at->if_index; at++) {
		facts = (struct device_facts){.ifindex = (int)at->if_index};
		if (!device_link_read(&facts) && !facts.is_loopback)
			ret = visit(at->if_name, arg);
	}
	if_freenameindex(list);
	return ret;
}

int device_index(const char *device)
{
	int ifindex = if_nametoindex(device);

	return ifindex ? ifindex : -errno;
}
