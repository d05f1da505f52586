"""A compiled model; prints how often dynamo compiled a frame and how often it broke a graph."""

import torch
import torch._dynamo
from torch._dynamo.utils import counters

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
fast = torch.compile(model, backend="eager")
for _ in range(6):
    optimizer.zero_grad()
    fast(torch.rand(4, 8)).pow(2).mean().backward()
    optimizer.step()
stats = counters["stats"]
print("compiled", stats["unique_graphs"], "breaks", sum(counters["graph_break"].values()), flush=True)
print("weights", sum(p.double().sum().item() for p in model.parameters()).hex(), flush=True)
