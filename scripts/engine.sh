#!/bin/sh
# A container engine that answers: found, or installed and started when root on Debian or Ubuntu.
set -eu

answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

if answers; then
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "engine: no container engine answers, and only root can install or start one" >&2
    exit 1
fi
if ! command -v dockerd >/dev/null 2>&1 || ! command -v mmdebstrap >/dev/null 2>&1; then
    echo "engine: installing docker.io and mmdebstrap" >&2
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io mmdebstrap >/dev/null
fi
# A daemon that was killed leaves its number behind; when another program has that number now, no daemon would start.
forget() { # FILE PROGRAM
    if [ -f "$1" ] && [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" != "$2" ]; then
        rm -f "$1"
    fi
}
if ! answers; then
    forget /var/run/docker.pid dockerd
    forget /var/run/docker/containerd/containerd.pid containerd
    echo "engine: starting dockerd, log in /var/log/repro-dockerd.log" >&2
    setsid dockerd >/var/log/repro-dockerd.log 2>&1 </dev/null &
    for _ in $(seq 60); do
        answers && exit 0
        sleep 1
    done
    echo "engine: dockerd did not answer within a minute; its last lines:" >&2
    tail -n 5 /var/log/repro-dockerd.log >&2
    exit 1
fi
