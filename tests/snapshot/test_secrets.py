"""Credentials are found by name and by content, named with their place, and never shown."""

from typing import Any

import pytest

from repro.errors import ReproError
from repro.snapshot.secrets import in_content, is_secret_file

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"
KEY_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
# Put together here, so that this file holds none.
TOKENS = {
    "Hugging Face token": "hf_" + LETTERS[:34],
    "GitHub token": "ghp_" + LETTERS[:36],
    "GitLab token": "glpat-" + LETTERS[:20],
    "AWS key id": "AKIA" + "Q3EGRIAX5YYN2BCD",
    "API key": "sk-proj-" + LETTERS[:40],
    "Slack token": "xoxb-" + "123456789012-" + LETTERS[:24],
    "Google API key": "AIza" + LETTERS[:35],
    "private key": "-----BEGIN RSA PRIVATE " + "KEY-----\n" + KEY_BODY + "\n",
    "value of a secret variable": "WANDB_API_KEY=" + "0123456789abcdef" * 2,
    "password in an address": "https://build-bot:not-a-real-" + "secret@packages.example.invalid/simple",
}


@pytest.mark.parametrize(
    "name",
    [
        ".env", "deploy/.env.production", "prod.env", "id_rsa", "keys/id_ed25519", ".netrc",
        ".aws/credentials",
        "kaggle.json", "server.p12", ".git-credentials", "service-account-1.json", ".streamlit/secrets.toml",
    ],
)  # fmt: skip
def test_names_of_files_for_credentials(name: str) -> None:
    assert is_secret_file(name)


@pytest.mark.parametrize(
    "name",
    [
        ".env.example", "deploy/.env.sample", ".env.template", "example.env", "environment.yml", "env.py",
        "id_rsa.pub", "cert.pem", "src/secrets.py", "venv.txt", ".envrc", "token.txt",
    ],
)  # fmt: skip
def test_names_that_only_look_similar(name: str) -> None:
    assert not is_secret_file(name)


@pytest.mark.parametrize("kind", TOKENS)
def test_each_kind_of_token_is_refused_by_place_and_not_shown(repo: Any, kind: str) -> None:
    repo.write("conf/settings.cfg", f"# one\n# two\nvalue = {TOKENS[kind]}\n")
    repo.commit()
    with pytest.raises(ReproError) as caught:
        repo.take()
    problem = caught.value
    assert problem.code == "snapshot-secret"
    assert len(problem.found) == 1
    assert problem.found[0].startswith(f"conf/settings.cfg:3: {kind}")
    assert "@" not in TOKENS[kind] or problem.found[0].endswith("https://****@packages.example.invalid")
    text = str(problem.document())
    assert TOKENS[kind].split("@")[0][-12:] not in text
    assert KEY_BODY not in text
    taken = repo.take(include=["conf/settings.cfg"])
    assert "conf/settings.cfg:3" in taken.texts("secret-kept")


@pytest.mark.parametrize(
    "text",
    [
        "hf_hub_download_and_cache_everything_please()",
        "sk-estimator-doc-link-fitted-button-label-text-long",
        "token = os.environ['HF_TOKEN']", "HF_TOKEN=", "WANDB_API_KEY=${WANDB_API_KEY}",
        "OPENAI_API_KEY: <your-key>",
        "git+ssh://git@example.invalid/lab/tool.git",
        "https://${USER}:${PASS}@mirror.example.invalid/simple",
        'if "-----BEGIN PRIVATE KEY-----" in text:', "AKIAIOSFODNN7EXAMPLE", "http://localhost:8080/a@b",
        "HF_TOKEN=config.settings.huggingface_token_name_v2(", "postgres://user:password@localhost/db",
    ],
)  # fmt: skip
def test_what_is_no_credential(text: str) -> None:
    assert in_content("train.py", text.encode()) == []


