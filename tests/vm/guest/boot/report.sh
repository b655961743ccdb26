#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# In a guest that systemd has booted: waits for the address, then says between marks what each unit did and when.
# units: the limits' own, in the order in which the test names them.
busybox stty -F /dev/ttyS1 raw -echo
tries=300
until ip -o addr show dev eth0 | grep -q 10.0.0.2 || [ "$tries" = 0 ]; do
	tries=$((tries - 1))
	sleep 0.1
done
echo '#### monitor'
cat /run/monitor
echo '#### status'
rlctl status -j
for unit in rlctl@eth0 rlctl-egress@eth0 rlctl-boot systemd-networkd; do
	echo "#### unit $unit"
	systemctl show "$unit.service" -p Id -p ActiveState -p Result -p ExecMainStatus \
		-p ExecMainStartTimestampMonotonic -p ExecMainExitTimestampMonotonic
done
echo '#### xdp'
rlctl show -i eth0 --hook xdp
echo '#### egress'
rlctl show -i eth0 --hook egress
echo '#### log'
cat /run/rlctl.log
echo '#### done'
exec >/dev/null 2>&1 # has to be sent first
sleep 1
busybox poweroff -f
