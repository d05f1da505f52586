#!/bin/sh
# The other side of what is tested: Docker's registry and an ssh server; found, or installed when root on Debian.
set -eu

missing=""
command -v docker-registry >/dev/null 2>&1 || missing="docker-registry"
PATH="$PATH:/usr/sbin" command -v sshd >/dev/null 2>&1 || missing="$missing openssh-server"
if [ -z "$missing" ]; then
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "peers: missing here: $missing; only root can install them" >&2
    exit 1
fi
echo "peers: installing $missing" >&2
apt-get update -qq >/dev/null
# shellcheck disable=SC2086 - a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing openssh-client >/dev/null
