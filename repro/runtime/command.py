"""The words of the command as they are run: placeholders filled, `python` replaced."""

import hashlib
import os
import re
import shutil

from .files import sha256_file
from .options import UsageError

PLACEHOLDER = re.compile(r"\{(params|out|eval|checkpoint)\}")
PYTHON_WORDS = ("python", "python3")


def fill(words, places):
    """The words with their placeholders replaced; one without a value is a usage error."""

    def value(match):
        name = match.group(1)
        if not places.get(name):
            raise UsageError("the command has {%s}, and this run has no %s" % (name, MISSING[name]))
        return places[name]

    return [PLACEHOLDER.sub(value, word) for word in words]


MISSING = {
    "params": "parameter file",
    "out": "output folder",
    "eval": "evaluation set",
    "checkpoint": "checkpoint: give it by --mount checkpoint=FILE",
}


def with_python(words, interpreter):
    """The words with a leading `python` or `python3` replaced by the path of the interpreter."""
    return [interpreter] + list(words[1:]) if words[0] in PYTHON_WORDS else list(words)


def find_program(word, cwd, search):
    """Whether the first word can be started; a message for the user when not, else the empty text."""
    if os.sep in word:
        path = os.path.join(cwd, word)
        found = os.access(path, os.X_OK) and os.path.isfile(path)
    else:
        found = shutil.which(word, path=search) is not None
    return "" if found else "the command `%s` was not found" % word


def named_files(words, cwd):
    """SHA-256 of every regular file that a word of the command names, also as --option=FILE."""
    found = {}
    program = [] if os.path.basename(words[0]).startswith("python") else words[:1]
    for word in program + words[1:]:
        for name in (word, word.partition("=")[2]):
            path = os.path.join(cwd, name)
            if name and name not in found and os.path.isfile(path):
                try:
                    found[name] = sha256_file(path)
                except OSError:
                    continue
    return found


def digest_of(words):
    """A short name for a command, for run ids."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:8]
