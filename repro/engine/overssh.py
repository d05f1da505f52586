"""An engine of another machine as a socket of this one: `ssh` does the rest, with the user's own settings.

The SDK's own way starts an `ssh` for each request, which takes half a second of login, and drops it unclosed
(docker SDK 7.2, transport/sshconn.py). Here a socket in a private folder hands each connection to
`ssh HOST docker system dial-stdio`, and all of them share one login (ControlMaster, ssh_config(5)).
"""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

# Ctrl-C is meant for this tool, which then ends what runs over there: `ssh` must live on for that.
_DEAF = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
_PERSIST = 20


class Tunnel:
    """A socket here that leads to the engine at `ssh://user@host:port`; `url` is what the SDK takes."""

    def __init__(self, address: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="repro-ssh-"))
        self._words = [*_shared(self._folder), *_target(address)]
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self._folder / "engine.sock"))
        self._server.listen()
        self._started: list[subprocess.Popen[bytes]] = []
        self.url = f"unix://{self._folder / 'engine.sock'}"
        threading.Thread(target=self._serve, daemon=True).start()

    def said(self) -> str:
        """What `ssh` has complained of, its last lines."""
        with contextlib.suppress(OSError):
            return "\n".join((self._folder / "said").read_text("utf-8", "replace").strip().splitlines()[-3:])
        return ""

    def close(self) -> None:
        """End it, with all connections and the login that they shared."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._server.close()
        for process in self._started:
            process.terminate()
            process.wait()
        bye = ["ssh", "-O", "exit", *self._words[:-1]]
        with contextlib.suppress(OSError):
            subprocess.run(bye, capture_output=True, check=False, timeout=10)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self) -> None:
        with (self._folder / "said").open("ab") as said:
            while True:
                try:
                    connection, _peer = self._server.accept()
                except OSError:
                    return  # closed
                with connection:
                    self._hand_over(connection, said.fileno())

    def _hand_over(self, connection: socket.socket, said: int) -> None:
        """The connection becomes the program's standard input and output: nobody has to copy bytes."""
        self._started = [process for process in self._started if process.poll() is None]
        argv = [*_DEAF, "ssh", *self._words]
        end = connection.fileno()
        with contextlib.suppress(OSError):  # no `ssh`: the SDK sees a connection that ends at once
            self._started.append(subprocess.Popen(argv, stdin=end, stdout=end, stderr=said))


def _shared(folder: Path) -> list[str]:
    options = {"ControlMaster": "auto", "ControlPath": str(folder / "login"), "ControlPersist": str(_PERSIST)}
    return [word for key, value in options.items() for word in ("-o", f"{key}={value}")]


def _target(address: str) -> list[str]:
    parts = urlsplit(address)
    user = ["-l", parts.username] if parts.username else []
    port = ["-p", str(parts.port)] if parts.port else []
    return [*user, *port, "-T", "--", parts.hostname or "", "docker system dial-stdio"]
