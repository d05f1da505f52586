"""Whether a file's content is what its suffix promises."""

import csv
import gzip
import json
import os
import zipfile
import zlib

MAGIC = {
    ".npz": (b"PK\x03\x04", b"PK\x05\x06"),
    ".zip": (b"PK\x03\x04", b"PK\x05\x06"),
    ".npy": (b"\x93NUMPY",),
    ".pt": (b"PK\x03\x04", b"\x80"),
    ".pth": (b"PK\x03\x04", b"\x80"),
    ".png": (b"\x89PNG\r\n\x1a\n",),
    ".jpg": (b"\xff\xd8\xff",),
    ".jpeg": (b"\xff\xd8\xff",),
    ".gz": (b"\x1f\x8b",),
    ".parquet": (b"PAR1",),
}


def problem_of(path):
    """What is wrong with the file, in a few words; the empty text when nothing was found."""
    if os.path.getsize(path) == 0:
        return "is empty"
    suffix = os.path.splitext(path)[1].lower()
    wrong = _wrong_magic(path, suffix)
    if wrong or suffix not in READERS:
        return wrong
    try:
        return READERS[suffix](path) or ""
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, csv.Error) as problem:
        return "cannot be read as %s: %s" % (suffix[1:], problem)


def _wrong_magic(path, suffix):
    if suffix not in MAGIC:
        return ""
    with open(path, "rb") as f:
        head = f.read(16)
    if head.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the data"
    return "" if head.startswith(MAGIC[suffix]) else "does not begin like a %s file" % suffix[1:]


def _zip(path):
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    return "its member %s is damaged" % damaged if damaged else ""


def _maybe_zip(path):
    return _zip(path) if zipfile.is_zipfile(path) else ""


def _gzip(path):
    with gzip.open(path) as f:
        while f.read(1 << 20):
            pass


def _json(path):
    with open(path, encoding="utf-8-sig") as f:
        json.load(f)


def _jsonl(path):
    with open(path, encoding="utf-8-sig") as f:
        for number, line in enumerate(f, 1):
            try:
                line.strip() and json.loads(line)
            except ValueError as problem:
                return "line %d is no JSON: %s" % (number, problem)
    return ""


def _table(delimiter):
    def check(path):
        with open(path, encoding="utf-8-sig", newline="") as f:
            first = 0
            for row in csv.reader(f, delimiter=delimiter):
                first = first or len(row)
                if row and len(row) != first:
                    return "a row has %d columns, the first one %d" % (len(row), first)
        return ""

    return check


READERS = {
    ".npz": _zip,
    ".zip": _zip,
    ".pt": _maybe_zip,
    ".pth": _maybe_zip,
    ".gz": _gzip,
    ".json": _json,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _table(","),
    ".tsv": _table("\t"),
}
