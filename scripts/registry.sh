#!/bin/sh
# Docker's registry for the tests of push and pull: found, or installed when root on Debian or Ubuntu.
set -eu

if command -v docker-registry >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "registry: there is no docker-registry, and only root can install it" >&2
    exit 1
fi
echo "registry: installing docker-registry" >&2
apt-get update -qq >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker-registry >/dev/null
