"""Teach a tiny character transformer three-digit addition. The training sums are
generated, the held-out ones are in eval/sums.csv. Trains in under a minute on a CPU.

Works with torch 1.7 to 2.14 and Python 3.6 or newer; the attention is written
out so that no version-dependent layer is needed.
"""
import argparse
import csv
import json
import math
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
CHARS = "0123456789+="
LEN = 3 + 1 + 3 + 1 + 4  # "123+456=" and the sum, units first, as four digits


def encode(pairs):
    rows = []
    for a, b in pairs:
        s = "%03d+%03d=" % (a, b) + ("%04d" % (a + b))[::-1]
        rows.append([CHARS.index(c) for c in s])
    return torch.tensor(rows)


class Block(nn.Module):
    def __init__(self, d, heads):
        super(Block, self).__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q @ k.transpose(-2, -1)) / math.sqrt(d // self.heads)
        a = F.softmax(a.masked_fill(mask, -1e4), dim=-1)
        x = x + self.proj((a @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Model(nn.Module):
    def __init__(self, d, layers, heads):
        super(Model, self).__init__()
        self.tok = nn.Embedding(len(CHARS), d)
        self.pos = nn.Embedding(LEN, d)
        self.blocks = nn.ModuleList([Block(d, heads) for _ in range(layers)])
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, len(CHARS))

    def forward(self, idx):
        t = idx.shape[1]
        x = self.tok(idx) + self.pos.weight[:t]
        mask = torch.ones(t, t, device=idx.device).triu(1) > 0
        for b in self.blocks:
            x = b(x, mask)
        return self.head(self.ln(x))


def answer_loss(logits, seq, reduction="mean"):
    # Only the four answer digits count: they are predicted from position 7 on.
    out = F.cross_entropy(logits[:, 7:11].reshape(-1, len(CHARS)), seq[:, 8:].reshape(-1), reduction=reduction)
    return out if reduction == "mean" else out.view(-1, 4).mean(1)


def evaluate(model, seq, device):
    model.eval()
    with torch.no_grad():
        logits = model(seq.to(device)).float().cpu()
    model.train()
    per = answer_loss(logits, seq, "none")
    pred = logits[:, 7:11].argmax(-1)
    return per, (pred == seq[:, 8:]).all(1), pred


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--params", default=os.path.join(HERE, "params.json"))
    ap.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    ap.add_argument("--out", default=os.path.join(HERE, "out"))
    ap.add_argument("--resume", default="")
    args = ap.parse_args()
    with open(args.params) as f:
        p = json.load(f)
    for kv in args.set:
        k, v = kv.split("=", 1)
        p[k] = type(p[k])(json.loads(v)) if not isinstance(p[k], str) else v
    os.makedirs(args.out, exist_ok=True)

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with open(os.path.join(HERE, "eval", "sums.csv")) as f:
        held = [(int(row["a"]), int(row["b"])) for row in csv.DictReader(f)]
    taken = set(held)
    ev = encode(held)

    random.seed(p["seed"])
    torch.manual_seed(p["seed"])
    model = Model(p["width"], p["layers"], p["heads"]).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=p["lr"], weight_decay=0.01)

    def batch():
        out = []
        while len(out) < p["batch"]:
            ab = (random.randrange(1000), random.randrange(1000))
            if ab not in taken:
                out.append(ab)
        return encode(out).to(device)

    start = 0
    if args.resume:
        ck = torch.load(args.resume, map_location=device)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["optimizer"])
        random.setstate(ck["python_rng"])  # the only generator used after the start
        start = ck["step"]

    for step in range(start, p["steps"]):
        for g in opt.param_groups:
            warm = min(1.0, (step + 1) / p["warmup"])
            g["lr"] = p["lr"] * warm * 0.5 * (1 + math.cos(math.pi * step / p["steps"]))
        seq = batch()
        if p["precision"] == "bf16":
            with torch.autocast(device, dtype=torch.bfloat16):
                loss = answer_loss(model(seq).float(), seq)
        else:
            loss = answer_loss(model(seq), seq)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), p["clip"])
        opt.step()
        if (step + 1) % p["eval_every"] == 0:
            per, ok, pred = evaluate(model, ev, device)
            print("step %d loss %.4f eval_loss %.4f exact %.4f"
                  % (step + 1, loss.item(), per.mean().item(), ok.float().mean().item()), flush=True)
            torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "step": step + 1,
                        "python_rng": random.getstate()},
                       os.path.join(args.out, "ckpt_step%06d.pt" % (step + 1)))

    with open(os.path.join(args.out, "eval.csv"), "w") as f:
        w = csv.writer(f)
        w.writerow(["id", "label", "prediction", "correct", "loss"])
        for i, (a, b) in enumerate(held):
            got = "".join(CHARS[int(c)] for c in pred[i])[::-1]
            w.writerow([i, "%04d" % (a + b), got, int(ok[i]), repr(float(per[i]))])
    with open(os.path.join(args.out, "metrics.json"), "w") as f:
        json.dump({"eval_loss": float(per.mean()), "eval_exact": float(ok.float().mean()),
                   "steps": p["steps"], "params": p}, f, indent=1)


if __name__ == "__main__":
    main()
