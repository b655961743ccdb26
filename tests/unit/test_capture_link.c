// SPDX-License-Identifier: GPL-2.0-only
/* Link headers: the type that each names and its length, and that none is read beyond the captured
 * bytes.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/if_ether.h>
#include <pcap/pcap.h>

#include "cases.h"
#include "watch/capture/capture.h"

#define ZEROS "\0\0\0\0\0\0\0\0\0\0\0\0\0"

struct row {
	const char *name;
	int type;
	const char *data;
	uint32_t size, bytes;
	uint16_t ethertype;
};

#define ROW(name, type, data, bytes, ethertype)                      \
	{                                                            \
		name, type, data, sizeof(data) - 1, bytes, ethertype \
	}

static const struct row rows[] = {
	ROW("SLL, IPv4", DLT_LINUX_SLL, ZEROS "\0\x08\0\x45", 16, ETH_P_IP),
	ROW("SLL, IPv6", DLT_LINUX_SLL, ZEROS "\0\x86\xdd\x60", 16, ETH_P_IPV6),
	ROW("SLL, VLAN", DLT_LINUX_SLL, ZEROS "\0\x81\0\0\7\x08\0", 16, ETH_P_8021Q),
	ROW("SLL, LLC", DLT_LINUX_SLL, ZEROS "\0\0\4", 16, ETH_P_802_2),
	ROW("SLL2, IPv4", DLT_LINUX_SLL2, "\x08\0" ZEROS "\0\0\0\0\0\x45", 20, ETH_P_IP),
	ROW("SLL2, IPv6", DLT_LINUX_SLL2, "\x86\xdd" ZEROS "\0\0\0\0\0", 20, ETH_P_IPV6),
	ROW("SLL2, VLAN", DLT_LINUX_SLL2, "\x88\xa8" ZEROS "\0\0\0\0\0", 20, ETH_P_8021AD),
	ROW("RAW, IPv4", DLT_RAW, "\x45", 0, ETH_P_IP),
	ROW("RAW, IPv6", DLT_RAW, "\x60", 0, ETH_P_IPV6),
	ROW("RAW, neither", DLT_RAW, "\xff", 0, ETH_P_IP),
	ROW("RAW, nothing", DLT_RAW, "", 0, ETH_P_IP),
	ROW("IPV4", DLT_IPV4, "\x60", 0, ETH_P_IP),
	ROW("IPV6", DLT_IPV6, "\x45", 0, ETH_P_IPV6),
	ROW("NULL, little-endian IPv4", DLT_NULL, "\2\0\0\0", 4, ETH_P_IP),
	ROW("NULL, big-endian IPv4", DLT_NULL, "\0\0\0\2", 4, ETH_P_IP),
	ROW("NULL, IPv6 of Linux", DLT_NULL, "\x0a\0\0\0", 4, ETH_P_IPV6),
	ROW("NULL, IPv6 of NetBSD", DLT_NULL, "\0\0\0\x18", 4, ETH_P_IPV6),
	ROW("NULL, IPv6 of FreeBSD", DLT_NULL, "\x1c\0\0\0", 4, ETH_P_IPV6),
	ROW("NULL, IPv6 of macOS", DLT_NULL, "\x1e\0\0\0", 4, ETH_P_IPV6),
	ROW("NULL, no family of IP", DLT_NULL, "\7\0\0\0", 4, LINK_NOT_IP),
	ROW("NULL, family 0", DLT_NULL, "\0\0\0\0", 4, LINK_NOT_IP),
	ROW("NULL, more than 16 bits", DLT_NULL, "\2\0\1\0", 4, LINK_NOT_IP),
	ROW("LOOP, IPv4", DLT_LOOP, "\0\0\0\2", 4, ETH_P_IP),
	ROW("LOOP, IPv6", DLT_LOOP, "\0\0\0\x18", 4, ETH_P_IPV6),
	ROW("PPP, IPv4", DLT_PPP, "\0\x21\x45", 2, ETH_P_IP),
	ROW("PPP, IPv6", DLT_PPP, "\0\x57\x60", 2, ETH_P_IPV6),
	ROW("PPP, LCP", DLT_PPP, "\xc0\x21\1", 2, LINK_NOT_IP),
	ROW("PPP, protocol of a byte", DLT_PPP, "\x21\x45", 1, ETH_P_IP),
	ROW("PPP, HDLC framing", DLT_PPP, "\xff\3\0\x21\x45", 4, ETH_P_IP),
	ROW("PPP, both", DLT_PPP, "\xff\3\x57\x60", 3, ETH_P_IPV6),
	ROW("PPP_SERIAL, HDLC framing", DLT_PPP_SERIAL, "\xff\3\0\x57\x60", 4, ETH_P_IPV6),
	ROW("PPP_SERIAL, Cisco", DLT_PPP_SERIAL, "\x0f\0\x08\0", 4, ETH_P_IP),
	ROW("PPP_SERIAL, Cisco multicast", DLT_PPP_SERIAL, "\x8f\0\x86\xdd", 4, ETH_P_IPV6),
	ROW("PPP_SERIAL, Cisco keepalive", DLT_PPP_SERIAL, "\x8f\0\x80\x35", 4, 0x8035),
	ROW("PPP_ETHER, IPv4", DLT_PPP_ETHER, "\x11\0\0\7\0\x1e\0\x21\x45", 8, ETH_P_IP),
	ROW("PPP_ETHER, LCP", DLT_PPP_ETHER, "\x11\0\0\7\0\x1e\xc0\x21", 8, LINK_NOT_IP),
	ROW("C_HDLC, IPv6", DLT_C_HDLC, "\x0f\0\x86\xdd\x60", 4, ETH_P_IPV6),
};

TEST(test_headers)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct link_header got;

		print_message("# %s\n", rows[i].name);
		assert_true(link_is_known(rows[i].type));
		assert_true(link_header_read(rows[i].type, (const uint8_t *)rows[i].data,
					     rows[i].size, &got));
		assert_int_equal(got.bytes, rows[i].bytes);
		assert_int_equal(got.ethertype, rows[i].ethertype);
	}
}

/* Allocations of exactly that size: the sanitizer would report a byte read beyond it. */
TEST(test_cut)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (uint32_t size = 0; size < rows[i].bytes; size++) {
			uint8_t *data = malloc(size ? size : 1);
			struct link_header got;

			assert_non_null(data);
			memcpy(data, rows[i].data, size);
			print_message("# %s, %u bytes\n", rows[i].name, size);
			assert_false(link_header_read(rows[i].type, data, size, &got));
			assert_in_range(got.bytes, 1, rows[i].bytes);
			free(data);
		}
	}
}

TEST(test_unknown)
{
	static const int types[] = {DLT_EN10MB, DLT_IEEE802_11, DLT_IEEE802_11_RADIO,
				    DLT_USB_LINUX};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		assert_false(link_is_known(types[i]));
}
