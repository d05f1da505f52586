"""The packed evaluation set: which files, where they lie in the bundle and where the program expects them."""

import os

from .files import read_json


class EvalFile:
    """One file as `eval.json` names it: `path` in the bundle, size in bytes and hex SHA-256."""

    def __init__(self, name, path, size, sha256):
        self.name = name
        self.path = path
        self.bytes = size
        self.sha256 = sha256


def eval_files(bundle):
    """The files that `eval.json` lists; an empty list when the bundle has no evaluation set."""
    document = read_json(os.path.join(bundle, "eval.json"), {}) or {}
    top = os.path.join(bundle, "eval")
    found = []
    for entry in document.get("files", []):
        choices = [
            os.path.join(top, entry["path"]),
            os.path.join(top, document.get("path", ""), entry["path"]),
        ]
        path = next((p for p in choices if os.path.lexists(p)), choices[0])
        found.append(EvalFile(entry["path"], path, entry["bytes"], entry["sha256"]))
    return found


def placed(bundle, eval_path):
    """Pairs of a packed file (or link) and its place relative to the program's folder.

    Below `eval/` files may lie at their paths in the project, or relative to `eval_path`.
    """
    top = os.path.join(bundle, "eval")
    if not eval_path or not os.path.isdir(top):
        return []
    files = []
    for root, folders, names in os.walk(top):
        links = [n for n in folders if os.path.islink(os.path.join(root, n))]
        files += [os.path.join(root, n) for n in names + links]
    relative = {path: os.path.relpath(path, top) for path in files}
    if os.path.lexists(os.path.join(top, eval_path)):
        prefix = ""
    elif list(relative.values()) == [os.path.basename(eval_path)]:
        prefix = os.path.dirname(eval_path)
    else:
        prefix = eval_path
    return [(path, os.path.join(prefix, name)) for path, name in sorted(relative.items())]
