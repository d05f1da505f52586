"""A plain training loop of a small perceptron; prints what its steps took, for bench_record.py.

usage: bench_loop.py WIDTH BATCH STEPS [WATCH FOLDER]

WATCH `tensorboard` writes each weight's and gradient's histogram and the loss at every step, as its
tutorials do.
"""

import json
import sys
import time

import torch


def watcher(model: torch.nn.Module, folder: str):
    """What a user of TensorBoard calls after each step."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)

    def watch(step: int, loss: torch.Tensor) -> None:
        writer.add_scalar("loss", loss.item(), step)
        for name, weight in model.named_parameters():
            writer.add_histogram(name, weight, step)
            writer.add_histogram(name + ".grad", weight.grad, step)

    return watch


def main(width: int, batch: int, steps: int, folder: str) -> None:
    """Train, and print the seconds of wall clock and of this process's CPUs that the steps took."""
    torch.manual_seed(0)
    x, y = torch.randn(4096, 64), torch.randint(10, (4096,))
    model = torch.nn.Sequential(
        torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
        torch.nn.Linear(width, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    watch = watcher(model, folder) if folder else None
    wall, cpu = time.perf_counter(), time.process_time()
    for step in range(steps):
        rows = torch.randint(len(x), (batch,))
        loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if watch:
            watch(step, loss)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), folder=sys.argv[5] if len(sys.argv) > 5 else "")
