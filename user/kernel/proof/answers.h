/* SPDX-License-Identifier: GPL-2.0-only */
/* The rate of the answers that the program sends itself, and the addresses of the device.
 * bpf/answer/answer.h describes how packets use them. */
#pragma once

#include <linux/if_ether.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

/* Sets the program's constants, before it is loaded. */
void answers_configure(struct rl_config *out, const struct rl_instance *info);
/* Writes the addresses as they are now. Silent but where there are too many. */
int answers_make(const struct instance *instance);
/* Has the device, or one on top of it, an address that is not written? That is one of them. Silent.
 */
bool answers_miss(const struct instance *instance, uint8_t address[ETH_ALEN]);
