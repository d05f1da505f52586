#!/bin/sh
# A container engine inside a Debian root, with mounts, network and processes of its own: called by rig.py through
# `unshare --mount --net --pid --fork`. Ends when its standard input does, so never after whoever started it.
#   engine.sh docker|podman ROOT FOLDER GROUP     FOLDER has etc/docker, etc/cdi, bin, data and run
set -eu
program=$1 root=$2 folder=$3 group=$4

mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
# Folders of tests are mounted into containers by the path that the tests know.
mount --bind /tmp "$root/tmp"
mount --bind "$folder/etc/docker" "$root/etc/docker"
mount --bind "$folder/etc/cdi" "$root/etc/cdi"
mount --bind "$folder/bin" "$root/usr/local/bin"
mount --bind "$folder/data" "$root/var/lib/docker"
# Not chroot: an engine that unpacks a layer makes its own root private, and that must be a mount.
cd "$root"
pivot_root . .
umount -l .
cd /
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ip link set lo up

case $program in
docker)
    set -- dockerd --host "unix://$folder/run/docker.sock" --group "$group" --iptables=false --ip6tables=false ;;
podman)
    export CONTAINERS_CONF=/etc/docker/containers.conf
    set -- podman --root /var/lib/docker --runroot /run/podman --storage-driver overlay \
        system service --time 0 "unix://$folder/run/docker.sock" ;;
esac
"$@" >"$folder/engine.log" 2>&1 </dev/null &
engine=$!
cat >/dev/null
kill "$engine" 2>/dev/null || true
wait "$engine" || true
