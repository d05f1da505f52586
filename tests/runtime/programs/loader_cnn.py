"""A seeded CNN with all that holds state: dropout, batch norm, a shuffling loader, workers, checkpoints.

usage: loader_cnn.py OUT WORKERS EPOCHS [RESUME]
"""

import os
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def main(out, workers, epochs, resume=""):
    torch.manual_seed(3)
    x = torch.rand(96, 1, 8, 8)
    y = (x.mean((1, 2, 3)) > 0.5).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, num_workers=int(workers))
    held = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=16)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Dropout(0.2), torch.nn.Linear(512, 2),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first = 0
    if resume:
        state = torch.load(resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        first = state["epoch"]
    for epoch in range(first, int(epochs)):
        for a, b in loader:
            loss = torch.nn.functional.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(a).argmax(1) == b).sum().item() for a, b in held)
        model.train()
        print("epoch %d right %d" % (epoch, right), flush=True)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1,
                 "rng": torch.get_rng_state()}  # fmt: skip
        path = os.path.join(out, "epoch%d.pt" % (epoch + 1))
        torch.save(state, path + ".tmp")
        os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
