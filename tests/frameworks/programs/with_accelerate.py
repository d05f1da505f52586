"""An ordinary accelerate loop with gradient accumulation and a scheduler."""

import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(out):
    set_seed(3)
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
    x = torch.randn(128, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4)
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for _ in range(2):
        for inputs, wanted in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(inputs), wanted)
                accelerator.backward(loss)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    torch.save(
        {"model": accelerator.unwrap_model(model).state_dict(), "rng": torch.get_rng_state()}, out + "/end.pt"
    )


main(sys.argv[1])
