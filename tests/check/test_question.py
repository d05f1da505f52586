"""Reading questions: torch from words, extras from words, targets, and what is refused."""

import json

import pytest

from repro.check import (
    plain_index,
    questions,
    read_question,
    stack_and_target,
    target_from_words,
    torch_from_table,
    torch_from_words,
)
from repro.check.words.extra import extra_from_words
from repro.check.words.surroundings import python_minor, targets_in
from repro.check.words.torch import read_index
from repro.errors import ReproError
from repro.model.check import Package

# words, index: maker, version, tag, CUDA
WORDS = [
    ("torch", "", "", "", "", ""),
    ("torch==2.1.2", "", "release", "2.1.2", "", ""),
    ("torch==2.1.2", "default", "release", "2.1.2", "cu121", "12.1"),
    ("1.12.1", "default", "release", "1.12.1", "cu102", "10.2"),
    ("pytorch 1.10", "default", "release", "1.10.0", "cu102", "10.2"),
    ("torch[opt] === 2.0.1", "default", "release", "2.0.1", "cu117", "11.7"),
    ("PyTorch 1.10.1 (CUDA 11.3)", "", "release", "1.10.1", "cu113", "11.3"),
    ("torch==1.13.1+cu117.with.pypi.cudnn", "", "release", "1.13.1", "cu117", "11.7"),
    ("torch==2.0.1", "pytorch-cpu", "release", "2.0.1", "cpu", ""),
    ("torch==1.9.0", "https://mirror.example.invalid/whl/cu111", "release", "1.9.0", "cu111", "11.1"),
    ("torch==2.7.0", "https://mirror.example.invalid/whl/nightly/cu128", "nightly", "2.7.0", "cu128", "12.8"),
    ("torch (CUDA 12.9 build)", "pytorch-cu129", "release", "", "cu129", "12.9"),
    ("torch (nightly, CUDA 12.4 build)", "pytorch-nightly-cu124", "nightly", "", "cu124", "12.4"),
    ("torch 2.1 release candidate, CUDA 12.1", "", "nightly", "2.1", "cu121", "12.1"),
    ("torch==2.7.0 (pre-release) +cu126", "pytorch-nightly-cu126", "nightly", "2.7.0", "cu126", "12.6"),
    ("torch==2.7.0.dev20250310+cu124", "", "nightly", "2.7.0.dev20250310", "cu124", "12.4"),
    ("torch (any CUDA 12 build)", "", "", "", "", "12"),
    ("torch (container, CUDA 12.1)", "", "vendor", "", "", "12.1"),
    ("torch 2.6 (vendor container, CUDA 12.4)", "", "vendor", "2.6", "", "12.4"),
    ("nvcr image 23.10 (torch 2.1, CUDA 12.2)", "", "vendor", "2.1", "", "12.2"),
    ("torch==2.3.0a0+6ddf5cf85e.nv24.4", "", "vendor", "2.3.0a0", "", ""),
    ("torch==1.4.0", "vendor image cu101", "vendor", "1.4.0", "cu101", "10.1"),
    ("torch 1.11.0 (compiled from source)", "", "source", "1.11.0", "", ""),
    ("torch==2.3.0a0+git1234567", "", "source", "2.3.0a0", "", ""),
    ("pytorch=1.8.1 cudatoolkit=11.1", "conda:pytorch", "conda", "1.8.1", "", "11.1"),
    ("pytorch==1.12.1 torchvision==0.13.1 cudatoolkit=11.3", "conda:pytorch", "conda", "1.12.1", "", "11.3"),
    ("pytorch=2.0.1 pytorch-cuda=11.8 python=3.10", "conda:pytorch", "conda", "2.0.1", "", "11.8"),
    ("pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0", "conda:pytorch", "conda", "2.1.0", "", "12.1"),
    ("pytorch=1.13.1 cpuonly", "conda:pytorch", "conda", "1.13.1", "cpu", ""),
    ("pytorch=1.12.1", "conda:conda-forge", "vendor", "1.12.1", "", ""),
    ("torch==2.9.0 ; python_version >= '3.10'", "default", "release", "2.9.0", "cu128", "12.8"),
]


