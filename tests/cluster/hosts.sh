#!/usr/bin/env bash
# hosts.sh RATE SLOTS...: the inside of a cluster, one host for each number of slots.
#
# Runs as process 1 of a PID namespace, in a network and a mount namespace of its own, so that all
# of it (processes, links, mounts) is gone as soon as this script ends, however it ends: it does
# when its standard input is closed. Each host is a process that holds namespaces for the network,
# the host name, System V memory and mounts (its own /dev/shm, /mnt/tmp). Says "ready" when all are there.
set -euo pipefail
rate=$1
shift
slots=("$@")

# Our own notes, which nobody outside sees: /mnt/HOST holds the process number of a host.
mount -t tmpfs tmpfs /mnt
echo "127.0.0.1 localhost" >/mnt/names
for i in "${!slots[@]}"; do
  echo "10.77.0.$((i + 1)) h$((i + 1))" >>/mnt/names
  echo "h$((i + 1)):${slots[i]}" >>/mnt/hosts.mpich
  echo "h$((i + 1)) slots=${slots[i]}" >>/mnt/hosts.openmpi
done
mkdir /mnt/tmp
mount --bind /mnt/names /etc/hosts

limit() { # the token bucket of a device, in its namespace
  [ "$rate" = none ] || tc qdisc add dev "$1" root tbf rate "$rate" burst 256kb latency 400ms
}
export -f limit
export rate

ip link set lo up
ip link add br0 type bridge
ip link set br0 up
for i in "${!slots[@]}"; do
  name=h$((i + 1))
  unshare --net --uts --ipc --mount bash -c "
    hostname $name && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /mnt/tmp && echo \$\$ >/mnt/$name.new &&
      mv /mnt/$name.new /mnt/$name && exec sleep infinity" </dev/null &
  until [ -e "/mnt/$name" ]; do
    kill -0 $! || exit 1
    sleep 0.02
  done
  ip link add "v$((i + 1))" type veth peer name eth0 netns "$(cat "/mnt/$name")"
  ip link set "v$((i + 1))" master br0 up
  limit "v$((i + 1))"
  nsenter --target "$(cat "/mnt/$name")" --net bash -c "
    ip addr add 10.77.0.$((i + 1))/24 dev eth0 && ip link set lo up && ip link set eth0 up &&
      limit eth0"
done
echo ready
# The reader's end is the end of everything.
cat >/dev/null
