"""Two ranks on one machine, started by torchrun: DistributedDataParallel over gloo."""

import sys

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel


def main(out):
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    torch.manual_seed(3)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    drawn = torch.Generator().manual_seed(rank)
    for _ in range(16):
        inputs = torch.randn(4, 8, generator=drawn)
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        torch.save({"model": model.module.state_dict(), "rng": torch.get_rng_state()}, out + "/end.pt")
    distributed.destroy_process_group()


main(sys.argv[1])
