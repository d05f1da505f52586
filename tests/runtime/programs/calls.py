"""Calls of a model in every way, told by the word given; prints what a reader of the trace can check."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
x, y = torch.randn(16, 6), torch.arange(16) % 3


class Net(nn.Module):
    """Exact arithmetic on small whole numbers: micro-batches give the same bits."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
        self.norm = nn.BatchNorm1d(3)
        for weight in self.body.parameters():
            weight.data = (weight.data * 8).round()

    def forward(self, rows):
        return self.body(rows)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
whole = (x * 4).round()


def step(rows=8, times=1):
    optimizer.zero_grad()
    for part in range(times):
        size = rows // times
        out = model(whole[part * size : (part + 1) * size])
        (out.sum() / rows).backward()
    optimizer.step()


def micro(times):
    for _ in range(3):
        step(8, int(times))


def evaluate():
    step()
    with torch.no_grad():
        model.eval()
        model(whole)
        step_free = model(whole[:4])
    step()
    with torch.no_grad():
        # One part was left behind in training mode.
        model.norm.train()
        out = model(whole[:4])
    step()
    with torch.no_grad():
        model.eval()
        model(whole)
        model.train()
        out = model(whole[:6])
    best = out.topk(2)[0]
    print(out.argmax(1).tolist(), [(a - b).item() for a, b in best], step_free.shape[0], flush=True)


def traced():
    """Others that follow what happens to tensors must not see ours."""
    step()
    graph = torch.fx.symbolic_trace(model)
    print(len(list(graph.graph.nodes)), [n.op for n in graph.graph.nodes], flush=True)
    print(torch.jit.trace(model, whole).graph, flush=True)
    jacobian = torch.func.vmap(torch.func.grad(lambda row: model(row).sum()))(whole)
    print(jacobian.sum().item().hex(), flush=True)
    step()
    script = torch.jit.script(nn.Sequential(nn.Linear(6, 3)))
    own = torch.optim.SGD(script.parameters(), lr=0.1)
    script(whole).sum().backward()
    own.step()
    with torch.no_grad():
        print(script(whole).sum().item().hex(), flush=True)


{"micro": micro, "evaluate": evaluate, "traced": traced}[sys.argv[1]](*sys.argv[2:])
