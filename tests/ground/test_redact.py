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
