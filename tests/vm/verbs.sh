# SPDX-License-Identifier: Apache-2.0
# Two soft-RoCE adapters on veth pairs that a bridge joins, in one machine;
# run by init.sh. Every frame goes through the bridge although both ends have
# the same kernel: the local table comes after the rules by interface.
ip link add br0 type bridge
ip link set br0 up mtu 4500
for i in 0 1; do
  ip link add name v$i mtu 4500 type veth peer name m$i mtu 4500
  ip link set m$i master br0
  ip link set m$i up
  ip link set v$i up
  ip addr add 10.9.0.$((i + 1))/24 dev v$i
  echo 1 >/proc/sys/net/ipv4/conf/v$i/accept_local
  echo 0 >/proc/sys/net/ipv4/conf/v$i/rp_filter
  ip rule add pref 10 oif v$i lookup 10$i
  ip route add 10.9.0.0/24 dev v$i src 10.9.0.$((i + 1)) table 10$i
done
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
ip rule add pref 100 lookup local
ip rule del pref 0
# A veth drops what does not fit here, and 16 MiB are on their way at once.
echo 100000 >/proc/sys/net/core/netdev_max_backlog
rdma link add rxe0 type rxe netdev v0
rdma link add rxe1 type rxe netdev v1
sleep 1

# One side uses rxe0, the other rxe1, as two pods would.
pair() {
  NCCL_IB_HCA==rxe1 muster fabric "$1" --listen 127.0.0.1:7000 --timeout 90s \
    >/tmp/listener 2>&1 &
  listener=$!
  while ! grep -q listening /tmp/listener; do sleep 0.1; done
  NCCL_IB_HCA==rxe0 muster fabric "$1" --peer 127.0.0.1:7000 --timeout 80s \
    --megabytes 1 -o json
  code=$?
  kill $listener 2>/dev/null
  wait $listener 2>/dev/null
  return $code
}

step facts muster fabric show -o json
step old muster fabric plan --nccl 2.20.5 -o json
step new muster fabric plan --nccl 2.26.2 -o json
# A GPU that is only a library, whose memory is the host's: registration,
# write and comparison are real.
: >/dev/nvidiactl
# To itself, which takes the usual order of the tables.
ip rule add pref 0 lookup local
NCCL_IB_HCA==rxe0 step gdr muster fabric check -o json
ip rule del pref 0
rm /dev/nvidiactl
step check pair check
step bench pair bench
# A network of MTU 1500 between interfaces that say 4500.
ip link set m1 mtu 1500
step mtu pair check
ip link set m1 mtu 4500
ip link set m1 nomaster
step cut pair check
ip link set m1 master br0
ip addr del 10.9.0.2/24 dev v1
echo 1 >/proc/sys/net/ipv6/conf/v1/disable_ipv6
step gid pair check
