#!/bin/sh
# Record the golden traces of the worked examples anew, under the conditions of this machine.
set -eu
cd "$(dirname "$0")/.."
ROOT=$PWD
PATH="$ROOT/.venv/bin:$PATH"
INDEX=$(python scripts/cpu_torch.py --index)

for example in digits-cnn addition-transformer; do
    cd "$ROOT/bundles/$example"
    repro build -q ${INDEX:+--extra-index-url "$INDEX"}
    for level in native default; do
        label="golden-$level-$(date +%H%M%S)"
        [ "$level" = native ] && set -- || set -- --env "ATEN_CPU_CAPABILITY=$level"
        repro run -q --label "$label" "$@" --json > /dev/null
        python "$ROOT/scripts/golden.py" .repro/*/runs/*."$label" "$ROOT/bundles/golden/$example"
    done
done
