"""Seeds NumPy after the second step, never touches Python's generator."""

import numpy as np
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    if step == 2:
        np.random.seed(0)
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
