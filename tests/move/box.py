"""This machine as another one: an sshd of a test's own, which the SDK reaches as it reaches any host."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def ssh_box(folder: Path, monkeypatch: pytest.MonkeyPatch, engine: str = "") -> Iterator[str]:
    """An engine's address `ssh://user@127.0.0.1:PORT`; keys and settings lie in `folder` alone.

    `engine` is the socket that whoever logs in is given, this machine's own without one.
    """
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    assert sshd is not None, "tests that use this bear the marker `ssh`"
    port = _free_port()
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    public = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {public}")
    (folder / "sshd.conf").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/key.pub\n"
        f"StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nSetEnv PATH={os.environ['PATH']}"
        + (f" DOCKER_HOST={engine}\n" if engine else "\n")
    )
    (folder / "ssh.conf").write_text(
        f"Host *\n  IdentityFile {folder}/key\n  UserKnownHostsFile {folder}/known\n  IdentitiesOnly yes\n"
    )
    _put_before(folder / "bin", monkeypatch, folder / "ssh.conf")
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "sshd.conf"], stdout=log, stderr=log)
    try:
        _await(port, folder / "sshd.log")
        yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _put_before(folder: Path, monkeypatch: pytest.MonkeyPatch, config: Path) -> None:
    """An `ssh` on PATH that takes its settings from here."""
    folder.mkdir()
    (folder / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def _await(port: int, log: Path) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text())
