"""Optimizer state put back: the same objects where there are some, new ones where none are, refusals."""

import copy
from types import SimpleNamespace

import pytest

from repro.runtime.inside.bits.fingerprint import Fingerprints
from repro.runtime.inside.bits.randomness import RandomStates
from repro.runtime.inside.record.layout import Layout
from repro.runtime.inside.state import generators
from repro.runtime.inside.state.saved import State, UnfitError, save
from repro.runtime.inside.state.tensorfile import TensorFile, TensorFileError, write

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

MAKERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "amsgrad": lambda p: torch.optim.AdamW(p, lr=0.1, amsgrad=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "plain sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "rprop": lambda p: torch.optim.Rprop(p, lr=0.1),
    "asgd": lambda p: torch.optim.ASGD(p, lr=0.1),
    "adafactor": lambda p: torch.optim.Adafactor(p, lr=0.1),
    "lbfgs": lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3, history_size=2),
}


def training(kind, steps=3):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 2))
    one = SimpleNamespace(model=model, optimizer=MAKERS[kind](model.parameters()))
    for number in range(steps):
        step(one, number)
    return one


def step(one, number):
    x = torch.rand(6, 4, generator=torch.Generator().manual_seed(number))

    def closure():
        one.optimizer.zero_grad()
        loss = one.model(x).pow(2).mean()
        loss.backward()
        return loss

    one.optimizer.step(closure)


def keep(one, path):
    journal = SimpleNamespace(torch=torch, prints=Fingerprints(torch), random=RandomStates(torch))
    with torch.no_grad():
        save(journal, Layout(torch, [one.optimizer]), str(path), 3)
    return str(path)


def put(one, path):
    layout = Layout(torch, [one.optimizer])
    kept = State(torch, path)
    with torch.no_grad():
        kept.check(layout)
        return kept.put_all(layout)


def everything(one):
    return copy.deepcopy((dict(one.model.state_dict()), one.optimizer.state_dict()["state"]))


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("behind", [0, 2, 5])
def test_a_training_goes_on_as_the_one_that_was_kept(tmp_path, kind, behind):
    kept = training(kind)
    path = keep(kept, tmp_path / "state")
    other = training(kind, behind)
    put(other, path)
    assert equal(everything(other), everything(kept))
    for number in range(3, 6):
        step(kept, number)
        step(other, number)
    assert equal(everything(other), everything(kept))


def test_tensors_that_are_there_stay_the_same_objects(tmp_path):
    path = keep(training("adam"), tmp_path / "state")
    other = training("adam", 1)
    entry = other.optimizer.state[other.model[0].weight]
    moments = entry["exp_avg"]
    put(other, path)
    assert other.optimizer.state[other.model[0].weight] is entry
    assert entry["exp_avg"] is moments
    assert entry["step"].item() == 3


@pytest.mark.parametrize("here", [7, 7.0, torch.tensor(7.0)])
def test_a_count_of_steps_may_be_a_number_or_a_tensor(tmp_path, here):
    path = keep(training("adam"), tmp_path / "state")
    other = training("adam", 1)
    for entry in other.optimizer.state.values():
        entry["step"] = copy.copy(here)
    put(other, path)
    found = other.optimizer.state[other.model[0].weight]["step"]
    assert type(found) is type(here)
    assert float(found) == 3


def test_state_of_another_shape_or_kind_is_refused_and_nothing_is_touched(tmp_path):
    path = keep(training("adam"), tmp_path / "state")
    other = training("amsgrad", 1)
    other.optimizer.state[other.model[0].weight]["exp_avg"] = torch.ones(2)
    before = everything(other)
    with pytest.raises(UnfitError) as told:
        put(other, path)
    text = str(told.value)
    assert "optimizer 0 for `0.weight`: the program keeps `max_exp_avg_sq`, the file does not" in text
    assert "`0.weight`, `exp_avg`: the file has float32 [5, 4], the program float32 [2]" in text
    assert equal(everything(other), before)


def test_state_that_only_the_program_has_is_refused(tmp_path):
    path = keep(training("adam", 0), tmp_path / "state")
    with pytest.raises(
        UnfitError, match=r"keeps exp_avg, exp_avg_sq, step for `0\.weight`, the file nothing"
    ):
        put(training("adam", 1), path)


def test_one_weight_in_two_optimizers(tmp_path):
    def pair(steps):
        one = training("sgd", 0)
        one.second = torch.optim.Adam(one.model.parameters(), lr=0.01)
        for number in range(steps):
            step(one, number)
            one.second.step()
        return one

    kept, other = pair(3), pair(1)
    journal = SimpleNamespace(torch=torch, prints=Fingerprints(torch), random=RandomStates(torch))
    with torch.no_grad():
        save(journal, Layout(torch, [kept.optimizer, kept.second]), str(tmp_path / "s"), 3)
        file = State(torch, str(tmp_path / "s"))
        assert {"s.0.momentum_buffer", "s.0.opt1.exp_avg"} <= set(file.file.rows)
        file.put_all(Layout(torch, [other.optimizer, other.second]))
    assert equal(other.second.state_dict()["state"], kept.second.state_dict()["state"])
    assert equal(everything(other), everything(kept))


@pytest.mark.parametrize(
    "text", ["{", "[[0]]", '[[0,0,{"t":"none"}]]', '[[9,0,{"v":1}]]', '[[0,0,{"d":[1]}]]', '[["0",0,{}]]']
)
def test_a_description_that_lies_is_refused(tmp_path, text):
    kept = training("adam")
    file = TensorFile(keep(kept, tmp_path / "state"))
    rows = [(name, file.read(torch, name)) for name in file.rows]
    write(torch, str(tmp_path / "bad"), rows, dict(file.metadata, state=text))
    with pytest.raises((TensorFileError, UnfitError)):
        put(training("adam"), str(tmp_path / "bad"))


@pytest.mark.parametrize(
    ("key", "value"), [("python", "[3,[1,2],null]"), ("python", "{"), ("numpy", '["X",[],0,0,"0x0p+0"]')]
)
def test_a_generator_state_that_lies_is_refused(tmp_path, key, value):
    import random

    pytest.importorskip("numpy.random")
    before = random.getstate()
    write(torch, str(tmp_path / "s"), generators.tensors(torch), {key: value})
    with pytest.raises(TensorFileError):
        generators.put_back(torch, TensorFile(str(tmp_path / "s")))
    assert random.getstate() == before


def test_generators_come_back(tmp_path):
    import random

    numpy = pytest.importorskip("numpy")
    random.gauss(0, 1)
    numpy.random.standard_normal()
    write(torch, str(tmp_path / "s"), generators.tensors(torch), generators.texts({"python", "numpy"}))

    def draw():
        return (
            random.gauss(0, 1),
            random.random(),  # noqa: S311
            numpy.random.standard_normal(),
            numpy.random.rand(),
            torch.rand(2).tolist(),
        )

    first = draw()
    assert generators.put_back(torch, TensorFile(str(tmp_path / "s"))) == []
    assert draw() == first


def test_a_torch_generator_of_another_size_is_refused(tmp_path):
    write(torch, str(tmp_path / "s"), [("rng.torch", torch.zeros(16, dtype=torch.uint8))], {})
    with pytest.raises(TensorFileError, match="holds 16 bytes"):
        generators.put_back(torch, TensorFile(str(tmp_path / "s")))
