"""Trainings that begin in different ways; prints a digest of all it ends with.

usage: start.py WAY SEED [STEPS]
"""

import copy
import hashlib
import random
import sys

import torch

WAY, SEED, STEPS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3] if len(sys.argv) > 3 else 12)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, 8, padding_idx=0)
        self.body = torch.nn.Sequential(
            torch.nn.Linear(8, 16),
            torch.nn.BatchNorm1d(16),
            torch.nn.ReLU(inplace=True),
            torch.nn.Dropout(0.1),
        )
        self.head = torch.nn.Linear(16, 10, bias=False)
        self.last = torch.nn.Linear(16, 10, bias=False)
        self.last.weight = self.head.weight

    def forward(self, words, scale=None):
        hidden = self.body(self.embed(words))
        return {"logits": (self.head(hidden), self.last(hidden * (1 if scale is None else scale)))}


def loss_of(model, x, y):
    a, b = model(x, scale=torch.ones(1))["logits"]
    return torch.nn.functional.cross_entropy(a, y) + torch.nn.functional.cross_entropy(b, y.flip(0))


def batches():
    draw = torch.Generator().manual_seed(5)
    for _ in range(STEPS):
        yield (torch.randint(0, 10, (12,), generator=draw), torch.randint(0, 10, (12,), generator=draw))


def plain(model):
    return torch.optim.Adam(model.parameters(), lr=0.01)


def ema(model):
    twin = copy.deepcopy(model)
    kept = [p.detach().clone() for p in model.parameters()]
    optimizer = plain(model)
    model.extras = (Holder(twin), kept)
    return optimizer


class Holder:
    """Not a module: what it holds is no part of the model."""

    def __init__(self, twin):
        self.twin = twin


def checked(model):
    """A look at the untrained model, then a file that replaces its weights."""
    optimizer = plain(model)
    model.eval()
    with torch.no_grad():
        model(torch.arange(10))
    model.train()
    torch.save({k: v * 0.5 if v.is_floating_point() else v for k, v in model.state_dict().items()}, "half.pt")
    model.load_state_dict(torch.load("half.pt"))
    return optimizer


def resumed(model):
    optimizer = plain(model)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    state = optimizer.state_dict()
    state["state"] = {
        0: {"step": torch.tensor(3.0), "exp_avg": torch.zeros(10, 8), "exp_avg_sq": torch.ones(10, 8)}
    }
    optimizer.load_state_dict(state)
    optimizer.zero_grad()
    return optimizer


def lbfgs(model):
    return torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3, history_size=4)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(model, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if WAY == "scaler" else None
    for number, (x, y) in enumerate(batches()):

        def closure(x=x, y=y):
            optimizer.zero_grad()
            loss = loss_of(model, x, y)
            loss.backward()
            return loss

        if WAY == "lbfgs":
            optimizer.step(closure)
        elif scaler is not None:
            optimizer.zero_grad()
            scaler.scale(loss_of(model, x, y)).backward()
            if number == 2:
                model.head.weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        else:
            closure()
            optimizer.step()
        if WAY == "ema":
            for mean, p in zip(model.extras[1], model.parameters()):  # noqa: B905 (an old Python)
                mean.mul_(0.9).add_(p.detach(), alpha=0.1)
        random.random()  # noqa: S311


def digest(model, optimizer):
    found = hashlib.sha256()
    tensors = list(model.state_dict().values()) + list(getattr(model, "extras", ((), ()))[1])
    states = [v for p in model.parameters() for _, v in sorted(optimizer.state.get(p, {}).items())]
    for tensor in tensors + [v for v in states if hasattr(v, "numpy")]:
        found.update(tensor.detach().contiguous().numpy().tobytes())
    found.update(torch.get_rng_state().numpy().tobytes() + repr(random.getstate()).encode())
    return found.hexdigest()


def main():
    torch.manual_seed(SEED)
    random.seed(SEED)
    model = Net()
    optimizer = globals().get(WAY, plain)(model)
    train(model, optimizer)
    if WAY == "ema":
        print("twin", sum(p.double().sum().item() for p in model.extras[0].twin.parameters()).hex())
    print("digest", digest(model, optimizer), flush=True)


main()
