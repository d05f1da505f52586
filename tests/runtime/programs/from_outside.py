"""Takes in files, a folder, variables and a module of its own, then trains two steps."""

import os
import sys

import own_features
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
names = os.listdir("scans")
with open("words.txt", encoding="utf-8") as f:
    words = f.read()
with open(sys.argv[1], encoding="utf-8") as f:
    f.read()
os.environ.get("AUG_LEVEL"), os.getenv("WHERE_TO"), os.environ.get("SITE_PASSWORD")
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.25), torch.nn.Linear(4, 1))
data = TensorDataset(torch.ones(8, 3) * own_features.SCALE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (rows,) in DataLoader(data, batch_size=4, shuffle=True):
    optimizer.zero_grad()
    model(rows).pow(2).mean().backward()
    optimizer.step()
with open("later.txt", encoding="utf-8") as f:
    f.read()
