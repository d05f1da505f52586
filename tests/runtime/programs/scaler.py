"""Gradient scaling on the CPU; the third step meets an infinity and is left out."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(6):
    optimizer.zero_grad()
    loss = model(torch.rand(8, 4)).pow(2).mean()
    print("loss", loss.item().hex(), flush=True)
    scaler.scale(loss).backward()
    if step == 2:
        model.weight.grad[0, 0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
