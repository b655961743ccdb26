#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# tests/play for three seconds instead of ten minutes: a policy by its name, twelve players who lose nothing, in peace
# and beside floods of which no more than the limits arrives.
exec bash "$(dirname "$0")/../play/play.sh" --seconds 3 source
