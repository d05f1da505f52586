"""Small classifier with the usual options; cases.toml runs it twice, with one thing changed.

python train.py [--params FILE.json] [--out DIR]
"""

import argparse
import copy
import json
import os
import random  # noqa: F401  (edits use it)
import time  # noqa: F401

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

P = {
    "seed": 1, "steps": 20, "batch": 32, "lr": 0.05, "hidden": 32, "dropout": 0.2, "bn_momentum": 0.1, "norm": False,
    "optim": "sgd", "eps": 1e-8, "weight_decay": 0.0, "decay_bias": True, "clip": 0.0, "smoothing": 0.0,
    "workers": 0, "shuffle": True, "drop_last": False, "loader_seed": 4, "noise": 0.0, "micro": 0, "dtype": "float32",
    "eval_bf16": False, "ema": False, "init_std": 0.0, "init_scale": 0.0, "rows": 300, "freeze": False,
    "interop": 0, "vocabulary": "", "width": 20,
}  # fmt: skip


def params():
    parser = argparse.ArgumentParser()
    parser.add_argument("--params")
    parser.add_argument("--out", default=".")
    given = parser.parse_args()
    return {**P, **(json.load(open(given.params)) if given.params else {}), "out": given.out}


def points(p, seed):
    draw = torch.Generator().manual_seed(seed)
    x = torch.rand(p["rows"], p["width"], generator=draw) * 2 - 1
    y = (x[:, ::2].sum(1) > x[:, 1::2].sum(1)).long()
    return x, y


def numbered(x, p):
    """Columns in the order in which a vocabulary file numbers their names."""
    if not p["vocabulary"]:
        return x
    order = json.load(open(p["vocabulary"]))
    return x[:, [number for number in order.values()]]


class Rows(Dataset):
    def __init__(self, x, y, noise):
        self.x, self.y, self.noise = x, y, noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        row = self.x[i]
        if self.noise:
            row = row + self.noise * torch.randn(len(row))
        return row, self.y[i]


def make(p):
    parts = [nn.Linear(p["width"], p["hidden"])]
    parts += [nn.BatchNorm1d(p["hidden"], momentum=p["bn_momentum"])] if p["norm"] else []
    parts += [nn.ReLU(), nn.Dropout(p["dropout"]), nn.Linear(p["hidden"], 2)]
    model = nn.Sequential(*parts)
    if p["init_std"]:
        for q in model.parameters():
            nn.init.normal_(q, std=p["init_std"])
    if p["freeze"]:
        model[0].weight.requires_grad_(False)
    return model


def optimizer(p, model):
    if p["optim"] == "adamw":
        if p["decay_bias"]:
            return torch.optim.AdamW(
                model.parameters(), lr=p["lr"], eps=p["eps"], weight_decay=p["weight_decay"]
            )
        plain = [q for q in model.parameters() if q.dim() < 2]
        decayed = [q for q in model.parameters() if q.dim() > 1]
        groups = [{"params": decayed}, {"params": plain, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=p["lr"], eps=p["eps"], weight_decay=p["weight_decay"])
    return torch.optim.SGD(model.parameters(), lr=p["lr"], momentum=0.9, weight_decay=p["weight_decay"])


def forever(loader):
    while True:
        yield from loader


def rate(step):
    return min(1.0, step / 5)


def main():
    p = params()
    if p["interop"]:
        torch.set_num_interop_threads(p["interop"])
    torch.set_default_dtype(getattr(torch, p["dtype"]))
    np.random.seed(3)
    torch.manual_seed(p["seed"])
    model = make(p)
    (x, y), (xe, ye) = points(p, 5), points(p, 6)
    x, xe = numbered(x, p), numbered(xe, p)
    strength = float(os.environ.get("AUG_STRENGTH", "0"))
    x = x * (1 + strength)
    loader = DataLoader(
        Rows(x, y, p["noise"]), batch_size=p["batch"], shuffle=p["shuffle"], drop_last=p["drop_last"],
        num_workers=p["workers"], generator=torch.Generator().manual_seed(p["loader_seed"]),
    )  # fmt: skip
    opt = optimizer(p, model)
    scaler = torch.amp.GradScaler("cpu", init_scale=p["init_scale"]) if p["init_scale"] else None
    average = copy.deepcopy(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=p["smoothing"])
    batches = forever(loader)
    for step in range(1, p["steps"] + 1):
        for group in opt.param_groups:
            group["lr"] = p["lr"] * rate(step)
        xb, yb = next(batches)
        opt.zero_grad()
        parts = list(zip(xb.split(p["micro"]), yb.split(p["micro"]))) if p["micro"] else [(xb, yb)]
        for xm, ym in parts:
            loss = criterion(model(xm), ym) / len(parts)
            (scaler.scale(loss) if scaler else loss).backward()
        if p["clip"]:
            nn.utils.clip_grad_norm_(model.parameters(), p["clip"])
        if scaler:
            scaler.step(opt)
            scaler.update()
        else:
            opt.step()
        with torch.no_grad():
            for kept, now in zip(average.parameters(), model.parameters()):
                kept.mul_(0.9).add_(now, alpha=0.1)
        if step == 10:
            model.eval()
            with torch.no_grad():
                model(xe)
            model.train()
    shown = average if p["ema"] else model
    shown.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=p["eval_bf16"]):
        out = shown(xe).float()
    result = {"accuracy": (out.argmax(1) == ye).double().mean().item()}
    with open(os.path.join(p["out"], "metrics.json"), "w") as f:
        json.dump(result, f)


if __name__ == "__main__":
    main()
