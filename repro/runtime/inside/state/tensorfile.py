"""Tensors in a file: the safetensors format, with the standard library and the program's torch only.

Eight bytes of length (little-endian), a JSON header, raw little-endian elements without gaps. A file
comes from elsewhere: nothing in its header is believed before it fits the file's size. Tensors go
through one by one, so that no more than one of them is on the host besides the program's own.
"""

import array
import ctypes
import json
import os
import struct
import sys

from ...files import sync_folder

# As the format's own library has it; a header of 100 000 tensors takes a tenth of this.
LARGEST_HEADER = 100000000
PIECE = 1 << 24
# Name in the file, name in torch, bytes an element.
TYPES = (
    ("F64", "float64", 8), ("F32", "float32", 4), ("F16", "float16", 2), ("BF16", "bfloat16", 2),
    ("I64", "int64", 8), ("I32", "int32", 4), ("I16", "int16", 2), ("I8", "int8", 1), ("U8", "uint8", 1),
    ("U64", "uint64", 8), ("U32", "uint32", 4), ("U16", "uint16", 2), ("BOOL", "bool", 1),
    ("F8_E4M3", "float8_e4m3fn", 1), ("F8_E5M2", "float8_e5m2", 1),
)  # fmt: skip
CODES = {code: (name, width) for code, name, width in TYPES}
NAMES = {name: code for code, name, _ in TYPES}
SWAPPED = {2: "H", 4: "I", 8: "Q"}


class TensorFileError(Exception):
    """A file that is not of the format, or a tensor that it cannot hold."""


def type_name(tensor):
    """Name of a tensor's element type: `float32`."""
    return str(tensor.dtype).replace("torch.", "")


def real(torch, tensor):
    """The tensor detached, a complex one as pairs of reals; TensorFileError where there are none."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.device.type == "meta" or tensor.is_quantized:
        kind = "quantized" if tensor.is_quantized else str(tensor.layout)
        raise TensorFileError("a tensor that is %s on %s has no plain elements" % (kind, tensor.device.type))
    if hasattr(tensor, "_local_tensor"):
        raise TensorFileError("a tensor that is spread over several processes")
    if getattr(tensor, "is_complex", bool)():
        tensor = torch.view_as_real(getattr(tensor, "resolve_conj", lambda: tensor)())
    tensor = getattr(tensor, "resolve_neg", lambda: tensor)()
    if type_name(tensor) not in NAMES:
        raise TensorFileError("a tensor of type %s" % type_name(tensor))
    return tensor


def memory(tensor):
    """The bytes of a contiguous tensor on the host, to be read or written while the tensor is kept."""
    size = tensor.numel() * tensor.element_size()
    if not size:
        return memoryview(bytearray())
    return memoryview((ctypes.c_ubyte * size).from_address(tensor.data_ptr())).cast("B")


def on_host(tensor):
    """The tensor itself if it is contiguous on the host, else a copy there."""
    return tensor.detach().cpu().contiguous()


def write(torch, path, tensors, metadata):
    """Write (name, tensor) pairs and a dictionary of texts: whole and on the disk, or not at all."""
    header, rows, offset = {"__metadata__": metadata}, [], 0
    for name, tensor in tensors:
        tensor = real(torch, tensor)
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": NAMES[type_name(tensor)],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        rows.append(tensor)
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    aside = "%s.%d.part" % (path, os.getpid())
    try:
        with open(aside, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in rows:
                _write_elements(file, on_host(tensor))
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        if os.path.exists(aside):
            os.unlink(aside)
    sync_folder(os.path.dirname(path) or ".")


def _write_elements(file, host):
    view = memory(host)
    for first in range(0, len(view), PIECE):
        piece = view[first : first + PIECE]
        file.write(_little_endian(piece, host.element_size()))


def _little_endian(piece, width):
    """Elements in the file's byte order from this machine's, or the other way round."""
    if sys.byteorder == "little" or width == 1:
        return piece
    swapped = array.array(SWAPPED[width], bytes(piece))
    swapped.byteswap()
    return swapped.tobytes()


class TensorFile:
    """A file opened for reading: `metadata`, and `rows` by name; nothing else is in memory.

    A row is (type's name, shape, offset of its first byte in the file).
    """

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= min(LARGEST_HEADER, size - 8):
                raise TensorFileError("`%s` is no safetensors file: its header's length is wrong" % path)
            header = _json(path, file.read(length))
        self.metadata = header.pop("__metadata__", None) or {}
        if not isinstance(self.metadata, dict) or not all(isinstance(v, str) for v in self.metadata.values()):
            raise TensorFileError("`%s`: its metadata is not a table of texts" % path)
        self.rows = _rows(path, header, 8 + length, size)

    def read(self, torch, name):
        """The tensor of that name, on the host."""
        kind, shape, offset = self.rows[name]
        dtype = getattr(torch, kind, None)
        if dtype is None:
            raise TensorFileError("`%s`: this torch has no type %s" % (self.path, kind))
        tensor = torch.empty(shape, dtype=dtype, device="cpu")
        view = memory(tensor)
        with open(self.path, "rb") as file:
            file.seek(offset)
            for first in range(0, len(view), PIECE):
                piece = view[first : first + PIECE]
                if file.readinto(piece) != len(piece):
                    raise TensorFileError("`%s` ends within `%s`" % (self.path, name))
                if sys.byteorder == "big":
                    piece[:] = _little_endian(piece, tensor.element_size())
        return tensor


def _json(path, text):
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as problem:
        raise TensorFileError("`%s`: its header is no JSON: %s" % (path, problem)) from None
    if not isinstance(header, dict):
        raise TensorFileError("`%s`: its header is not a table" % path)
    return header


def _no_twins(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in it")
    return found


def _rows(path, header, start, size):
    """Rows by name; the tensors lie one after another and fill the file."""
    rows, places = {}, []
    for name, entry in header.items():
        try:
            kind, width = CODES[entry["dtype"]]
            shape, (first, end) = entry["shape"], entry["data_offsets"]
            count = width
            for extent in shape + [first, end]:
                if type(extent) is not int or extent < 0:
                    raise ValueError(extent)
            for extent in shape:
                count *= extent
        except (KeyError, TypeError, ValueError):
            raise TensorFileError("`%s`: the entry `%.80s` cannot be read" % (path, name)) from None
        if end - first != count:
            raise TensorFileError("`%s`: `%.80s` has another size than its shape" % (path, name))
        rows[name] = (kind, shape, start + first)
        places.append((first, end))
    at = 0
    for first, end in sorted(places):
        if first != at:
            raise TensorFileError("`%s`: its tensors overlap or leave a gap" % path)
        at = end
    if start + at != size:
        raise TensorFileError("`%s` holds %d bytes, its header says %d" % (path, size, start + at))
    return rows
