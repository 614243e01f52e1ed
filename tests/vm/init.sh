#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Process 1 of the test machine: mounts, kernel modules, then /steps.sh, which
# each test brings along. A step prints its name, the output, "== end CODE".
b=/bin/busybox
$b mkdir -p /proc /sys /dev /tmp /run
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
$b --install -s /bin
export PATH=/sbin:/bin:/muster/bin HOME=/tmp
while read -r module; do insmod "$module" || echo "insmod $module failed"; done \
  </modules.list
hostname vm
# The shell would take its own applet.
ip() { /sbin/ip "$@"; }
ulimit -l unlimited
ip link set lo up

step() {
  echo "== step $1"
  shift
  "$@" 2>&1
  echo "== end $?"
}

echo
. /steps.sh
echo "== over"
poweroff -f
