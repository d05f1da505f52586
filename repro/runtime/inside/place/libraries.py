"""Libraries that compute, as they are loaded here: BLAS of torch and NumPy, cuBLAS, decoders."""

import ctypes
import os
import re
import sys

MAPS = "/proc/self/maps"
BLAS_FILE = re.compile(
    r"lib(mkl_rt|mkl_core|openblas\w*|blis\w*|flexiblas|armpl\w*|nvpl_blas\w*|blas|cblas)[-.\w]*\.so"
)


def readers(torch):
    """Readers by the name of the condition."""
    return {
        "torch.blas": lambda: _setting(torch, "BLAS_INFO"),
        "torch.onednn": lambda: _line(torch, r"MKL-DNN v([\d.]+)"),
        "torch.mkl": lambda: _line(torch, r"Math Kernel Library Version ([\w. -]+?) for"),
        "torch.openmp": lambda: _line(torch, r"OpenMP (\d+)"),
        "numpy.blas": _numpy_blas,
        "numpy.simd": _numpy_simd,
        "pillow.jpeg": _pillow_jpeg,
        "blas.loaded": loaded_blas,
    }


def build_text(torch):
    """How torch was built; what it found on this machine stands in conditions of its own."""
    lines = torch.__config__.show().splitlines()
    return "\n".join(line for line in lines if "CPU capability usage" not in line)


def cublas_version():
    """`12.4.5`, as the loaded library says; None where none is loaded. Nothing is initialised by asking."""
    path = next((p for p in _mapped() if re.search(r"libcublas\.so", p)), None)
    if path is None:
        return None
    ask, number, found = ctypes.CDLL(path).cublasGetProperty, ctypes.c_int(), []
    for kind in range(3):  # libraryPropertyType: major, minor, patch
        if ask(kind, ctypes.byref(number)):
            return "unknown"
        found.append(str(number.value))
    return ".".join(found)


def loaded_blas():
    """File names of the BLAS libraries in this process; None where none is a file of its own."""
    names = sorted({os.path.basename(os.path.realpath(p)) for p in _mapped() if BLAS_FILE.search(p)})
    return " ".join(names) or None


def _mapped():
    try:
        with open(MAPS, encoding="utf-8", errors="replace") as f:
            return sorted({line.split(None, 5)[5].strip() for line in f if ".so" in line and "/" in line})
    except OSError:
        return []


def _setting(torch, name):
    return _line(torch, name + r"=(\w+)")


def _line(torch, pattern):
    found = re.search(pattern, torch.__config__.show())
    return found.group(1) if found else None


def _numpy_config():
    return getattr(sys.modules.get("numpy.__config__"), "__dict__", {})


def _numpy_blas():
    """Name and version (NumPy 1.25 and later), or the libraries that an older one was linked with."""
    config = _numpy_config()
    known = config.get("CONFIG", {}).get("Build Dependencies", {}).get("blas")
    if known:
        return "%s %s" % (known.get("name", "unknown"), known.get("version", ""))
    for name in ("blas_opt_info", "blas_mkl_info", "openblas_info", "openblas64__info"):
        if config.get(name):
            return " ".join(config[name].get("libraries", [])) or name
    return None


def _numpy_simd():
    """Vector units that NumPy found here and uses."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        features = getattr(sys.modules.get(name), "__cpu_features__", None)
        if features:
            return " ".join(sorted(unit for unit, there in features.items() if there))
    return None


def _pillow_jpeg():
    """Which library decodes JPEG files for Pillow: decoders agree within a few steps of brightness."""
    core = sys.modules.get("PIL._imaging")
    version = getattr(core, "jpeglib_version", None)
    if version is None:
        return None
    return "%s %s" % ("libjpeg-turbo" if getattr(core, "HAVE_LIBJPEGTURBO", False) else "libjpeg", version)