@pytest.mark.parametrize(("words", "index", "make", "version", "tag", "cuda"), WORDS)
def test_torch_from_words(words, index, make, version, tag, cuda):
    torch = torch_from_words(words, index)
    assert (torch.make, torch.version, torch.tag, torch.cuda) == (make, version, tag, cuda)
    assert torch.asked == words


@pytest.mark.parametrize(
    ("words", "accepts"),
    [
        ("torch>=2.0,<2.2", ">=2.0,<2.2"),
        ("torch ~= 1.10", "~=1.10"),
        ("torch==2.*", "==2.*"),
        ("torch!=2.0.0", "!=2.0.0"),
    ],
)
def test_a_range_is_kept_and_names_no_version(words, accepts):
    torch = torch_from_words(words, "default")
    assert (torch.version, torch.accepts) == ("", accepts)
    assert torch.sass is None


def test_targets_come_from_the_table_where_it_has_the_build():
    torch = torch_from_words("torch==1.12.1", "default")
    assert torch.basis == "table"
    assert torch.sass == ["sm_37", "sm_50", "sm_60", "sm_70"]
    assert torch_from_words("torch==2.0.1+cu121").sass is None


def test_torch_from_table_for_a_lock():
    assert torch_from_table("1.13.1").tag == "cu117"
    assert torch_from_table("1.13.1", "default").cuda == "11.7"
    assert torch_from_table("1.13.1+cu116").sass == torch_from_table("1.13.1", "cu116").sass
    assert torch_from_table("1.13.1", "pytorch-cu116").tag == "cu116"
    assert torch_from_table("2.13.0+cpu").sass is None
    assert torch_from_table("99.1").basis == "unknown"


@pytest.mark.parametrize(
    ("words", "index"),
    [
        ("torch==1.12.1", "default"),
        ("torch==1.12.1+cu116", ""),
        ("torch (nightly)", ""),
        ("1.12.1", "default"),
    ],
)
def test_plain_index(words, index):
    assert plain_index(words) == index


def test_read_index():
    assert (read_index("").kind, read_index("PyPI").kind, read_index("my mirror").kind) == (
        "",
        "default",
        "other",
    )


EXTRAS = [
    ("prebuilt wheel", "wheel", "", "", None),
    ("wheel for torch 1.9.1+cu111", "wheel", "", "1.9.1+cu111", None),
    ("wheel cu113 torch1.11", "wheel", "", "1.11+cu113", None),
    ("wheel, code for sm_70 sm_80", "wheel", "", "", ["sm_70", "sm_80"]),
    ("compiled, nvcc 12.1", "source", "12.1", "", None),
    ("compiled with TORCH_CUDA_ARCH_LIST=8.0;9.0+PTX", "source", "", "", ["sm_80", "sm_90", "compute_90"]),
    ("CUDAExtension in third_party/, nvcc 11.5", "source", "11.5", "", None),
    ("operators compiled at first use, toolkit 11.3", "source", "11.3", "", None),
    ("", "", "", "", None),
]


@pytest.mark.parametrize(("how", "built", "nvcc", "for_torch", "archs"), EXTRAS)
def test_extra_from_words(how, built, nvcc, for_torch, archs):
    extra = extra_from_words(Package(name="x", version="1.0", how=how))
    assert (extra.built, extra.nvcc, extra.for_torch, extra.archs) == (built, nvcc, for_torch, archs)
    assert extra.how == how


def test_a_card_by_name_by_number_and_by_both():
    assert target_from_words("A100-80GB").capability == "8.0"
    assert target_from_words("sm_90").capability == "9.0"
    assert target_from_words("Some New Card (12.1)").capability == "12.1"
    assert target_from_words("Some New Card").capability == ""
    assert target_from_words("H100", "9.0").gpu == target_from_words("H100").gpu
    assert target_from_words().asked == ""


