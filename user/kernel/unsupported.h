/* SPDX-License-Identifier: GPL-2.0-only */
/* Explains why the kernel rejected the maps or the program: the missing features, the version that
 * added them, and alternatives. Makes no system calls. */
#ifndef RLCTL_REFUSAL_H
#define RLCTL_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "rlctl_abi.h"

#define LACKS_MAX     8
#define REFUSAL_MAX   1024
#define KERNEL_OLDEST "6.1" /* oldest version that rlctl is tested on */

/* A feature that the programs need and the kernel lacks: "helper", "xdp_load_bytes". */
struct lack {
	const char *kind, *name;
};

enum refused { REFUSED_MAPS, REFUSED_PROGRAM };

struct refusal {
	enum refused what;
	enum rl_hook hook;
	int error;           /* negative errno */
	const char *release; /* kernel release, as in uname */
	struct lack lacks[LACKS_MAX];
	size_t count;
};

/* Is the release older than the version, as in "6.1"? */
bool release_is_before(const char *release, const char *version);

/* The kernel version that added it, as in "5.18", or NULL if unknown. */
const char *lack_since(const struct lack *lack);

/* One line without a newline. */
void refusal_format(const struct refusal *refusal, char out[REFUSAL_MAX]);

#endif
