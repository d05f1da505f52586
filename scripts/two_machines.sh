#!/bin/sh
# One bundle on two truly different machines: x86-64 here, and aarch64 under emulation.
#
# Each side is a Debian root with its own python3-torch, and runs the unpacked bundle's own runtime. The x86 side
# makes the seed checkpoint, three noise members and dense steps; the other starts from them. Then the two are judged.
# Needs an x86-64 Debian, root, and a package mirror. The roots (2.7 GB) and all runs stay in the folder WORK.
#
#     scripts/two_machines.sh [WORK [BUNDLE]]
set -eu
cd "$(dirname "$0")/.."
ROOT=$PWD
PATH="$ROOT/.venv/bin:$PATH"
WORK=${1:-/tmp/repro-two-machines}
BUNDLE=${2:-}
SUITE=bookworm
PACKAGES=python3,python3-torch,python3-numpy
STEPS=16

say() { echo "two-machines: $*" >&2; }

[ "$(uname -m)" = x86_64 ] || { say "this machine is $(uname -m); the reference is meant to be x86_64"; exit 3; }
[ "$(id -u)" = 0 ] || { say "only root can unpack a Debian root and change into it"; exit 3; }
mkdir -p "$WORK/roots" "$WORK/runs"
WORK=$(cd "$WORK" && pwd)

if ! command -v mmdebstrap >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
    say "installing mmdebstrap and qemu-user-static"
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap qemu-user-static >/dev/null
fi

# Nothing in the packages is run: a foreign root needs no emulation to be made.
unpack() { # ARCHITECTURE
    [ -d "$WORK/roots/$1" ] && return
    say "unpacking $SUITE for $1"
    rm -rf "$WORK/roots/$1.new"
    mmdebstrap --quiet --variant=extract "--architectures=$1" "--include=$PACKAGES" "$SUITE" "$WORK/roots/$1.new"
    mv "$WORK/roots/$1.new" "$WORK/roots/$1"
}

# A root's Python as one program. Its packages were not configured, so nothing links to BLAS and LAPACK yet.
interpreter() { # ARCHITECTURE TRIPLET
    top=$WORK/roots/$1
    lib=$top/usr/lib/$2
    libraries=$lib:$top/lib/$2:$top/usr/lib:$lib/blas:$lib/lapack
    case $1 in
    arm64) how="exec qemu-aarch64-static -L $top -E PYTHONHOME=$top/usr -E LD_LIBRARY_PATH=$libraries" ;;
    amd64) how="PYTHONHOME=$top/usr exec $top/lib64/ld-linux-x86-64.so.2 --library-path $libraries" ;;
    esac
    printf '#!/bin/sh\n%s %s/usr/bin/python3 "$@"\n' "$how" "$top" >"$WORK/$1"
    chmod +x "$WORK/$1"
}

unpack amd64
unpack arm64
interpreter amd64 x86_64-linux-gnu
interpreter arm64 aarch64-linux-gnu

if [ -z "$BUNDLE" ]; then
    INDEX=$(python scripts/cpu_torch.py --index)
    repro build -q --engine inplace -o "$WORK/bundles" ${INDEX:+--extra-index-url "$INDEX"} bundles/digits-cnn >/dev/null
    BUNDLE=$(ls -dt "$WORK"/bundles/digits-cnn-* | head -n 1)
fi
say "bundle $BUNDLE"

export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
rm -rf "$WORK/runs"
run() { # ARCHITECTURE NAME OPTION...
    architecture=$1 name=$2
    shift 2
    say "$name"
    (cd "$BUNDLE" && python3 -m repro_runtime run --bundle . --python "$WORK/$architecture" \
        --out "$WORK/runs/$name" "$@" >/dev/null) && return
    tail -n 5 "$WORK/runs/$name/attempt-1/log.txt" >&2
    exit 1
}

SEED=$WORK/runs/x86-64/attempt-1/states/step-0.safetensors
run amd64 x86-64 --save-state 0
for member in 1 2 3; do
    run amd64 "member-$member" --seed-state "$SEED" --perturb "$member" --stop-after "$STEPS"
done
run amd64 x86-64-dense --seed-state "$SEED" --dense 1 --stop-after 1
run arm64 aarch64 --seed-state "$SEED" --stop-after "$STEPS"
run arm64 aarch64-dense --seed-state "$SEED" --dense 1 --sync "$(dirname "$SEED")" --stop-after 1

python scripts/two_machines.py "$WORK/runs"
