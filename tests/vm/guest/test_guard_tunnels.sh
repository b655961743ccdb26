#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The lockout guard with the tunnels of the kernel's modules: the rows of tests/net/test_guard_tunnels.sh.
# shellcheck disable=SC2034 # for that file
KINDS='ipip sit gre ip6tnl wireguard'
source "$(dirname "$0")/../../net/test_guard_tunnels.sh"
