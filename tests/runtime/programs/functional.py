"""Weights that are in no module, with gradients made before anything could be put in place."""

import torch

torch.manual_seed(0)
weight = torch.rand(4, 3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (torch.ones(2, 4) @ weight).sum().backward()
    optimizer.step()
    print("sum", weight.sum().item().hex(), flush=True)
