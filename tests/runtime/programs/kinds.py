"""One network with modules of many kinds, called in many ways; prints a digest of its weights.

usage: kinds.py [compiled]
"""

import contextlib
import dataclasses
import hashlib
import sys
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint


@dataclasses.dataclass
class Output:
    scores: torch.Tensor
    extra: Any = None


class Moody(torch.nn.Module):
    """Raises within a call, as a module may that is tried and given up."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(6, 6)

    def forward(self, x):
        self.inner(x)
        raise ValueError("not today")


class Kinds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 8, 3, groups=2, padding=1)
        self.group = torch.nn.GroupNorm(2, 8)
        self.act = torch.nn.ReLU(inplace=True)
        self.pool = torch.nn.AvgPool2d(2)
        self.again = torch.nn.Sequential(torch.nn.Linear(8 * 4, 6), torch.nn.Dropout(0.5))
        self.norm = torch.nn.LayerNorm(6)
        self.attend = torch.nn.MultiheadAttention(6, 2)
        self.scaled = torch.nn.utils.spectral_norm(torch.nn.Linear(6, 6))
        self.moody = Moody()
        self.soft = torch.nn.Softmax(dim=-1)

    def forward(self, x, *, mask=None):
        x = self.pool(self.act(self.group(self.conv(x))))
        x = checkpoint(self.again, x.flatten(1), use_reentrant=False)
        x = self.norm(x)[None]
        x, weights = self.attend(x, x, x, need_weights=True)
        x = self.scaled(x[0])
        with contextlib.suppress(ValueError):
            x = self.moody(x)
        return Output(scores=x if mask is None else x * mask, extra={"soft": self.soft(x), "w": [weights]})


def main(way=""):
    torch.manual_seed(0)
    model, teacher = Kinds(), torch.nn.Linear(4 * 16, 6).eval()
    criterion = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if way == "compiled":
        model.again = torch.compile(model.again, backend="eager")
        model.pool.compile(backend="eager")
    for _ in range(4):
        optimizer.zero_grad()
        for _micro in range(2):
            x = torch.rand(5, 4, 4, 4)
            with torch.no_grad():
                wanted = teacher(x.flatten(1))
            criterion(model(x, mask=torch.ones(6)).scores, wanted).backward()
        optimizer.step()
    data = b"".join(t.detach().contiguous().numpy().tobytes() for t in model.state_dict().values())
    print("digest", hashlib.sha256(data).hexdigest(), len(model.conv._forward_hooks), flush=True)


main(*sys.argv[1:])
