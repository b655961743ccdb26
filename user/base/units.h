/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers, amounts, durations, rates and prefixes: text to integers and back. The only place that
 * parses numbers. A word must be a number as a whole ("80abc" is an error); integers only; overflow
 * is an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

#define NS_PER_US       1000ull
#define NS_PER_MS       1000000ull
#define NS_PER_SECOND   1000000000ull
#define NS_PER_MINUTE   (60 * NS_PER_SECOND)
#define NS_PER_HOUR     (60 * NS_PER_MINUTE)
#define NS_PER_DAY      (24 * NS_PER_HOUR)
#define NS_PER_WEEK     (7 * NS_PER_DAY)

#define DURATION_MAX_NS (1ull << 62)

/* Errors of the parsers below, which write outputs on success only. */
enum word_error {
	WORD_OK,
	WORD_FORM,       /* the word does not have this form */
	WORD_RANGE,      /* the number is out of range */
	WORD_PER_SECOND, /* "bps", which may mean bits or bytes, or "kpps", "mpps" */
	WORD_NO_PERIOD,  /* an amount instead of a rate */
	WORD_AMBIGUOUS,  /* "5m" may be an amount or a duration */
	WORD_HOST_BITS,  /* a prefix with host bits set */
	WORD_MAPPED      /* an IPv4-mapped IPv6 address, which must be written as IPv4 */
};

/* Decimal number, min..max inclusive. */
enum word_error number_parse(const char *word, uint64_t min, uint64_t max, uint64_t *out);

/* Size of a set of CPUs in the kernel's list format: "0-3,8\n" is 5. */
enum word_error list_count(const char *list, uint32_t *out);

/* N UNIT without blank: 10m, 250ms, 1hour; result in nanoseconds, 1 to DURATION_MAX_NS. A number
 * without unit is WORD_FORM. */
enum word_error duration_parse(const char *word, uint64_t *out_ns);

/* N[k|m|g|ki|mi|gi][packet[s]|bit[s]|byte[s]]; a bare number counts packets; 0 is valid.
 * Case-insensitive. WORD_PER_SECOND for "10kbps" and "10kpps". */
enum word_error amount_parse(const char *word, uint64_t *out, enum rl_unit *unit);

/* AMOUNT/PERIOD, Npps, Nkbit, Nmbit, Ngbit; amount > 0, period > 0. WORD_PER_SECOND as
 * with amounts; WORD_NO_PERIOD for an amount without a period. */
enum word_error rate_parse(const char *word, uint64_t *amount, uint64_t *period_ns,
			   enum rl_unit *unit);

/* The amount of a rate in `ns` (at most DURATION_MAX_NS), rounded down; saturates. */
uint64_t rate_amount_in(uint64_t amount, uint64_t period_ns, uint64_t ns);

/* IPv4[/LEN] or IPv6[/LEN] to mapped form (IPv4 /n becomes /(96+n)). WORD_HOST_BITS if host bits
 * are set, WORD_MAPPED for an IPv4-mapped IPv6 address (::ffff:0:0/96); with both, `canonical`, if
 * not NULL, holds the corrected text. */
#define PREFIX_TEXT_MAX 64
enum word_error prefix_parse(const char *word, uint8_t addr[16], uint8_t *len,
			     char canonical[PREFIX_TEXT_MAX]);

/* For prefixes in mapped form, host bits zero. Prefixes inside ::ffff:0:0/96 are IPv4, all others
 * are IPv6: ::/0 contains no IPv4 address. */
extern const uint8_t mapped_prefix[16];
bool prefix_is_ipv4(const uint8_t addr[16], uint8_t len);
void prefix_mask(uint8_t out[16], const uint8_t addr[16], uint8_t len);

/* Number of bits of a mapped address that are part of a key with these lengths
 * (bpf/algorithm/key_len.h). */
uint8_t key_bits(const uint8_t addr[16], uint8_t len4, uint8_t len6);
bool prefix_contains(const uint8_t addr[16], uint8_t len, const uint8_t inner[16]);

/* Adds packets and bytes. */
static inline void amount_add(struct rl_amount *sum, const struct rl_amount *amount)
{
	sum->packets += amount->packets;
	sum->bytes += amount->bytes;
}

/* Fits every amount, duration and rate as text. */
#define QUANTITY_TEXT_MAX 128

/* Printers write canonical text, always terminated, which the parsers read back as the same
 * numbers; they return the length, like snprintf. duration: the largest unit that divides it, e.g.
 * 90s, 1h, 250ms amount:   packets as plain digits; bytes and bits with the largest of k, m, g
 * (1000) or of ki, mi, gi (1024) that divides them, e.g. 64kibyte, 10mbit rate:     1000/second,
 * 100/10s, 10mbit (bits per second with k, m or g), 125kbyte/second prefix:   203.0.113.7 (full
 * length left out), 203.0.113.0/24, 2001:db8::/32 */
int duration_print(char *buf, size_t size, uint64_t ns);
int amount_print(char *buf, size_t size, uint64_t amount, enum rl_unit unit);
/* The things that it counts: "packets", "bytes", "bits" or "connections". */
const char *units_name(enum rl_unit unit);

int rate_print(char *buf, size_t size, uint64_t amount, uint64_t period_ns, enum rl_unit unit);
int prefix_print(char *buf, size_t size, const uint8_t addr[16], uint8_t len);

/* Word number `index` of quantities: time units, multipliers, units of amounts, rates without
 * period; NULL after the last. */
const char *unit_word(size_t index);
