/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said where the kernel did not take our maps or our program: what it lacks, since which
 * version there is that, and what to use instead. No system calls.
 */
#ifndef RLCTL_REFUSAL_H
#define RLCTL_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "rlctl_abi.h"

#define LACKS_MAX     8
#define REFUSAL_MAX   1024
#define KERNEL_OLDEST "6.1" /* that rlctl is tested on */

/* Something that the programs use and the kernel has not: "helper", "xdp_load_bytes". */
struct lack {
	const char *kind, *name;
};

enum refused { REFUSED_MAPS, REFUSED_PROGRAM };

struct refusal {
	enum refused what;
	enum rl_hook hook;
	int error;           /* negative errno */
	const char *release; /* of the kernel, as uname says it */
	struct lack lacks[LACKS_MAX];
	size_t count;
};

/* Is the release older than the version, "6.1"? */
bool release_is_before(const char *release, const char *version);

/* The version that brought it, "5.18", or NULL where that is not known. */
const char *lack_since(const struct lack *lack);

/* One line without an end. */
void refusal_format(const struct refusal *refusal, char out[REFUSAL_MAX]);

#endif
