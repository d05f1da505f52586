"""Runs inside a container of the base image: an empty environment, installs, bytecode. Python 3.6 and later.

Bytecode comes out the same each time: hash seed 0, one process a group with its files in order, no file times
(from 3.7 on), the final path as the file's name. Before 3.11 a set of constants that holds None is written in
the order of addresses: a file with one gets no bytecode.
"""

import concurrent.futures
import json
import os
import py_compile
import subprocess
import sys
from typing import Any, Dict, List

WORK = "/opt/repro-work"
ENV = "/opt/env"


def make_environment(calls: List[List[str]]) -> None:
    """`/opt/env` as the Dockerfile makes it; then each call of pip."""
    subprocess.check_call(["python3", "-m", "venv", ENV])
    for words in calls:
        subprocess.check_call([ENV + "/bin/python", "-m", "pip", "--isolated", *words], cwd=WORK)


def of_environment() -> List[str]:
    """Python files of the environment itself, below its `lib`."""
    found = []
    for folder, _folders, names in os.walk(ENV + "/lib"):
        if "/site-packages/pip" not in folder:  # which no training imports
            found += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    return sorted(found)


def compile_group(number: int) -> None:
    """Compile one group in this process; -1 is the environment's own."""
    if number < 0:  # apart: a wheel may hold another version of what `venv` has brought
        pairs, place = [(path, path) for path in of_environment()], WORK + "/own"
    else:
        pairs = [(WORK + "/in/" + name, "/" + name) for name in plan()["groups"][number]]
        place = WORK + "/out"
    for source, path in pairs:
        compile_one(source, path, place)


def compile_one(source: str, path: str, place: str) -> None:
    """Write `path`'s bytecode below `place`; a file that is no valid Python of this version gets none."""
    folder, name = os.path.split(path)
    tag = sys.implementation.cache_tag
    target = "%s%s/__pycache__/%s.%s.pyc" % (place, folder, name[:-3], tag)
    if sys.version_info < (3, 11) and is_unsteady(source, path):
        return
    options = {"doraise": True}  # type: Dict[str, Any]
    if sys.version_info >= (3, 7):
        options["invalidation_mode"] = py_compile.PycInvalidationMode.UNCHECKED_HASH
    try:
        py_compile.compile(source, target, path, **options)
    except Exception:  # whatever a broken file brings up: an import of it would fail as well
        return


def is_unsteady(source: str, path: str) -> bool:
    """Whether some set of constants in a file has an order that changes from process to process."""
    try:
        with open(source, "rb") as f:
            return holds_unsteady(compile(f.read(), path, "exec", dont_inherit=True))
    except Exception:
        return True


def holds_unsteady(constant: Any) -> bool:
    """Whether a constant is, or holds, a set with a member whose hash is an address."""
    if hasattr(constant, "co_consts"):
        return any(holds_unsteady(inner) for inner in constant.co_consts)
    if isinstance(constant, frozenset):
        return any(by_address(member) for member in constant)
    return isinstance(constant, tuple) and any(holds_unsteady(inner) for inner in constant)


def by_address(member: Any) -> bool:
    """Whether a member's hash comes from where it lies in memory."""
    if isinstance(member, tuple):
        return any(by_address(inner) for inner in member)
    return member is None or member is Ellipsis


def plan() -> Dict[str, Any]:
    """What is to be made."""
    with open(WORK + "/plan.json") as f:
        return dict(json.load(f))


def main() -> None:
    """Make the environment, and compile with as many processes as there are cores, at once."""
    if len(sys.argv) > 1:
        compile_group(int(sys.argv[1]))
        return
    wanted = plan()
    for name in ("out", "own"):
        os.makedirs(os.path.join(WORK, name), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [pool.submit(start_environment, wanted["pip"])] if wanted["environment"] else []
        jobs += [pool.submit(start, number) for number in range(len(wanted["groups"]))]
        for job in jobs:
            job.result()


def start_environment(calls: List[List[str]]) -> None:
    """The environment, and its own bytecode."""
    make_environment(calls)
    start(-1)


def start(number: int) -> None:
    """One group in a process of its own."""
    subprocess.check_call([sys.executable, "-s", os.path.abspath(__file__), str(number)])


if __name__ == "__main__":
    main()
