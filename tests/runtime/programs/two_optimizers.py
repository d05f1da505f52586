"""Two networks against one another, and afterwards a third training in the same process."""

import torch


def duel():
    torch.manual_seed(0)
    maker, judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    a = torch.optim.Adam(judge.parameters(), lr=0.01)
    b = torch.optim.SGD(maker.parameters(), lr=0.01)
    for _ in range(5):
        a.zero_grad()
        (judge(torch.rand(8, 4)) - 1).pow(2).mean().backward()
        judge(maker(torch.rand(8, 2)).detach()).pow(2).mean().backward()
        a.step()
        b.zero_grad()
        (judge(maker(torch.rand(8, 2))) - 1).pow(2).mean().backward()
        b.step()


def alone():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()


duel()
alone()