def test_a_capability_that_is_said_goes_before_the_table():
    odd = target_from_words("NVIDIA A100-SXM4-40GB", "9.0")
    assert (odd.capability, odd.gpu, odd.memory_bytes) == ("9.0", "", None)


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ({"driver": "latest"}, "target-driver", "latest"),
        ({"driver": "12.2"}, "target-driver", "looks like a CUDA version"),
        ({"driver_cuda": "twelve"}, "target-driver-cuda", "twelve"),
        ({"gpu": "X", "capability": "sm80"}, "target-capability", "sm80"),
    ],
)
def test_what_is_no_version_is_refused(target, code, said):
    with pytest.raises(ReproError) as raised:
        target_from_words(**target)
    assert raised.value.code == code
    assert raised.value.exit_status == 2
    assert said in raised.value.message
    assert raised.value.tries


@pytest.mark.parametrize(
    "document", [[], "x", 3, None, {"torch": {"spec": 3}}, {"extras": [{"version": "1"}]}, {"gpu": []}]
)
def test_a_wrong_document_is_refused(document):
    with pytest.raises(ReproError) as raised:
        read_question(document, "q.json")
    assert raised.value.code == "question-unreadable"
    assert "q.json" in raised.value.found[0]


@pytest.mark.parametrize("text", ["", "  \n", "{", '{"torch": "x"}\nnot json', "[" * 100_000])
def test_a_wrong_file_is_refused_with_its_line(text):
    with pytest.raises(ReproError) as raised:
        questions(text, "q.jsonl")
    assert raised.value.code == "question-unreadable"
    assert "q.jsonl" in raised.value.found[0]


def test_one_question_a_list_or_lines():
    one = {"torch": "torch==2.1.0", "gpu": "a100", "driver": 535}
    assert questions(json.dumps(one)) == questions(json.dumps([one])) == questions(f"{json.dumps(one)}\n")
    assert len(questions(f"{json.dumps(one)}\n\n{json.dumps({'input': one})}\n")) == 2
    assert questions(json.dumps(one))[0].driver == "535"


def test_the_whole_question_reaches_stack_and_target():
    question = read_question(
        {
            "python": "3.10.12",
            "platform": {"system": "Linux", "machine": "aarch64", "glibc": "2.28", "detail": "base image"},
            "torch": {"spec": "torch==2.8.0", "index": "pytorch-cu128"},
            "extras": [{"name": "flash-attn", "version": "2.5.8", "how": "prebuilt wheel"}],
            "gpu": {"name": "NVIDIA GH200", "cc": "9.0"},
            "driver": "570.124.06",
            "driver_cuda": "12.8",
            "precision": "bf16",
            "arch_list": "sm_80 sm_90 compute_90",
            "host_probe": {"nvidia_smi": "lists it", "cuda_init_error": 802},
        }
    )
    stack, target = stack_and_target(question)
    assert (stack.python, stack.system, stack.machine, stack.glibc) == ("3.10", "linux", "aarch64", "2.28")
    assert (stack.torch.sass, stack.torch.ptx, stack.torch.basis) == (
        ["sm_80", "sm_90"],
        ["compute_90"],
        "arch-list",
    )
    assert (stack.extras[0].name, stack.precision, stack.cuda_error) == ("flash-attn", "bf16", 802)
    assert (target.capability, target.driver, target.driver_cuda) == ("9.0", "570.124.06", "12.8")


def test_small_words():
    assert [python_minor(text) for text in ("3.10.12", "cp311", "python3.9", "3.13t", "x")] == [
        "3.10", "3.11", "3.9", "3.13t", "",
    ]  # fmt: skip
    assert targets_in("sm_80, 'sm_90a' compute_90 sm_80") == ["sm_80", "sm_90a", "compute_90"]
