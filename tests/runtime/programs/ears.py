"""Trains two steps, then tells whether anybody of ours still listens to audit events in Python code."""

import gc
import json
import operator

import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 3)).pow(2).mean().backward()
    optimizer.step()
ears = [type(thing) for thing in gc.get_objects() if type(thing).__name__ == "Ear"]
print(json.dumps([ear.__call__ is operator.is_ for ear in ears]))
