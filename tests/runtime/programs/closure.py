"""LBFGS: the loss is evaluated several times inside one step."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
x, y = torch.rand(16, 4), torch.rand(16, 1)
calls = []


def closure():
    optimizer.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    calls.append(loss.item())
    return loss


for _ in range(3):
    optimizer.step(closure)
    print("calls", len(calls), "sum", sum(calls).hex(), flush=True)
    del calls[:]
