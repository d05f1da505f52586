"""Cards that are not there: what NVIDIA's toolkit does for an engine, done by stand-ins.

A hook by the name of the toolkit's is put on the engine's PATH, and CDI devices are described in its
folder of specifications. Both give a container a stand-in for NVML, and a file for each card.
"""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
HOOK = """#!/bin/sh
# Called by runc as the toolkit's own hook is: the container's state on standard input.
bundle=$(sed -n 's/.*"bundle": *"\\([^"]*\\)".*/\\1/p')
grep -o '"NVIDIA_[A-Z_]*=[^"]*"' "$bundle/config.json" | tr -d '"' >@/hook.env
if [ -s @/hook.says ]; then cat @/hook.says >&2; exit 1; fi
root=$(sed -n 's/.*"root":{"path":"\\([^"]*\\)".*/\\1/p' "$bundle/config.json")
[ -n "$root" ] || { echo "no root in the container's configuration" >&2; exit 1; }
mkdir -p "$root/opt/cards"
cp @/libnvidia-ml.so.1 "$root/usr/lib/x86_64-linux-gnu/"
for number in $(cat @/hook.gives); do : >"$root/opt/cards/$number"; done
"""


def uuid(number: int) -> str:
    """What the stand-in for NVML says of a card."""
    return f"GPU-0000000{number}-0000-0000-0000-000000000000"


class Cards:
    """The stand-ins of one private engine, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self) -> None:
        """Put library and hook in place, before the engine starts."""
        library = self.folder / "libnvidia-ml.so.1"
        words = [
            "gcc",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            str(library),
            str(HERE / "nvml_standin.c"),
        ]
        subprocess.run(words, check=True)
        hook = self.folder / "bin" / "nvidia-container-runtime-hook"
        hook.write_text(HOOK.replace("@", str(self.folder)))
        hook.chmod(0o755)
        self.gives(0, 1)
        self.refuses("")

    def gives(self, *numbers: int) -> None:
        """The cards that the hook attaches, whatever it is asked for."""
        (self.folder / "hook.gives").write_text(" ".join(map(str, numbers)))

    def refuses(self, text: str) -> None:
        """What the hook says as it fails; empty for a hook that does its work."""
        (self.folder / "hook.says").write_text(text)

    def asked(self) -> dict[str, str]:
        """The NVIDIA_* variables that the hook was last called with."""
        lines = (self.folder / "hook.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def describe(self, *numbers: int) -> None:
        """Describe CDI devices: by index, by UUID, and all of them; none takes the description away."""
        spec = self.folder / "etc" / "cdi" / "nvidia.json"
        if not numbers:
            spec.unlink(missing_ok=True)
            return
        devices = [_device(name, self.folder, [n]) for n in numbers for name in (str(n), uuid(n))]
        devices.append(_device("all", self.folder, list(numbers)))
        spec.write_text(json.dumps({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices}))


def _device(name: str, folder: Path, numbers: list[int]) -> dict[str, object]:
    library = _mount(folder / "libnvidia-ml.so.1", LIBRARY)
    files = [_mount(folder / "hook.gives", f"/opt/cards/{n}") for n in numbers]
    nodes = [{"path": f"/dev/nvidia{n}", "hostPath": "/dev/null"} for n in numbers]
    return {"name": name, "containerEdits": {"deviceNodes": nodes, "mounts": [library, *files]}}


def _mount(source: Path, inside: str) -> dict[str, object]:
    return {"hostPath": str(source), "containerPath": inside, "options": ["ro", "bind"]}
