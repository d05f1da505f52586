"""The program's working folder: laid fresh for each attempt, cleaned of unchanged code afterwards."""

import os
import shutil
import tarfile

from .evalset import placed
from .options import UsageError


class WorkFolder:
    """`work/` of an attempt: the packed code, the evaluation set at its path, links for mounts."""

    def __init__(self, bundle, spec, path):
        self.bundle = bundle
        self.path = path
        self.cwd = os.path.join(path, spec.get("subfolder") or "")
        self.eval_path = spec.get("eval_path") or ""
        self.params_path = spec.get("params_path") or ""
        self.laid = {}

    def lay(self, mounts, params_file=""):
        """Make the folder; a mount whose name the code already uses is a usage problem.

        The parameter file also goes where the project has it: not every program takes its path.
        """
        _lay_code(self.bundle, self.path)
        if not os.path.isdir(self.cwd):
            raise UsageError("the packed code has no folder `%s`" % os.path.relpath(self.cwd, self.path))
        self._lay_eval()
        if params_file and self.params_path:
            _put(params_file, os.path.join(self.cwd, self.params_path))
        for name, target in mounts:
            _link(self.cwd, name, target)
        self.laid = dict(_files(self.path))

    def eval_file(self):
        """Where the program finds the evaluation set, empty when there is none."""
        return os.path.join(self.cwd, self.eval_path) if self.eval_path else ""

    def _lay_eval(self):
        for source, relative in placed(self.bundle, self.eval_path):
            _put(source, os.path.join(self.cwd, relative))

    def clean(self):
        """Remove what is as it was laid; what the program wrote or changed stays."""
        for path, state in _files(self.path):
            if self.laid.get(path) == state:
                os.unlink(path)
        for root, _, _ in os.walk(self.path, topdown=False):
            try:
                os.rmdir(root)
            except OSError:
                continue


def _put(source, target):
    """Copy a file, or a link as a link, over whatever the code has there."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        os.unlink(target)
    shutil.copy2(source, target, follow_symlinks=False)
    if not os.path.islink(target):
        os.chmod(target, os.stat(target).st_mode | 0o600)


def _files(top):
    for root, folders, names in os.walk(top):
        links = [f for f in folders if os.path.islink(os.path.join(root, f))]
        for name in names + links:
            path = os.path.join(root, name)
            state = os.lstat(path)
            yield path, (state.st_size, state.st_mtime_ns, state.st_ino)


def _lay_code(bundle, target):
    code, tar = os.path.join(bundle, "code"), os.path.join(bundle, "code.tar")
    if os.path.isdir(code):
        shutil.copytree(code, target, symlinks=True)
        _make_writable(target)
    elif os.path.isfile(tar):
        os.mkdir(target)
        _unpack(tar, target)
    else:
        raise UsageError("`%s` is no bundle: it has neither code/ nor code.tar" % bundle)


def _make_writable(top):
    """Copies of a read-only image's files must not stop the program from writing beside them."""
    for root, _, names in os.walk(top):
        os.chmod(root, os.stat(root).st_mode | 0o700)
        for name in names:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode | 0o600)


def _unpack(tar, target):
    """Unpack members below `code/`; nothing may land outside `target`."""
    with tarfile.open(tar) as archive:
        for member in archive:
            parts = member.name.split("/")
            if (
                parts[0] != "code"
                or ".." in parts
                or not (member.isfile() or member.isdir() or member.issym())
            ):
                continue
            member.name = "/".join(parts[1:])
            if member.name and not _leads_out(target, member.name):
                member.mode |= 0o700 if member.isdir() else 0o600
                archive.extract(member, target, set_attrs=not member.issym())


def _leads_out(target, name):
    inside = os.path.realpath(target)
    parent = os.path.realpath(os.path.join(target, os.path.dirname(name)))
    return parent != inside and not parent.startswith(inside + os.sep)


def _link(cwd, name, target):
    path = os.path.normpath(os.path.join(cwd, name))
    if os.path.isabs(name) or not path.startswith(cwd.rstrip(os.sep) + os.sep):
        raise UsageError("--mount %s: the name must lie inside the working folder" % name)
    if not os.path.exists(target):
        raise UsageError("--mount %s=%s: there is no such file or folder" % (name, target))
    if os.path.lexists(path):
        raise UsageError("--mount %s: the packed code has a file or folder of that name" % name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(os.path.abspath(target), path)
