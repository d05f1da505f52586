"""The loss becomes NaN at step 4."""

import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 7):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).sum()
    if step >= 4:
        loss = loss * float("nan")
    loss.backward()
    optimizer.step()
