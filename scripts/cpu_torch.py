"""Say where a CPU build of torch comes from and how large it is; with --install, install it here.

Looks first at what pip is configured to see (a local folder, a mirror), then at PyTorch's own
CPU index. With --index, prints only the extra index that is needed, which may be nothing.
"""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def wanted() -> str:
    """The torch version that the worked examples pin."""
    text = (ROOT / "bundles" / "digits-cnn" / "requirements.in").read_text()
    return re.search(r"^torch==(\S+)", text, re.MULTILINE).group(1)  # type: ignore[union-attr]


def offered(version: str, *options: str) -> str | None:
    """Address of the CPU build that pip would take with these options, or None."""
    argv = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--ignore-installed",
        "--no-deps",
        "--report",
        "-",
    ]
    said = subprocess.run(
        [*argv, *options, f"torch=={version}+cpu"], capture_output=True, text=True, check=False
    )
    if said.returncode:
        return None
    return json.loads(said.stdout)["install"][0]["download_info"]["url"]


def num_bytes(url: str) -> int:
    """Size of the file behind an address, 0 when it does not say."""
    if url.startswith("file:"):
        return Path(unquote(urlsplit(url).path)).stat().st_size
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=30) as answer:  # noqa: S310
        return int(answer.headers.get("Content-Length", 0))


def main() -> int:
    """Find, say, install."""
    version = wanted()
    for options in ((), ("--extra-index-url", CPU_INDEX)):
        url = offered(version, *options)
        if url:
            break
    else:
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        print(
            f"torch: no index that pip sees offers a CPU build of {version} for Python {python};",
            file=sys.stderr,
        )
        print("       a CUDA build takes several GB and is not installed unasked", file=sys.stderr)
        return 1
    where = "a local folder" if url.startswith("file:") else "an index"
    print(f"torch {version}, CPU build: {num_bytes(url) / 1e6:.0f} MB from {where}", file=sys.stderr)
    if "--index" in sys.argv:
        print(*options[1:])
    if "--install" in sys.argv:
        argv = [sys.executable, "-m", "pip", "install", "--quiet", *options, f"torch=={version}+cpu", "numpy"]
        return subprocess.run(argv, check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
