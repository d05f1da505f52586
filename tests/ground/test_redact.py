import pytest

from repro import redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://bot:hunter2@host.invalid/simple", "hunter2"),
        ("see https://ghp_abcdef@host.invalid/x.git now", "ghp_abcdef"),
        ("WANDB_API_KEY=0123456789abcdef", "0123456789abcdef"),
        ("password: swordfish", "swordfish"),
        ("--set api-token=zzz9", "zzz9"),
        ("image `bot:hunter2@registry.invalid/base:1` is not held here", "hunter2"),
    ],
)
def test_no_secret_survives(text: str, secret: str) -> None:
    masked = redact.text(text)
    assert secret not in masked
    assert redact.MASK in masked


def test_plain_text_is_left_alone() -> None:
    text = "torch==2.13.0 from https://host.invalid/whl/cpu, lr = 0.1"
    assert redact.text(text) == text
    assert redact.has_login("https://a:b@host.invalid")
    assert not redact.has_login(text)


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer: gpt2", "TOKENIZERS_PARALLELISM=false", "python:3.10@sha256:0123",
        "at 12:30 by a@host.invalid", "registry.invalid:5000/python:3.10@sha256:0123",
        "git@host.invalid:lab/tool.git",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_login_is_left_alone(text: str) -> None:
    assert redact.text(text) == text


def test_values_of_variables() -> None:
    assert redact.setting("HF_TOKEN", "swordfish") == redact.MASK
    assert redact.setting("OMP_NUM_THREADS", "4") == "4"
    assert redact.setting("PROXY", "http://me:swordfish@host.invalid") == "http://****@host.invalid"
