"""Train a small CNN on 8x8 digits. Runs in seconds on a CPU.

Works with torch 1.7 to 2.14 and Python 3.6 or newer. Nothing here knows about
any tracing tool: it is an ordinary training script with a checkpoint, a
resume path and an evaluation that writes one row an example.
"""
import argparse
import csv
import json
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(nn.Module):
    def __init__(self, width, dropout):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(2 * width * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def load(name):
    """Images [n, 1, 8, 8] float32 in 0..1 and labels [n] int64."""
    d = np.load(os.path.join(HERE, *name.split("/")))
    return torch.from_numpy(d["x"].astype("float32") / 16)[:, None], torch.from_numpy(d["y"].astype("int64"))


def evaluate(model, x, y, device, batch=150):
    model.eval()
    logits = []
    with torch.no_grad():
        for i in range(0, len(x), batch):
            logits.append(model(x[i:i + batch].to(device)).float().cpu())
    model.train()
    logits = torch.cat(logits)
    loss = F.cross_entropy(logits, y).item()
    pred = logits.argmax(1)
    return loss, (pred == y).float().mean().item(), pred, logits


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
    set_seed(p["seed"])
    xt, yt = load("data/train.npz")
    xe, ye = load("eval/digits.npz")
    loader = DataLoader(TensorDataset(xt, yt), batch_size=p["micro_batch"], shuffle=True, drop_last=True)

    model = Net(p["width"], p["dropout"]).to(device)
    opt = torch.optim.SGD(model.parameters(), lr=p["lr"], momentum=0.9, weight_decay=5e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=p["epochs"])
    start, step = 0, 0
    if args.resume:
        ck = torch.load(args.resume, map_location=device)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["optimizer"])
        sched.load_state_dict(ck["scheduler"])
        torch.set_rng_state(ck["rng"].cpu())
        if device == "cuda":
            torch.cuda.set_rng_state_all([r.cpu() for r in ck["cuda_rng"]])
        start, step = ck["epoch"], ck["step"]

    for epoch in range(start, p["epochs"]):
        for i, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x.to(device)), y.to(device)) / p["accumulate"]
            loss.backward()
            if (i + 1) % p["accumulate"] == 0:
                opt.step()
                opt.zero_grad()
                step += 1
        sched.step()
        ev_loss, ev_acc, pred, logits = evaluate(model, xe, ye, device)
        print("epoch %d step %d loss %.4f eval_loss %.4f eval_acc %.4f"
              % (epoch, step, loss.item() * p["accumulate"], ev_loss, ev_acc), flush=True)
        torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(),
                    "scheduler": sched.state_dict(), "rng": torch.get_rng_state(),
                    "cuda_rng": torch.cuda.get_rng_state_all() if device == "cuda" else [],
                    "epoch": epoch + 1, "step": step},
                   os.path.join(args.out, "ckpt_step%06d.pt" % step))

    with open(os.path.join(args.out, "eval.csv"), "w") as f:
        w = csv.writer(f)
        w.writerow(["id", "label", "prediction", "correct", "loss"])
        per = F.cross_entropy(logits, ye, reduction="none")
        for i in range(len(ye)):
            w.writerow([i, int(ye[i]), int(pred[i]), int(pred[i] == ye[i]), repr(float(per[i]))])
    with open(os.path.join(args.out, "metrics.json"), "w") as f:
        json.dump({"eval_loss": ev_loss, "eval_acc": ev_acc, "steps": step, "params": p}, f, indent=1)


if __name__ == "__main__":
    main()
