#!/usr/bin/env bash
# keys and a password as values in tracked settings and code, and samples that are none
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
mkdir -p wandb conf
# made-up values, put together here so that this script itself holds none
printf '[default]\nentity = lab\napi_%s = %s%s\n' key 0123456789abcdef0123 456789abcdef01234567 > wandb/settings
printf 'database:\n  user: lab\n  pass%s: "N0t-a-Real-One"\n' word > conf/db.yaml
printf 'import wandb\nwandb.%s="%s%s")\n' 'login(key' 0123456789abcdef0123 456789abcdef01234567 > log.py
printf 'HF_TOKEN=hf_%s\n' xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx > .env.example
printf 'pad_token: "[PAD]"\napi_key: ${oc.env:API_KEY}\npassword: changeme123\n' > conf/model.yaml
g add -A; g commit -q -m "settings"
