/* SPDX-License-Identifier: GPL-2.0-only */
/* How many members the fleet has. */
#pragma once

#include "fleet/agent_state.h"

/* The number until Redis answers: of the former agent's session or, after a reboot, of the file;
 * else --members, else 1. */
void agent_members_begin(struct agent *a, const struct rl_fleet_session *former);

/* Takes over the number and the names of a heartbeat's answer. */
void agent_members_read(struct agent *a, const redisReply *reply);
