"""A plain training loop of a small perceptron, run in blocks when told to, for bench_record.py.

usage: bench_loop.py WIDTH BATCH LAYOUT ASK TELL [WATCH FOLDER]

Takes as many steps as each line in the pipe ASK says, and writes their seconds of CPU and of the clock
into the pipe TELL. LAYOUT seeds blocks of memory laid between the tensors: where they lie changes
the speed of such a loop by more than is to be measured. WATCH `tensorboard` writes each weight's and
gradient's histogram and the loss at every step, as its tutorials do.
"""

import random
import sys
import time
from collections.abc import Callable

import torch

LARGEST_PAD = 1 << 18


def watcher(model: torch.nn.Module, folder: str) -> Callable[[int, torch.Tensor], None]:
    """What a user of TensorBoard calls after each step."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)

    def watch(step: int, loss: torch.Tensor) -> None:
        writer.add_scalar("loss", loss.item(), step)
        for name, weight in model.named_parameters():
            writer.add_histogram(name, weight, step)
            writer.add_histogram(name + ".grad", weight.grad, step)

    return watch


def perceptron(width: int, layout: random.Random, pads: list[torch.Tensor]) -> torch.nn.Sequential:
    """The model, with a block of a random size before each of its layers."""
    layers: list[torch.nn.Module] = []
    for inputs, outputs in ((64, width), (width, width), (width, 10)):
        pads.append(torch.empty(layout.randrange(1, LARGEST_PAD), dtype=torch.uint8))
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def main(width: int, batch: int, layout: int, ask: str, tell: str, folder: str) -> None:
    """Train block by block."""
    torch.manual_seed(0)
    x, y = torch.randn(4096, 64), torch.randint(10, (4096,))
    pads: list[torch.Tensor] = []
    model = perceptron(width, random.Random(layout), pads)  # noqa: S311 (no secret)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    watch = watcher(model, folder) if folder else None
    with open(ask) as turns, open(tell, "w", buffering=1) as told:
        done = 0
        for line in turns:
            wall, cpu = time.perf_counter(), time.process_time()
            for step in range(done, done + int(line)):
                rows = torch.randint(len(x), (batch,))
                loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if watch:
                    watch(step, loss)
            done += int(line)
            told.write(f"{time.process_time() - cpu!r} {time.perf_counter() - wall!r}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:6], folder=sys.argv[7] if len(sys.argv) > 7 else "")
