#!/usr/bin/env bash
# files lie here with other bytes than the commit holds
# usage: bash make.sh DIR     makes DIR/repo (DIR must not exist or be empty)
set -euo pipefail
D=$(mkdir -p "$1" && cd "$1" && pwd)
R=$D/repo
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z"
g() { git -c user.name=Tester -c user.email=tester@example.invalid -c init.defaultBranch=main -c protocol.file.allow=always "$@"; }
project() {      # a small, healthy project in the current folder
  mkdir -p eval
  printf 'import torch\nprint(torch.__version__)\n' > train.py
  printf 'lr: 0.001\nbatch: 32\nseed: 7\n' > params.yaml
  printf 'torch==2.1.2\nnumpy==1.26.4\n' > requirements.txt
  printf 'id,label\n1,0\n2,1\n' > eval/small.csv
}
start() { g init -q "$R"; cd "$R"; project; g add -A; g commit -q -m "first"; }
start
printf '*.py text eol=crlf\n*.txt ident\neval export-ignore\n' > .gitattributes
g add -A; g commit -q -m "attributes"
rm train.py requirements.txt; g checkout -q -- train.py requirements.txt
