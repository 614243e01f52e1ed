# SPDX-License-Identifier: Apache-2.0
# Two pods as kubelet makes them on cgroup v2: each a control group with a
# limit, namespaces of its own and an end of a bridge; the launcher beside them.
# Run by init.sh.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+memory +cpu +pids" >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/pods /sys/fs/cgroup/launcher
echo 0 >/sys/fs/cgroup/launcher/cgroup.procs
echo "+memory +cpu +pids" >/sys/fs/cgroup/pods/cgroup.subtree_control
ip link add br0 type bridge
ip addr add 10.9.1.1/24 dev br0
ip link set br0 up
for i in 0 1; do
  ip netns add w$i
  ip link add m$i type veth peer name eth0 netns w$i
  ip link set m$i master br0 up
  ip -n w$i addr add 10.9.1.1$i/24 dev eth0
  ip -n w$i link set eth0 up
  ip -n w$i link set lo up
  echo "10.9.1.1$i w$i" >>/etc/hosts
  echo "w$i slots=1" >>/hostfile
done
echo "10.9.1.1 vm" >>/etc/hosts
muster keygen -o /keys

# pod NUMBER: its worker, in the group pods/wNUMBER.
pod() {
  (
    echo 0 >/sys/fs/cgroup/pods/w$1/cgroup.procs
    exec /sbin/ip netns exec w$1 /sbin/unshare --mount --uts --ipc --pid --cgroup --fork \
      --kill-child --mount-proc sh -c "hostname w$1
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        mkdir -p /dev/shm
        mount -t tmpfs tmpfs /dev/shm
        mount -t tmpfs tmpfs /tmp
        exec muster worker --key-dir /keys" >/tmp/worker$1 2>&1
  ) &
}
# job GROUP-KILL COMMAND...: fresh pods, one launch in which rank 1 runs the
# command, and its report.
job() {
  for i in 0 1; do
    group=/sys/fs/cgroup/pods/w$i
    mkdir -p $group
    echo 64M >$group/memory.max
    echo "$1" >$group/memory.oom.group
    echo max >$group/cpu.max
    pod $i
  done
  shift
  muster launch --hostfile /hostfile --key-dir /keys --ssh-port 2222 \
    --bootstrap pmix --no-prove --log-format text --grace 1s \
    --connect-timeout 60s \
    --report-json /tmp/report.json -- \
    sh -c 'if [ $RANK = 1 ]; then exec "$@"; else exec sleep 30; fi' - "$@" \
    >/tmp/launch 2>&1
  code=$?
  tail -n 30 /tmp/launch
  tail -n 5 /tmp/worker1
  tr -d '\n' </tmp/report.json
  echo
  grep -H "oom\|max" /sys/fs/cgroup/pods/w1/memory.events
  for i in 0 1; do
    echo 1 >/sys/fs/cgroup/pods/w$i/cgroup.kill
    while grep -q "populated 1" /sys/fs/cgroup/pods/w$i/cgroup.events; do
      sleep 0.1
    done
    rmdir /sys/fs/cgroup/pods/w$i
  done
  rm -f /tmp/report.json
  return $code
}

step alone job 0 /bin/eat 40
step group job 1 /bin/eat 40
step sudden job 1 /bin/eat 120
step starved job 1 sh -c "echo 24M >/sys/fs/cgroup/memory.high
  exec /bin/eat 1000 32"
