"""Training on several ranks: a model in DistributedDataParallel, each rank with generators of its own."""

import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(int(sys.argv[1]) + rank)
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
draw = torch.Generator().manual_seed(rank)
for _ in range(200):
    optimizer.zero_grad()
    model(torch.rand(8, 4, generator=draw)).pow(2).mean().backward()
    optimizer.step()