@pytest.mark.parametrize("password", ["%40dmin1", "$ecret", "hunter2"])
def test_passwords_that_begin_like_placeholders(password: str) -> None:
    line = f"--index-url https://ci:{password}@mirror.example.invalid/simple"
    assert [h.line for h in in_content("requirements.txt", line.encode())] == [1]


def test_tracked_file_for_credentials_cannot_be_named(repo: Any) -> None:
    repo.write(".env", "A=1\n")
    repo.commit()
    with pytest.raises(ReproError, match="1 credential would be packed") as caught:
        repo.take()
    assert caught.value.found == (".env: file for credentials",)
    with pytest.raises(ReproError) as again:
        repo.take(include=[".env"])
    assert again.value.code == "snapshot-include"


def test_removed_credentials_do_not_travel_in_the_patch(repo: Any) -> None:
    repo.write("conf.cfg", TOKENS["GitHub token"] + "\n")
    repo.commit()
    repo.write("conf.cfg", "clean\n")
    with pytest.raises(ReproError) as caught:
        repo.take(allow_dirty=True)
    assert caught.value.found[0].startswith("dirty.patch:")


def test_remote_address_with_a_token_is_said_masked(repo: Any) -> None:
    token = TOKENS["GitHub token"]
    repo.git("remote", "add", "origin", f"https://me:{token}@example.invalid/lab/tool.git")
    taken = repo.take()
    assert "****@example.invalid" in taken.texts("secret-in-git-config")
    assert token not in (taken.into / "snapshot.json").read_text()


def test_untracked_token_is_refused_with_allow_dirty(repo: Any) -> None:
    repo.write("notes.txt", TOKENS["Hugging Face token"])
    with pytest.raises(ReproError) as caught:
        repo.take(allow_dirty=True)
    assert caught.value.found == ("notes.txt:1: Hugging Face token",)


# Put together here, so that this file holds none.
SETTINGS = {
    "conf/db.yaml": "  pass" + "word: N0t-a-Real-One\n",
    "wandb/settings": "api_" + "key = " + "0123456789abcdef" * 2 + "01234567\n",
    "log.py": "wandb.login(" + 'key="' + "0123456789abcdef" * 2 + '01234567")\n',
    "kaggle.txt": '{"username": "lab", "' + 'key": "' + "0123456789abcdef" * 2 + '"}\n',
    "demo.ipynb": '"client_' + 'secret = \\"' + "a1b2c3d4e5f6g7h8i9j0" + '\\"\\n"\n',
}
HARMLESS = {
    "conf/a.yaml": "api_key: ${oc.env:KEY}\npassword: changeme123\nsecret_key_path: conf/key1.pem\n",
    "b.py": "def f(password='default_value1'): pass\napi_key = os.environ['KEY1']\n",
    "c.md": "password: hunter2-really-1\n",
    ".env.example": "HF_TOKEN=hf_" + "x" * 34 + "\n",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_with_telling_names_are_found(name: str) -> None:
    assert [h.line for h in in_content(name, SETTINGS[name].encode())] == [1]


@pytest.mark.parametrize("name", HARMLESS)
def test_samples_and_references_are_no_credentials(name: str) -> None:
    assert in_content(name, HARMLESS[name].encode()) == []


def test_removed_settings_do_not_travel_in_the_patch(repo: Any) -> None:
    """What a line means depends on its file, and a patch is none of settings."""
    repo.write("conf/db.yaml", "a: 1\n" + SETTINGS["conf/db.yaml"])
    repo.write("notes.md", HARMLESS["c.md"])
    repo.commit()
    repo.write("conf/db.yaml", "a: 1\n")
    repo.write("notes.md", "\n")
    with pytest.raises(ReproError) as caught:
        repo.take(allow_dirty=True)
    [found] = caught.value.found
    assert found.startswith("dirty.patch:")
    assert found.endswith("value of a secret setting")
    assert "N0t-a" not in str(caught.value.document())
