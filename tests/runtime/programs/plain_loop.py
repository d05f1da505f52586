"""A plain loop without a DataLoader; writes its losses, exact, to the file named last."""

import json
import sys

import torch

STEPS, ACCUMULATE = 20, int(sys.argv[1])
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5)
generator = torch.Generator().manual_seed(1)
told = []
for _ in range(STEPS):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(ACCUMULATE):
        x = torch.randn(4, 8, generator=generator)
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean() / ACCUMULATE
        total += loss.item()
        loss.backward()
    gradients = torch.cat([p.grad.double().reshape(-1) for p in model.parameters()])
    optimizer.step()
    told.append({"loss": total, "gn": gradients.norm().item(), "lr": optimizer.param_groups[0]["lr"]})
    schedule.step()
with open(sys.argv[2], "w") as f:
    json.dump(told, f)
