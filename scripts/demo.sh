#!/bin/sh
# The main job on both worked examples: build, run under four conditions, compare.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
show() { say "$*"; "$@"; }
# compare answers by its exit status: the demo expects one, or one of several, and stops at any other
expect() {
    wanted=$1
    shift
    say "$*"
    status=0
    "$@" || status=$?
    case " $wanted " in
        *" $status "*) ;;
        *) echo "demo: exit status $status where $wanted was expected" >&2; exit 1 ;;
    esac
}

if docker version >/dev/null 2>&1; then
    REPRO_ENGINE=docker
else
    REPRO_ENGINE=inplace
    echo "demo: no container engine answers; everything runs in place, on this machine's own Python"
fi
export REPRO_ENGINE

INDEX=$(python scripts/cpu_torch.py --index)
if [ "$REPRO_ENGINE" = docker ] && ! docker image inspect python:3.11-slim-bookworm >/dev/null 2>&1 &&
    ! docker image inspect repro-base:3.11 >/dev/null 2>&1; then
    show docker pull --quiet python:3.11-slim-bookworm || show repro base create --python 3.11
fi

for example in digits-cnn addition-transformer; do
    cd "bundles/$example"
    show repro build ${INDEX:+--extra-index-url "$INDEX"}
    stamp=$(date +%H%M%S)
    show repro run -q --label "first-$stamp"
    show repro run -q --label "again-$stamp"
    show repro run -q --label "scalar-$stamp" --env ATEN_CPU_CAPABILITY=default
    show repro run -q --label "lr-$stamp" --set lr=0.01
    expect 0 repro compare "first-$stamp" "again-$stamp"
    # Within rounding; or, on a processor whose sums differ by more, open without noise members.
    expect "0 6" repro compare "first-$stamp" "scalar-$stamp"
    expect 7 repro compare "first-$stamp" "lr-$stamp"
    cd ../..
done
