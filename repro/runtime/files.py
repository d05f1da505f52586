"""Files that are whole or absent: written aside, synced, renamed. Digests in pieces."""

import hashlib
import json
import os
import tempfile

PIECE = 1 << 20


def sha256_file(path):
    """Hex SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for piece in iter(lambda: f.read(PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def write_whole(path, data):
    """Replace `path` by the bytes `data`; a reader sees the old file or the new one, never a part."""
    folder = os.path.dirname(os.path.abspath(path))
    fd, name = tempfile.mkstemp(prefix="." + os.path.basename(path) + ".", dir=folder)
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        if os.path.exists(name):
            os.unlink(name)
        raise
    sync_folder(folder)


def sync_folder(path):
    """Make a rename inside `path` survive a power cut, where the file system can."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)


def write_json(path, document):
    """Write a JSON document whole: sorted keys, so that equal content is equal bytes."""
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False)
    write_whole(path, (text + "\n").encode("utf-8"))


def read_json(path, default=None):
    """The document in `path`, or `default` when there is no such file."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return default


def read_lines(path):
    """JSON objects of a JSON Lines file; a torn or damaged line is passed over."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as f:
        for line in f:
            try:
                record = json.loads(line.decode("utf-8"))
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def claim(path, source):
    """Give `source` the second name `path` unless that name is taken; True when it was free.

    A hard link appears at once and whole, also when two processes try; file systems without links
    get an exclusive new file.
    """
    try:
        os.link(source, path)
        return True
    except FileExistsError:
        return False
    except OSError:
        pass
    try:
        with open(source, "rb") as f, open(path, "xb") as g:
            g.write(f.read())
        return True
    except FileExistsError:
        return False
