"""The tensor file: what goes in comes out, the format's own rules, and headers that lie."""

import json
import resource
import signal
import struct

import pytest

from repro.runtime.inside.state.tensorfile import TensorFile, TensorFileError, write

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

TYPES = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
    "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip


def names(folder):
    return [path.name for path in folder.iterdir()]


def bits(tensor):
    return tensor.contiguous().view(torch.uint8).flatten().tolist() if tensor.dim() else tensor.reshape(1)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_comes_back_bit_for_bit(tmp_path, name):
    raw = torch.randint(0, 2 if name == "bool" else 256, (6, 8), dtype=torch.uint8)
    tensor = raw.view(getattr(torch, name))
    write(
        torch, str(tmp_path / "t"), [("a", tensor), ("empty", tensor[:0]), ("turned", tensor.t())], {"k": "v"}
    )
    file = TensorFile(str(tmp_path / "t"))
    assert file.metadata == {"k": "v"}
    for key, wanted in (("a", tensor), ("empty", tensor[:0]), ("turned", tensor.t())):
        found = file.read(torch, key)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert bits(found) == bits(wanted.contiguous())


def test_numbers_without_dimension_and_complex_ones(tmp_path):
    pair = torch.tensor([1 + 2j, -3j])
    rows = [("n", torch.tensor(7)), ("f", torch.tensor(-0.0, dtype=torch.float64)), ("c", pair.conj())]
    write(torch, str(tmp_path / "t"), rows, {})
    file = TensorFile(str(tmp_path / "t"))
    assert file.read(torch, "n").item() == 7
    assert str(file.read(torch, "f").item()) == "-0.0"
    assert torch.view_as_complex(file.read(torch, "c")).tolist() == [1 - 2j, 3j]


def test_the_file_has_the_published_form(tmp_path):
    write(
        torch,
        str(tmp_path / "t"),
        [("w", torch.tensor([1.0, -2.0])), ("i", torch.tensor([3], dtype=torch.int16))],
        {"m": "é"},
    )
    data = (tmp_path / "t").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length]) == {
        "__metadata__": {"m": "é"},
        "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "i": {"dtype": "I16", "shape": [1], "data_offsets": [8, 10]},
    }
    assert data[8 + length :] == struct.pack("<ffh", 1.0, -2.0, 3)
    assert names(tmp_path) == ["t"]


def test_the_formats_own_library_reads_it(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    wanted = {"a": torch.rand(3, 4), "b": torch.rand(5).bfloat16(), "c": torch.tensor(True)}
    write(torch, str(tmp_path / "ours"), list(wanted.items()), {"k": "v"})
    found = library.load_file(tmp_path / "ours")
    assert all(torch.equal(found[k], wanted[k]) for k in wanted)
    library.save_file(wanted, tmp_path / "theirs")
    file = TensorFile(str(tmp_path / "theirs"))
    assert all(torch.equal(file.read(torch, k), wanted[k]) for k in wanted)


@pytest.mark.parametrize(
    "tensor", [torch.eye(2).to_sparse(), torch.empty(2, device="meta")], ids=["sparse", "meta"]
)
def test_a_tensor_without_elements_of_its_own_is_not_written(tmp_path, tensor):
    with pytest.raises(TensorFileError, match="has no plain elements"):
        write(torch, str(tmp_path / "t"), [("a", tensor)], {})
    assert names(tmp_path) == []


def test_a_failed_write_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "t"
    write(torch, str(path), [("a", torch.ones(2))], {})
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(torch, str(path), [("a", torch.ones(10000))], {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["t"]


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


LIES = {
    "not a table": [],
    "unknown type": {"a": entry("F33")},
    "negative shape": {"a": entry(shape=(-2, -1))},
    "true as a size": {"a": {"dtype": "F32", "shape": [True, 2], "data_offsets": [0, 8]}},
    "size of another shape": {"a": entry(shape=(3,))},
    "shape beyond memory": {"a": entry(shape=(1 << 62, 1 << 62))},
    "offset beyond the file": {"a": entry(shape=(1 << 40,), offsets=(0, 1 << 42))},
    "overlap": {"a": entry(), "b": entry(shape=(1,), offsets=(4, 8))},
    "gap": {"a": entry(shape=(1,), offsets=(4, 8))},
    "too little": {"a": entry(shape=(1,), offsets=(0, 4))},
    "no offsets": {"a": {"dtype": "F32", "shape": [2]}},
    "list as a type": {"a": entry(dtype=["F32"])},
    "metadata of numbers": {"a": entry(), "__metadata__": {"k": 1}},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(tmp_path, lie):
    text = json.dumps(LIES[lie]).encode()
    (tmp_path / "t").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 8)
    with pytest.raises(TensorFileError, match="t`"):
        TensorFile(str(tmp_path / "t"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 1 << 63) + b"{}",
        struct.pack("<Q", 2) + b"{",
        struct.pack("<Q", 12) + b'{"a":1,"a":2',
        struct.pack("<Q", 20000) + b"[" * 20000,
        struct.pack("<Q", 4) + b"\xff\xfe{}",
        struct.pack("<Q", 13) + b'{"a":1,"a":2}',
    ],
)
def test_what_is_no_header_is_refused(tmp_path, data):
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(TensorFileError, match="t`"):
        TensorFile(str(tmp_path / "t"))


def test_a_file_cut_after_it_was_opened_is_told(tmp_path):
    path = tmp_path / "t"
    write(torch, str(path), [("a", torch.ones(100))], {})
    file = TensorFile(str(path))
    with path.open("r+b") as cut:
        cut.truncate(path.stat().st_size - 4)
    with pytest.raises(TensorFileError, match="ends within `a`"):
        file.read(torch, "a")


def test_other_byte_order(tmp_path, monkeypatch):
    from repro.runtime.inside.state import tensorfile

    monkeypatch.setattr(tensorfile.sys, "byteorder", "big")
    write(torch, str(tmp_path / "t"), [("a", torch.tensor([1, 256], dtype=torch.int32))], {})
    found = TensorFile(str(tmp_path / "t")).read(torch, "a")
    monkeypatch.undo()
    assert found.tolist() == [1, 256]
    assert (tmp_path / "t").read_bytes()[-8:] == struct.pack(">ii", 1, 256)
