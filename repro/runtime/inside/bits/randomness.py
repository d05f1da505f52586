"""Digests of the random generators' states, read without drawing a number."""

import ctypes
import struct
import sys
import zlib


class RandomStates:
    """CRC-32 of the states of torch, Python and NumPy, and of the CUDA generator of the state's device.

    Python and NumPy seed themselves from the system's entropy. So each is told of only once it is not
    as it was when torch was imported: a generator that the program neither seeds nor uses since then
    has no part in its results, and would differ in every run.
    """

    def __init__(self, torch):
        self.torch = torch
        self.numpy = None
        self.untouched = {"python": _python(), "numpy": None}

    def numpy_is_here(self):
        """NumPy's generator has just been made, or was there before torch."""
        self.untouched["numpy"] = self._numpy()

    def digests(self, device):
        """Digest by generator, without those that are untouched or not there."""
        found = {"torch": _crc(self._tensor_bytes(self.torch.get_rng_state()))}
        now = {"python": _python(), "numpy": self._numpy()}
        found.update({k: v for k, v in now.items() if v is not None and v != self.untouched[k]})
        if device.type == "cuda":
            # Seed and offset, kept on the host: reading them waits for nothing.
            found["cuda"] = _crc(self._tensor_bytes(self.torch.cuda.get_rng_state(device)))
        return found

    def _numpy(self):
        module = sys.modules.get("numpy.random")
        if not hasattr(module, "mtrand"):
            return None
        if self.numpy is None or self.numpy.module is not module:
            self.numpy = _NumpyState(module)
        return self.numpy.digest()

    @staticmethod
    def _tensor_bytes(state):
        return ctypes.string_at(state.data_ptr(), state.numel())


def _crc(data):
    return "%08x" % (zlib.crc32(data) & 0xFFFFFFFF)


def _python():
    random = sys.modules.get("random")
    if random is None:
        return None
    version, words, gauss = random.getstate()
    packed = struct.pack("<%dI" % len(words), *words)
    return _crc(packed + ("%d %r" % (version, gauss)).encode("ascii"))


class _NumpyState:
    """NumPy's global generator. Asking it for its state takes 0.1 ms, looking at its memory 2 microseconds.

    The memory of a Mersenne Twister is 624 words and a position, in every NumPy from 1.17 on; whether it
    is so here is checked once against the state asked for.
    """

    WORDS = 624

    def __init__(self, module):
        self.module = module
        self.address = None
        try:
            generator = module.mtrand._rand._bit_generator
            address = generator.ctypes.state_address
            name, words, position = module.get_state()[:3]
            if name == "MT19937" and self._look(address) == words.tobytes() + struct.pack("=i", position):
                self.address, self.generator = address, generator
        except (AttributeError, TypeError, ValueError):
            pass

    def _look(self, address):
        return ctypes.string_at(address, 4 * self.WORDS + 4)

    def digest(self):
        """CRC of words and position: the same whichever way they were read."""
        if self.address is not None and self.module.mtrand._rand._bit_generator is self.generator:
            raw = self._look(self.address)
            if sys.byteorder == "little":
                return _crc(raw)
        words, position = self.module.get_state()[1:3]
        return _crc(words.astype("<u4").tobytes() + struct.pack("<i", position))
