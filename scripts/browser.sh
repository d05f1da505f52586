#!/bin/sh
# A headless browser for the tests of the report page: found, or installed when root on Debian or Ubuntu.
set -eu

for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "browser: there is no Chromium, and only root can install one" >&2
    exit 1
fi
echo "browser: installing chromium" >&2
apt-get update -qq >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
